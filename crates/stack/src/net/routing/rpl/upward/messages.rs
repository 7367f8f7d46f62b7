//! DISs and DIOs that are sent (RFC 6550 §6.2, §6.3).

use redpoll_base::Addr;
use redpoll_wire::Cursor;
use redpoll_wire::rpl::{
    ALL_NODES, Dio, INFINITE_RANK, Message, Options, PrefixInformation, RplOption, Sequence, code,
};

use super::Upward;
use crate::net::identity::Identity;
use crate::net::routing::Peer;
use crate::net::routing::rpl::Envelope;
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::shared::{Context, Shared};
use crate::profile::Profile;

pub(in crate::net::routing::rpl) fn emit_dis<P: Profile>(
    shared: &mut Shared<P>,
    dst: Addr,
    out: &mut Cursor<'_>,
) -> Option<Envelope> {
    count(&mut shared.counters.diss_sent);
    let options = Options::default();
    Message::Dis { options }.emit(out).ok()?;
    let code = code::DIS;
    Some(Envelope { code, dst })
}

impl<P: Profile> Upward<P> {
    pub(in crate::net::routing::rpl) fn has_message_due(&self) -> bool {
        self.dio_due || self.dis_due || self.askers.iter().any(Option::is_some)
    }

    pub(in crate::net::routing::rpl) fn take_dis(&mut self) -> Option<Addr> {
        core::mem::take(&mut self.dis_due).then_some(ALL_NODES)
    }

    pub(in crate::net::routing::rpl) fn take_dio(&mut self) -> Option<Addr> {
        if let Some(asker) = self.askers.iter_mut().find_map(Option::take) {
            return Some(asker.link_local());
        }
        core::mem::take(&mut self.dio_due).then_some(ALL_NODES)
    }

    /// Schedules a unicast DIO to the neighbour `link`.
    pub(super) fn answer_dis(&mut self, link: Peer) {
        let is_known = self.askers.contains(&Some(link));
        if let Some(free) = self.askers.iter_mut().find(|place| place.is_none())
            && !is_known
        {
            *free = Some(link);
        }
    }

    /// Writes a DIO with this `dtsn` to `dst`.
    pub(in crate::net::routing::rpl) fn emit_dio(
        &mut self,
        cx: &mut Context<'_, P>,
        identity: &Identity,
        dtsn: Sequence,
        dst: Addr,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        let dodag = self.dodag.as_ref()?;
        count(&mut cx.shared.counters.dios_sent);
        if dst.is_multicast() {
            self.advertised = self.rank;
        }
        let message = Dio {
            instance: dodag.instance,
            version: dodag.version,
            rank: self.advertised_rank(),
            grounded: dodag.grounded,
            mode: dodag.mode,
            preference: dodag.preference,
            dtsn,
            dodag: dodag.id,
            // The options follow below.
            options: Options::default(),
        };
        message.emit(out).ok()?;
        dodag.configuration.emit(out).ok()?;
        let prefix = PrefixInformation {
            len: 64,
            autonomous: true,
            // RFC 6550 §9.4: transit information needs the whole address of the parent.
            router_address: true,
            prefix: identity.address,
            lifetime_s: u32::MAX,
        };
        prefix.emit(out).ok()?;
        if self.is_overloaded(cx) && !self.is_leaf() {
            let state = RplOption::NodeState { overloaded: true };
            state.emit(out).ok()?;
        }
        let code = code::DIO;
        Some(Envelope { code, dst })
    }

    /// Returns the rank in DIOs. The rank of a leaf is infinite (RFC 6550 §8.5 (2)).
    fn advertised_rank(&self) -> u16 {
        match self.is_leaf() {
            true => INFINITE_RANK,
            false => self.rank,
        }
    }

    /// Returns whether the node advertises that it is overloaded (RFC 6551 §3.1).
    fn is_overloaded(&self, cx: &Context<'_, P>) -> bool {
        cx.shared.config.load_aware && cx.now < self.load.overloaded_until
    }
}
