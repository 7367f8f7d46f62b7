//! Lets a node use [`Multicast`] as its assistant.

use redpoll_base::{Addr, Instant, Memory, Wake};
use redpoll_stack::assist::{Assist, Disposition, Passing, ToGroup};
use redpoll_stack::{DropReason, Side};

use super::{Dropped, Fate, Multicast};

impl From<Dropped> for DropReason {
    fn from(dropped: Dropped) -> Self {
        match dropped {
            Dropped::Malformed => DropReason::Malformed,
            Dropped::NoRoom => DropReason::NoSlot,
            Dropped::NotMember => DropReason::NoRoute,
            Dropped::HopLimit => DropReason::HopLimit,
        }
    }
}

impl<M: Memory> Assist for Multicast<M> {
    const GROUPS: bool = true;

    fn on_group(
        &mut self,
        now: Instant,
        packet: &mut ToGroup<'_>,
    ) -> Result<Option<usize>, DropReason> {
        let ToGroup {
            header,
            bytes,
            from,
            node,
        } = packet;
        let fate = match from {
            Some(Side::Link) => self.on_link(now, header, bytes),
            Some(Side::Host) => self.on_host(now, node, header, bytes),
            None => match self.seed(now, node, bytes) {
                Ok(()) => Fate::Keep,
                Err(fate) => fate,
            },
        };
        match fate {
            Fate::Deliver(start) => Ok(Some(start)),
            Fate::Keep => Ok(None),
            Fate::Drop(dropped) => Err(dropped.into()),
        }
    }

    fn set_member(&mut self, group: &Addr, joins: bool) -> bool {
        match joins {
            true => self.join(group),
            false => self.leave(group),
        }
    }

    fn on_forward(&mut self, _: Instant, _: &mut Passing<'_>) -> Disposition {
        Disposition::Forward
    }

    fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        Multicast::poll_packet(self, now, out)
    }

    fn on_no_room(&mut self, now: Instant) {
        Multicast::on_no_room(self, now);
    }

    fn poll_at(&self) -> Option<Wake> {
        Multicast::poll_at(self)
    }
}
