//! Segments on their way to a link: who makes the next one, and what becomes
//! of it.

use redpoll_base::{Addr, Instant, Memory};
use redpoll_tcp::{Gone, SegmentDesc, Terms, Token};
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::TcpSockets;
use crate::ConnId;
use crate::counters::{DropReason, NodeCounters};

/// A segment that a connection has made, and whose it is.
pub(crate) struct Pulled {
    pub(crate) handle: Handle,
    pub(crate) desc: SegmentDesc,
    src: Addr,
    dst: Addr,
}

impl Pulled {
    /// The IPv6 header in front of the segment.
    pub(crate) fn ip_header(&self, hop_limit: u8) -> Ipv6Header {
        let header_len = self.desc.header.as_bytes().len() as u16;
        Ipv6Header {
            ecn: self.desc.ecn,
            payload_len: self.desc.payload_len.saturating_add(header_len),
            next_header: next_header::TCP,
            hop_limit,
            src: self.src,
            dst: self.dst,
            ..Ipv6Header::default()
        }
    }
}

/// Names a pulled segment while the link holds it, in 32 bits.
#[derive(Clone, Copy)]
pub(crate) struct Handle(pub(crate) u32);

impl Handle {
    /// Of a segment without payload that no connection waits for: nothing has
    /// this index.
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

/// A side on which segments leave the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Link,
    Host,
}

/// Whether a destination can be reached over the side that asks for segments.
pub(crate) enum Reach<H> {
    /// Yes, by this next hop.
    Here(H),
    /// Over the other side.
    Elsewhere,
    /// Not at all: there is no route.
    Nowhere,
}

/// Whose turn it is to make the next segment, on each side: were there but one
/// turn, a side that takes many would decide for the other.
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

/// More segments than a connection makes that lose all of them: after two its
/// link rests.
const UNROUTABLE_MAX: u8 = 8;

impl<M: Memory + 'static> TcpSockets<M> {
    /// Lets the connections whose remote address is in `reach` make one
    /// segment, in turns; before them the half-open ones, in whose name the
    /// addresses in `own` answer.
    ///
    /// Segments to nowhere are lost here and now: so a connection without a
    /// route backs off, and in the end fails, as over a dead link.
    pub(crate) fn pull<H>(
        &mut self,
        now: Instant,
        side: Side,
        max_len: usize,
        own: [Addr; 2],
        counters: &mut NodeCounters,
        mut reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, H)> {
        if let Some(pulled) = self.pull_half_open(now, own, &mut reach) {
            return Some(pulled);
        }
        let turn = self.turns.of(side);
        let slots = self.connections.as_mut();
        let count = slots.len();
        for step in 0..count {
            let index = usize::from(*turn).wrapping_add(step).checked_rem(count)?;
            let slot = slots.get_mut(index)?;
            let generation = slot.generation;
            let Some(open) = slot.open_mut() else {
                continue;
            };
            let connection = &mut open.connection;
            let (local, remote) = (connection.local(), connection.remote());
            let hop = match reach(&remote.addr) {
                Reach::Here(hop) => hop,
                Reach::Elsewhere => continue,
                Reach::Nowhere => {
                    for _ in 0..UNROUTABLE_MAX {
                        let Some(desc) = connection.poll_segment(now, max_len) else {
                            break;
                        };
                        connection.on_segment_lost(desc.token, now);
                        counters.drop(DropReason::NoRoute);
                        self.dirty = true;
                    }
                    if open.is_over() {
                        slot.free();
                    }
                    continue;
                }
            };
            if let Some(desc) = connection.poll_segment(now, max_len) {
                *turn = index.wrapping_add(1).checked_rem(count)? as u8;
                let index = index as u8;
                self.dirty = true;
                let pulled = Pulled {
                    handle: Handle::new(ConnId { index, generation }, desc.token),
                    src: local.addr,
                    dst: remote.addr,
                    desc,
                };
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
    ) -> Option<(Pulled, H)> {
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
        let pulled = Pulled {
            handle: Handle::NOBODYS,
            src: answer.src,
            dst: answer.dst,
            desc: SegmentDesc::from(answer.header),
        };
        Some((pulled, hop?))
    }

    /// A pulled segment has left this node.
    pub(crate) fn on_sent(&mut self, handle: Handle, now: Instant) {
        let (id, token) = handle.parts();
        if let Some(open) = self.open_mut(id) {
            open.connection.on_segment_sent(token, now);
            self.dirty = true;
        }
        self.reap();
    }

    /// The link gave up on a pulled segment.
    pub(crate) fn on_lost(&mut self, handle: Handle, now: Instant) {
        let (id, token) = handle.parts();
        if let Some(open) = self.open_mut(id) {
            open.connection.on_segment_lost(token, now);
            self.dirty = true;
        }
        self.reap();
    }

    /// Payload bytes of a pulled segment, from `offset` on.
    pub(crate) fn read(
        &self,
        handle: Handle,
        offset: usize,
        out: &mut [u8],
    ) -> Result<usize, Gone> {
        if out.is_empty() {
            // Of nobody's segments there is nothing else.
            return Ok(0);
        }
        let (id, token) = handle.parts();
        self.connection(id).ok_or(Gone)?.read(token, offset, out)
    }
}
