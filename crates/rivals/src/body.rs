//! The state of every connection, independent of the protocol: its ends, its bytes, pending
//! events, and counters.

use redpoll_base::{Bytes, Ring, copy};
#[cfg(feature = "stats")]
use redpoll_tcp::Stats;
use redpoll_tcp::{Endpoint, Error, Event, SeqNum};

const CONNECTED: u8 = 1 << 0;
const READABLE: u8 = 1 << 1;
const WRITABLE: u8 = 1 << 2;
const PEER_CLOSED: u8 = 1 << 3;
const CLOSED: u8 = 1 << 4;

#[derive(Debug)]
pub struct Body<B> {
    pub local: Endpoint,
    /// Address and port of the other end.
    pub remote: Endpoint,
    /// Bytes to send, from the first unacknowledged one.
    pub tx: Ring<B>,
    pub rx: Ring<B>,
    events: u8,
    /// Whether the application waits for room in the send buffer.
    starved: bool,
    /// Whether the application will send no more data.
    pub closing: bool,
    pub ended: bool,
    pub error: Option<Error>,
    /// Sequence number after the last byte, SYN or FIN that was ever sent.
    pub(crate) sent_up_to: Option<SeqNum>,
    pub(crate) by_timer: bool,
    #[cfg(feature = "stats")]
    pub(crate) stats: Stats,
}

impl<B: Bytes> Body<B> {
    /// Returns a body without a connection, with its send and receive buffers.
    pub fn new(tx: B, rx: B) -> Self {
        Body {
            local: Endpoint::default(),
            remote: Endpoint::default(),
            tx: Ring::new(tx),
            rx: Ring::new(rx),
            events: 0,
            starved: false,
            closing: false,
            ended: false,
            error: None,
            sent_up_to: None,
            by_timer: false,
            #[cfg(feature = "stats")]
            stats: Stats::default(),
        }
    }

    pub(crate) fn open(&mut self, local: Endpoint, remote: Endpoint) {
        self.tx.free(usize::MAX);
        self.rx.free(usize::MAX);
        (self.local, self.remote) = (local, remote);
        (self.events, self.error, self.sent_up_to) = (0, None, None);
        (self.starved, self.closing, self.ended) = (false, false, false);
        self.by_timer = false;
        #[cfg(feature = "stats")]
        {
            self.stats = Stats::default();
        }
    }

    /// Appends data of the application, at most `room` bytes; returns how much.
    pub(crate) fn write(&mut self, data: &[u8], room: usize) -> usize {
        let data = data.get(..room).unwrap_or(data);
        let taken = self.tx.write_at(0, data);
        self.tx.keep(taken);
        taken
    }

    /// Requests a notification of the application when there is room again.
    pub(crate) fn starve(&mut self) {
        self.starved = true;
    }

    pub(crate) fn read(&mut self, out: &mut [u8]) -> usize {
        let [first, second] = self.rx.pieces(0, out.len().min(self.rx.len()));
        let taken = copy(first, out);
        let taken = taken.saturating_add(copy(second, out.get_mut(taken..).unwrap_or_default()));
        self.rx.free(taken)
    }

    /// Removes the first `count` bytes of [`tx`](Self::tx), which the peer has acknowledged.
    pub fn acknowledge(&mut self, count: usize) {
        let freed = self.tx.free(count);
        #[cfg(feature = "stats")]
        {
            self.stats.bytes_acked = self.stats.bytes_acked.wrapping_add(freed as u32);
        }
        if freed > 0 && self.starved {
            self.starved = false;
            self.events |= WRITABLE;
        }
    }

    /// Accepts bytes that arrived in order: all or none.
    pub fn deliver(&mut self, data: &[u8]) -> bool {
        if data.len() > self.rx.room() {
            return false;
        }
        let kept = self.rx.write_at(0, data);
        self.rx.keep(kept);
        self.on_delivered(kept);
        true
    }

    /// Reports that the `count` bytes written after the last byte of [`rx`](Self::rx) are in order.
    pub fn on_delivered(&mut self, count: usize) {
        #[cfg(feature = "stats")]
        {
            self.stats.bytes_received = self.stats.bytes_received.wrapping_add(count as u32);
        }
        if count > 0 {
            self.events |= READABLE;
        }
    }

    pub fn connected(&mut self) {
        self.events |= CONNECTED;
    }

    pub fn peer_closed(&mut self) {
        self.ended = true;
        self.events |= PEER_CLOSED;
    }

    pub fn closed(&mut self, error: Option<Error>) {
        self.error = error;
        self.events |= CLOSED;
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        let lowest = self.events & self.events.wrapping_neg();
        self.events &= !lowest;
        match lowest {
            CONNECTED => Some(Event::Connected),
            READABLE => Some(Event::Readable),
            WRITABLE => Some(Event::Writable),
            PEER_CLOSED => Some(Event::PeerClosed),
            CLOSED => Some(self.error.map_or(Event::Closed, Event::Failed)),
            _ => None,
        }
    }

    #[cfg(feature = "stats")]
    pub(crate) fn count(&mut self, which: impl FnOnce(&mut Stats) -> &mut u32) {
        let counter = which(&mut self.stats);
        *counter = counter.wrapping_add(1);
    }

    pub fn on_rto(&mut self) {
        self.by_timer = true;
        #[cfg(feature = "stats")]
        self.count(|stats| &mut stats.rtos);
    }

    /// Makes the statistics count the next retransmissions as caused by acknowledgments, not by the
    /// timer.
    pub fn on_fast(&mut self) {
        self.by_timer = false;
    }

    pub fn on_sample(&mut self, rtt: redpoll_base::Duration) {
        #[cfg(feature = "stats")]
        {
            self.count(|stats| &mut stats.rtt_samples);
            self.stats.last_rtt = rtt;
        }
        #[cfg(not(feature = "stats"))]
        let _ = rtt;
    }
}
