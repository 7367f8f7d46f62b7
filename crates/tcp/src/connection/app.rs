//! The application's calls (RFC 9293 §3.9.1).

use redpoll_base::{Bytes, Instant};

use super::Connection;
use super::marks::Marks;
use crate::send::{Chain, ChainSlot, SendRing, SendStore};
use crate::state::{Cause, Phase, Synchronized};
use crate::{Algorithms, Error, RecvError, SendError, SeqRange};
use redpoll_base::copy;

impl<B: Bytes, A: Algorithms> Connection<B, SendRing<B>, A> {
    /// Accepts as many of `bytes` as fit for sending, and returns how many (SEND).
    ///
    /// 0 means that the buffer is full; [`Event::Writable`](crate::Event) follows. Data may be
    /// given before the connection is established.
    ///
    /// # Errors
    /// [`SendError`] once the application has closed or the connection ended.
    pub fn send(&mut self, now: Instant, bytes: &[u8]) -> Result<usize, SendError> {
        self.timers.enter(now);
        self.check_writable()?;
        let taken = self.outbox.write(bytes);
        if taken < bytes.len() {
            self.marks.set(Marks::STARVED);
        }
        self.settle();
        Ok(taken)
    }

    /// Returns how many bytes [`send`](Self::send) would accept now.
    pub fn send_room(&self) -> usize {
        self.outbox.room()
    }
}

/// Sending from the application's own buffers without a copy.
impl<B: Bytes, D: AsRef<[u8]>, T, A: Algorithms> Connection<B, Chain<D, T>, A>
where
    T: AsRef<[ChainSlot<D>]> + AsMut<[ChainSlot<D>]>,
{
    /// Appends the buffer `data` to the data to send (SEND); [`reclaim`](Self::reclaim) returns it.
    ///
    /// # Errors
    /// Returns `data` if the chain is full, the connection is closing or has ended, or too many
    /// bytes are outstanding. [`Event::Writable`](crate::Event) reports when a buffer becomes free.
    pub fn send_buffer(&mut self, now: Instant, data: D) -> Result<(), D> {
        self.timers.enter(now);
        if self.check_writable().is_err() {
            return Err(data);
        }
        self.outbox.push(data)?;
        // The next buffer that becomes free raises an event, although `data` was accepted.
        self.marks.set(Marks::STARVED);
        self.settle();
        Ok(())
    }

    /// Returns the oldest buffer that is no longer needed: all of it is acknowledged and the link
    /// does not read it, or the connection has ended.
    pub fn reclaim(&mut self) -> Option<D> {
        self.outbox.reclaim()
    }
}

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    fn check_writable(&self) -> Result<(), SendError> {
        let may_write = match self.phase {
            Phase::SynSent(_) => true,
            Phase::SynReceived(state) => !state.close_queued,
            Phase::Synchronized(state) => state.may_write(),
            Phase::Closed(closed) => return Err(SendError::Closed(closed.error)),
        };
        may_write.then_some(()).ok_or(SendError::Closing)
    }

    /// Moves received bytes to `out`, and returns how many (RECEIVE).
    ///
    /// `Ok(0)` with a non-empty `out` means that the peer closed and all data were read.
    ///
    /// # Errors
    /// [`RecvError::WouldBlock`] if no data are available, [`RecvError::Failed`] if the connection
    /// ended by an error.
    pub fn recv(&mut self, now: Instant, out: &mut [u8]) -> Result<usize, RecvError> {
        if let Some(error) = self.error() {
            return Err(RecvError::Failed(error));
        }
        let (first, second) = self.peek();
        if first.is_empty() && !out.is_empty() && self.may_still_receive() {
            return Err(RecvError::WouldBlock);
        }
        let copied = copy(first, out);
        let rest = out.get_mut(copied..).unwrap_or(&mut []);
        let count = copied.wrapping_add(copy(second, rest));
        Ok(self.consume(now, count))
    }

    /// Returns the data received in order without a copy, in two pieces because the buffer is a
    /// ring. [`consume`](Self::consume) removes what was read. The pieces are also empty at the end
    /// of the data and after an error; [`recv`](Self::recv) distinguishes these cases.
    pub fn peek(&self) -> (&[u8], &[u8]) {
        self.inbox.peek()
    }

    /// Removes the first `count` bytes of [`peek`](Self::peek), or all if there are fewer, and
    /// returns how many. The receive window grows accordingly.
    pub fn consume(&mut self, now: Instant, count: usize) -> usize {
        self.timers.enter(now);
        let count = self.inbox.consume(count);
        if count > 0 {
            self.offer_window();
            self.settle();
        }
        count
    }

    fn may_still_receive(&self) -> bool {
        match self.phase {
            Phase::SynSent(_) | Phase::SynReceived(_) => true,
            Phase::Synchronized(state) => state.may_receive(),
            Phase::Closed(_) => false,
        }
    }

    /// Announces freed buffer space in large steps (RFC 9293 §3.8.6.2.2).
    pub(super) fn offer_window(&mut self) {
        let receiving = self.synchronized().is_some_and(Synchronized::may_receive);
        let (room, capacity) = (self.inbox.room(), self.inbox.capacity());
        if receiving && self.rcv.wants_update(room, capacity, self.eff_snd_mss()) {
            self.acks.require();
        }
    }

    /// Closes our direction (CLOSE): accepted data and a FIN are still sent. The peer may continue
    /// to send. In SYN-SENT, the connection ends at once, and accepted data are dropped. Further
    /// calls have no effect.
    pub fn close(&mut self, now: Instant) {
        self.timers.enter(now);
        match &mut self.phase {
            // RFC 9293 §3.10.4: "Delete the TCB."
            Phase::SynSent(_) => self.closed(),
            // RFC 9293 §3.10.4: "Queue for processing after entering ESTABLISHED state."
            Phase::SynReceived(state) => state.close_queued = true,
            Phase::Synchronized(state) if state.may_write() => {
                self.marks.set(Marks::CLOSING);
                self.transition(Cause::Close);
            }
            Phase::Synchronized(_) | Phase::Closed(_) => {}
        }
        self.settle();
    }

    /// Ends the connection and drops all data (ABORT). In the states in which RFC 9293 §3.10.5
    /// requires a reset, [`poll_segment`](Self::poll_segment) returns one for the peer.
    pub fn abort(&mut self, _now: Instant) {
        if !self.is_closed() {
            self.fail_with_reset(Error::Aborted);
        }
    }

    /// Returns how many bytes [`recv`](Self::recv) would return now.
    pub fn recv_queue(&self) -> usize {
        self.inbox.ready()
    }

    /// Returns the number of bytes from the application that the peer has not acknowledged.
    pub fn unacked(&self) -> usize {
        let SeqRange { start, end } = self.outbox.range();
        (end - start.max(self.snd.una)) as usize
    }
}
