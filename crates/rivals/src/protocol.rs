//! The interface between a TCP, which makes the decisions, and the [`Table`](crate::Table) of its
//! connections.

use redpoll_base::{Bytes, Instant, Rng};
use redpoll_tcp::{Fields, Header, IpMeta, Options, Segment, SeqNum, State, reset_reply};
use redpoll_wire::tcp::Flags;

use crate::Body;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Out {
    /// Header of the segment without ports and checksum.
    pub fields: Fields,
    /// Position of the segment's first byte in [`Body::tx`].
    pub offset: usize,
    /// Payload of the segment in bytes.
    pub len: usize,
}

impl Out {
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

    /// Returns the segment with a maximum segment size.
    #[must_use]
    pub fn with_mss(mut self, mss: u16) -> Self {
        self.fields.options.mss = Some(mss);
        self
    }

    #[must_use]
    pub fn with_payload(mut self, offset: usize, len: usize) -> Self {
        (self.offset, self.len) = (offset, len);
        self
    }
}

/// A TCP with its global state. Each connection has a [`Control`](Self::Control) and a [`Body`].
pub trait Protocol {
    /// State of a connection that only this protocol has, in addition to the common [`Body`].
    type Control: 'static;

    /// Returns the port of a new connection; `is_free` returns whether a port is free.
    fn port(&mut self, rng: &mut Rng, is_free: impl Fn(u16) -> bool) -> Option<u16>;

    /// Opens a connection. Its SYN is the first segment that the stack requests from it.
    fn connect(&mut self, now: Instant) -> Self::Control;

    /// Handles a segment for a listening port and no connection. Returns the connection that it
    /// begins, if any.
    fn accept(&mut self, now: Instant, seg: &Segment<'_>) -> Option<Self::Control>;

    /// Returns the answer to a segment that belongs to no connection and begins none: a reset,
    /// except for a SYN to a port that `listens` while memory is full.
    fn refuse(&self, meta: &IpMeta, seg: &Segment<'_>, listens: bool) -> Option<Header> {
        let waits = listens && seg.flags.syn() && !seg.flags.ack();
        if waits { None } else { reset_reply(meta, seg) }
    }

    /// Returns whether to verify the checksums of received segments (RFC 9293 §3.1, MUST-3).
    fn verifies(&self) -> bool {
        true
    }

    /// Returns the flow label of the next segment's packet: 0, unless the stack numbers its
    /// packets.
    fn flow_label(&mut self) -> u32 {
        0
    }

    /// Handles a segment of this connection.
    fn input<B: Bytes>(
        &mut self,
        now: Instant,
        control: &mut Self::Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    );

    /// Returns the time of the next tick of the clock that all connections share.
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// Handles a tick of the clock, after `open` connections were notified.
    fn on_tick(&mut self, _open: usize) {}

    /// Returns the time of the next event of this connection alone.
    fn timer(&self, _control: &Self::Control) -> Option<Instant> {
        None
    }

    /// Handles a tick, or the time of [`timer`](Self::timer).
    fn on_timeout<B: Bytes>(
        &mut self,
        now: Instant,
        control: &mut Self::Control,
        body: &mut Body<B>,
    );

    fn poll_segment<B: Bytes>(
        &mut self,
        now: Instant,
        control: &mut Self::Control,
        body: &mut Body<B>,
    ) -> Option<Out>;

    /// Returns the number of bytes that the application may write now.
    fn room<B: Bytes>(&self, _control: &Self::Control, body: &Body<B>) -> usize {
        body.tx.room()
    }

    /// Handles data that the application has written.
    fn on_write<B: Bytes>(&mut self, now: Instant, control: &mut Self::Control, body: &mut Body<B>);

    /// Handles a read of the application.
    fn on_read<B: Bytes>(
        &mut self,
        _now: Instant,
        _control: &mut Self::Control,
        _body: &mut Body<B>,
    ) {
    }

    /// Handles the end of the application's data: [`Body::closing`] is set.
    fn on_close<B: Bytes>(&mut self, now: Instant, control: &mut Self::Control, body: &mut Body<B>);

    /// Resets the connection for the application.
    fn abort<B: Bytes>(&mut self, now: Instant, control: &mut Self::Control, body: &mut Body<B>);

    /// Returns the state of RFC 9293 §3.3.2.
    fn state(&self, control: &Self::Control) -> State;

    /// Returns the sequence number of the first byte of [`Body::tx`].
    fn una(&self, control: &Self::Control) -> SeqNum;

    /// Returns whether a segment, such as a reset, must still be sent.
    fn owes(&self, control: &Self::Control) -> bool;
}
