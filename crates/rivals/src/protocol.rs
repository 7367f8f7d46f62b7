//! The decisions of a TCP; the [`Table`](crate::Table) does the rest.

use redpoll_base::{Bytes, Instant, Rng};
use redpoll_tcp::{Fields, Header, IpMeta, Options, Segment, SeqNum, State, reset_reply};
use redpoll_wire::tcp::Flags;

use crate::Body;

/// A segment to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Out {
    /// Its header without ports and checksum.
    pub fields: Fields,
    /// Its first byte in [`Body::tx`].
    pub offset: usize,
    /// Its payload in bytes.
    pub len: usize,
}

impl Out {
    /// A segment without options or payload.
    pub fn new(flags: Flags, seq: SeqNum, ack: SeqNum, window: u16) -> Self {
        Out {
            fields: Fields {
                flags,
                window,
                seq,
                ack,
                options: Options::default(),
            },
            offset: 0,
            len: 0,
        }
    }

    /// The segment with a maximum segment size.
    #[must_use]
    pub fn with_mss(mut self, mss: u16) -> Self {
        self.fields.options.mss = Some(mss);
        self
    }

    /// The segment with a payload of this length.
    #[must_use]
    pub fn with_payload(mut self, offset: usize, len: usize) -> Self {
        (self.offset, self.len) = (offset, len);
        self
    }
}

/// A TCP: what it knows of itself, and what it does with each connection, which is a
/// [`Control`](Self::Control) of its own and a [`Body`].
pub trait Protocol {
    /// The protocol's state of a connection, in addition to the body.
    type Control: 'static;

    /// The port of a connection that it opens; `is_free` says of which there is none.
    fn port(&mut self, rng: &mut Rng, is_free: impl Fn(u16) -> bool) -> Option<u16>;

    /// Opens a connection. Its SYN is the first segment that it is asked for.
    fn connect(&mut self, now: Instant) -> Self::Control;

    /// Handles a segment for a listening port and no connection. Returns the connection that it
    /// begins, if any.
    fn accept(&mut self, now: Instant, seg: &Segment<'_>) -> Option<Self::Control>;

    /// The answer to a segment that belongs to no connection and begins none: a reset, except
    /// for a SYN to a port that `listens` while memory is full.
    fn refuse(&self, meta: &IpMeta, seg: &Segment<'_>, listens: bool) -> Option<Header> {
        let waits = listens && seg.flags.syn() && !seg.flags.ack();
        if waits { None } else { reset_reply(meta, seg) }
    }

    /// Whether checksums of what comes in are verified (RFC 9293 §3.1, MUST-3).
    fn verifies(&self) -> bool {
        true
    }

    /// The flow label of the packet of the next segment: nothing, unless the stack numbers
    /// its packets.
    fn flow_label(&mut self) -> u32 {
        0
    }

    /// A segment of this connection has come.
    fn input<B: Bytes>(
        &mut self,
        now: Instant,
        control: &mut Self::Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    );

    /// When the clock that all connections share ticks next.
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// The clock has ticked; `open` connections have been notified.
    fn on_tick(&mut self, _open: usize) {}

    /// When something of this connection alone is due.
    fn timer(&self, _control: &Self::Control) -> Option<Instant> {
        None
    }

    /// A tick, or the moment that the connection had named.
    fn on_timeout<B: Bytes>(
        &mut self,
        now: Instant,
        control: &mut Self::Control,
        body: &mut Body<B>,
    );

    /// The next segment that is to be sent, if there is one.
    fn poll_segment<B: Bytes>(
        &mut self,
        now: Instant,
        control: &mut Self::Control,
        body: &mut Body<B>,
    ) -> Option<Out>;

    /// How many bytes the application may write now.
    fn room<B: Bytes>(&self, _control: &Self::Control, body: &Body<B>) -> usize {
        body.tx.room()
    }

    /// The application has written something.
    fn on_write<B: Bytes>(&mut self, now: Instant, control: &mut Self::Control, body: &mut Body<B>);

    /// The application has read something.
    fn on_read<B: Bytes>(
        &mut self,
        _now: Instant,
        _control: &mut Self::Control,
        _body: &mut Body<B>,
    ) {
    }

    /// The application has nothing more to send: [`Body::closing`] is set.
    fn on_close<B: Bytes>(&mut self, now: Instant, control: &mut Self::Control, body: &mut Body<B>);

    /// The application wants a reset.
    fn abort<B: Bytes>(&mut self, now: Instant, control: &mut Self::Control, body: &mut Body<B>);

    /// The state as RFC 9293 §3.3.2 names it.
    fn state(&self, control: &Self::Control) -> State;

    /// The sequence number of the first byte of [`Body::tx`].
    fn una(&self, control: &Self::Control) -> SeqNum;

    /// Whether a segment, a reset most of all, is still to be sent.
    fn owes(&self, control: &Self::Control) -> bool;
}
