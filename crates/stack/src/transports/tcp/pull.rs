//! Segments for the link or the host side: the choice of the connection that makes the next
//! segment, and the report of the segment's outcome.

use redpoll_base::{Addr, Instant, Memory};
use redpoll_tcp::{Algorithms, Gone, SegmentDesc, Terms, Token};

use super::TcpSockets;
use super::slot::RingConnection;
use crate::ConnId;
use crate::transports::{Ask, Handle, Pulled, Reach, Side};

/// A handle consists of the [`ConnId`] of a connection and its token for the segment.
impl Handle {
    /// The handle of a segment without payload whose outcome no connection awaits: no connection
    /// has this index.
    const NOBODYS: Handle = Handle(0x00ff_ffff);

    fn new(id: ConnId, token: Token) -> Self {
        let [high, low] = token.to_bits().to_be_bytes();
        Handle(u32::from_be_bytes([id.generation, id.index, high, low]))
    }

    fn parts(self) -> (ConnId, Token) {
        let [generation, index, high, low] = self.0.to_be_bytes();
        let token = Token::from_bits(u16::from_be_bytes([high, low]));
        (ConnId { index, generation }, token)
    }
}

/// The next connection to make a segment, for each side. With one turn for both sides, a segment
/// for one side would change the turn of the other.
#[derive(Default)]
pub(super) struct Turns {
    link: u8,
    host: u8,
}

impl Turns {
    fn of(&mut self, side: Side) -> &mut u8 {
        match side {
            Side::Link => &mut self.link,
            Side::Host => &mut self.host,
        }
    }
}

impl<M: Memory + 'static, A: Algorithms> TcpSockets<M, A> {
    /// Makes one segment for a connection for whose remote address `reach` does not return
    /// [`Reach::Elsewhere`]. These connections take turns. Half-open connections come first; they
    /// wait for [`Reach::Here`], and their source is one of the node's own addresses.
    pub(super) fn pull_next<H>(
        &mut self,
        now: Instant,
        ask: &Ask,
        mut reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, Option<H>)> {
        if let Some(pulled) = self.pull_half_open(now, ask.own, &mut reach) {
            return Some(pulled);
        }
        let turn = self.turns.of(ask.side);
        let slots = self.connections.as_mut();
        let count = slots.len();
        let mut next = usize::from(*turn);
        for _ in 0..count {
            let index = if next < count { next } else { 0 };
            next = index.wrapping_add(1);
            let slot = slots.get_mut(index)?;
            let generation = slot.generation;
            let Some(open) = slot.open_mut() else {
                continue;
            };
            let connection = &mut open.connection;
            let (local, remote) = (connection.local(), connection.remote());
            let hop = match reach(&remote.addr) {
                Reach::Here(hop) => Some(hop),
                Reach::Elsewhere => continue,
                Reach::Nowhere => None,
            };
            if let Some(desc) = connection.poll_segment(now, ask.max_len) {
                *turn = if next < count { next as u8 } else { 0 };
                let index = index as u8;
                self.dirty = true;
                let handle = Handle::new(ConnId { index, generation }, desc.token);
                let pulled = Pulled::new(handle, desc, local.addr, remote.addr);
                return Some((pulled, hop));
            }
        }
        None
    }

    fn pull_half_open<H>(
        &mut self,
        now: Instant,
        own: [Addr; 2],
        reach: &mut impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, Option<H>)> {
        let terms = Terms {
            config: &self.config,
            isn: &self.isn,
            window: self.window,
            fast_open: false,
        };
        let mut hop = None;
        let answer = self.half_open.poll_segment(now, &terms, |remote, local| {
            let Reach::Here(here) = reach(remote) else {
                return None;
            };
            hop = Some(here);
            own.get(usize::from(local)).copied()
        })?;
        let desc = SegmentDesc::from(answer.header);
        let pulled = Pulled::new(Handle::NOBODYS, desc, answer.src, answer.dst);
        Some((pulled, hop))
    }

    /// Reports that the link has sent or given up a segment.
    pub(super) fn on_link(
        &mut self,
        handle: Handle,
        tell: impl FnOnce(&mut RingConnection<M::Buffer, A>, Token),
    ) {
        let (id, token) = handle.parts();
        if let Some(open) = self.open_mut(id) {
            tell(&mut open.connection, token);
            self.dirty = true;
        }
        self.reap();
    }

    pub(super) fn read_pulled(
        &self,
        handle: Handle,
        offset: usize,
        out: &mut [u8],
    ) -> Result<usize, Gone> {
        if out.is_empty() {
            // No connection is needed: a segment of [`Handle::NOBODYS`] has no payload.
            return Ok(0);
        }
        let (id, token) = handle.parts();
        self.connection(id).ok_or(Gone)?.read(token, offset, out)
    }
}
