//! Control messages of neighbour discovery and routing that are due. The bytes of a message are
//! written when the message leaves.

use redpoll_base::Addr;
use redpoll_wire::icmpv6::Message;
use redpoll_wire::icmpv6::nd::{
    AddressRegistration, BorderRouter, ContextInformation, DuplicateAddress, NdOption,
    NeighborAdvertisement, NeighborSolicitation, Options, PrefixInformation, RouterAdvertisement,
};
use redpoll_wire::{Cursor, NoRoom};

use super::identity::Identity;
use super::nd::Advertised;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) src: Addr,
    pub(crate) dst: Addr,
    pub(crate) content: Content,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    /// A router solicitation (RFC 4861 §4.1).
    RouterSolicitation,
    /// A router advertisement (RFC 4861 §4.2, RFC 6775 §4.2 and §4.3).
    RouterAdvertisement(Advertised),
    /// Registers `target` with a router (RFC 8505 §5.5).
    Registration {
        target: Addr,
        asked: AddressRegistration,
    },
    /// A neighbour advertisement of the address `target`, with the outcome of a registration.
    NeighborAdvertisement {
        router: bool,
        target: Addr,
        registration: Option<AddressRegistration>,
    },
    /// A registration is reported to the next router (RFC 6775 §8.2).
    Report(DuplicateAddress),
    Answer(DuplicateAddress),
}

impl Outgoing {
    /// Writes the message with a checksum of zero.
    ///
    /// # Errors
    /// [`NoRoom`] if `out` is too short, or if only routers send the message and `routes` is false.
    pub(crate) fn emit(
        &self,
        identity: &Identity,
        routes: bool,
        out: &mut Cursor<'_>,
    ) -> Result<(), NoRoom> {
        self.begin(identity, routes, out)?;
        // The first option is the node's own link-layer address.
        match self.content {
            Content::Report(_) | Content::Answer(_) => return Ok(()),
            Content::NeighborAdvertisement { .. } => {
                NdOption::TargetLinkLayer(identity.link).emit(out)?;
            }
            _ => NdOption::SourceLinkLayer(identity.link).emit(out)?,
        }
        match self.content {
            Content::RouterAdvertisement(advertised) if routes => emit_advertised(&advertised, out),
            Content::Registration { asked: option, .. }
            | Content::NeighborAdvertisement {
                registration: Some(option),
                ..
            } => NdOption::AddressRegistration(option).emit(out),
            _ => Ok(()),
        }
    }

    /// Writes the message up to its options.
    fn begin(&self, identity: &Identity, routes: bool, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let options = Options::NONE;
        match self.content {
            Content::RouterAdvertisement(_) | Content::Report(_) | Content::Answer(_)
                if !routes =>
            {
                Err(NoRoom)
            }
            Content::RouterSolicitation => Message::RouterSolicitation { options }.begin(out),
            Content::RouterAdvertisement(advertised) => {
                Message::RouterAdvertisement(RouterAdvertisement {
                    cur_hop_limit: identity.hop_limit,
                    router_lifetime_s: advertised.router_lifetime_s,
                    ..RouterAdvertisement::default()
                })
                .begin(out)
            }
            Content::Registration { target, .. } => {
                Message::NeighborSolicitation(NeighborSolicitation { target, options }).begin(out)
            }
            Content::NeighborAdvertisement { router, target, .. } => {
                Message::NeighborAdvertisement(NeighborAdvertisement {
                    router,
                    // RFC 4861 §7.2.4: the flag is clear for duplicate address detection.
                    solicited: !self.dst.is_multicast(),
                    override_cached: true,
                    target,
                    options,
                })
                .begin(out)
            }
            Content::Report(report) => Message::DuplicateAddressRequest(report).begin(out),
            Content::Answer(answer) => Message::DuplicateAddressConfirmation(answer).begin(out),
        }
    }
}

/// Writes the options of a router advertisement after the link-layer address.
fn emit_advertised(advertised: &Advertised, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
    let lifetime_s = u32::from(advertised.context_lifetime_min).saturating_mul(60);
    NdOption::PrefixInformation(PrefixInformation {
        prefix: advertised.prefix,
        prefix_len: 64,
        on_link: false,
        autonomous: true,
        valid_lifetime_s: lifetime_s,
        preferred_lifetime_s: lifetime_s,
    })
    .emit(out)?;
    NdOption::Context(ContextInformation {
        cid: 0,
        compress: true,
        prefix_len: 64,
        prefix: advertised.prefix,
        valid_lifetime_min: advertised.context_lifetime_min,
    })
    .emit(out)?;
    NdOption::BorderRouter(BorderRouter {
        version: 0,
        valid_lifetime_min: advertised.context_lifetime_min,
        address: advertised.border_router,
    })
    .emit(out)
}

/// Bytes of the longest message, a router advertisement.
pub(crate) const MESSAGE_MAX: usize = 104;

/// Messages that wait to be polled. There is room for the messages that one event can cause: they
/// leave before the next event.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: [Option<Outgoing>; 2],
}

impl Outbox {
    /// Appends a message. A message that does not fit is lost; nodes repeat the control messages
    /// that they need.
    pub(crate) fn push(&mut self, src: Addr, dst: Addr, content: Content) {
        if let Some(free) = self.waiting.iter_mut().find(|place| place.is_none()) {
            *free = Some(Outgoing { src, dst, content });
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Outgoing> {
        let [first, second] = &mut self.waiting;
        // A node calls this at every step, mostly without a waiting message. The early return saves
        // the move of an empty message, two thousand instructions.
        let next = first.take()?;
        *first = second.take();
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_leave_in_the_order_in_which_they_came() {
        let mut outbox = Outbox::default();
        for n in 1..=3 {
            outbox.push(Addr([n; 16]), Addr([9; 16]), Content::RouterSolicitation);
        }
        let sources = [outbox.pop(), outbox.pop(), outbox.pop()];
        let sources = sources.map(|message| message.map(|message| message.src.0[0]));
        assert_eq!(sources, [Some(1), Some(2), None]);
    }
}
