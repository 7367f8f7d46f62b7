//! A place for a connection.

use alloc::collections::VecDeque;

use ::smoltcp::iface::SocketHandle;
use ::smoltcp::socket::tcp::{Socket, State};
use redpoll_stack::ListenerId;
use redpoll_tcp::{Endpoint, Error, Event, Segment, SeqNum, Stats};

use super::endpoint;

pub(super) struct Place {
    pub handle: SocketHandle,
    pub generation: u8,
    pub local: Endpoint,
    pub remote: Endpoint,
    /// Whether the place has a connection, even one that has ended but is not released yet.
    pub is_open: bool,
    pub waits: Option<ListenerId>,
    /// Whether the application has released the connection.
    pub released: bool,
    pub closing: bool,
    pub starved: bool,
    /// State of the connection at the last call, and number of readable bytes at that time.
    pub was: State,
    pub unread: usize,
    pub ended: bool,
    pub error: Option<Error>,
    pub events: VecDeque<Event>,
    pub sent_up_to: Option<SeqNum>,
    pub written: u32,
    pub stats: Stats,
}

impl Place {
    pub fn new(handle: SocketHandle) -> Place {
        Place {
            handle,
            generation: 0,
            local: Endpoint::default(),
            remote: Endpoint::default(),
            is_open: false,
            waits: None,
            released: false,
            closing: false,
            starved: false,
            was: State::Closed,
            unread: 0,
            ended: false,
            error: None,
            events: VecDeque::new(),
            sent_up_to: None,
            written: 0,
            stats: Stats::default(),
        }
    }

    pub fn look(&mut self, socket: &Socket<'_>) {
        use State::{CloseWait, Closed, Closing, LastAck, Listen, SynReceived, SynSent, TimeWait};
        if !self.is_open {
            return;
        }
        let (was, state) = (self.was, socket.state());
        if let (Some(local), Some(remote)) = (socket.local_endpoint(), socket.remote_endpoint()) {
            (self.local, self.remote) = (endpoint(local), endpoint(remote));
        }
        let opening = |state| matches!(state, Listen | SynSent | SynReceived);
        if opening(was) && !opening(state) && state != Closed {
            self.events.push_back(Event::Connected);
        }
        let unread = socket.recv_queue();
        if unread > self.unread {
            let more = (unread - self.unread) as u32;
            self.stats.bytes_received = self.stats.bytes_received.wrapping_add(more);
            self.events.push_back(Event::Readable);
        }
        self.unread = unread;
        if self.starved && socket.can_send() {
            self.starved = false;
            self.events.push_back(Event::Writable);
        }
        self.stats.bytes_acked = self.written.wrapping_sub(socket.send_queue() as u32);
        if !self.ended && matches!(state, CloseWait | Closing | LastAck | TimeWait) {
            self.ended = true;
            self.events.push_back(Event::PeerClosed);
        }
        if was != Closed && state == Closed {
            let in_order = matches!(was, LastAck | TimeWait | Closing) || self.closing;
            self.error = match was {
                SynSent => Some(Error::Refused),
                _ if in_order => None,
                _ => Some(Error::Reset),
            };
            self.events
                .push_back(self.error.map_or(Event::Closed, Event::Failed));
        }
        self.was = state;
    }

    pub fn on_arrived(&mut self, has_data: bool) {
        let stats = &mut self.stats;
        stats.segments_received = stats.segments_received.wrapping_add(1);
        let with_data = &mut stats.data_segments_received;
        *with_data = with_data.wrapping_add(has_data.into());
    }

    pub fn count(&mut self, segment: &Segment<'_>, by_timer: bool) {
        let end = segment.end();
        let occupies = end != segment.seq;
        let again = occupies && self.sent_up_to.is_some_and(|up_to| segment.seq < up_to);
        if occupies {
            self.sent_up_to = Some(self.sent_up_to.map_or(end, |up_to| up_to.max(end)));
        }
        let stats = &mut self.stats;
        for (counter, is_it) in [
            (&mut stats.segments_sent, true),
            (&mut stats.data_segments_sent, !segment.payload.is_empty()),
            (&mut stats.acks_sent, !occupies && !segment.flags.rst()),
            // smoltcp does not report the cause of a retransmission.
            (&mut stats.retransmissions.rto, again && by_timer),
            (&mut stats.rtos, again && by_timer),
            (&mut stats.retransmissions.fast, again && !by_timer),
        ] {
            *counter = counter.wrapping_add(is_it.into());
        }
        let len = segment.payload.len() as u32;
        stats.bytes_sent = stats.bytes_sent.wrapping_add(len);
    }
}
