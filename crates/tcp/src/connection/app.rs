//! The application's calls (RFC 9293 §3.9.1).

use redpoll_base::{Bytes, Instant};

use super::Connection;
use super::marks::Marks;
use crate::send::{Chain, ChainSlot, SendRing, SendStore};
use crate::state::{Cause, Phase, Synchronized};
use crate::{Algorithms, Error, RecvError, SendError, SeqRange};
use redpoll_base::copy;

impl<B: Bytes, A: Algorithms> Connection<B, SendRing<B>, A> {
    /// SEND: takes as much of `bytes` as there is room for, and says how much.
    ///
    /// 0 means that the buffer is full; [`Event::Writable`](crate::Event)
    /// follows. Data may be given before the connection is established.
    ///
    /// # Errors
    ///
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

    /// Bytes that [`send`](Self::send) would take now.
    pub fn send_room(&self) -> usize {
        self.outbox.room()
    }
}

/// Sending without a copy, from the application's own buffers.
impl<B: Bytes, D: AsRef<[u8]>, T, A: Algorithms> Connection<B, Chain<D, T>, A>
where
    T: AsRef<[ChainSlot<D>]> + AsMut<[ChainSlot<D>]>,
{
    /// SEND: takes `data` as it is, to be sent behind what was given before.
    /// It comes back by [`reclaim`](Self::reclaim).
    ///
    /// # Errors
    ///
    /// `data` itself: if the table is full, the connection closing or over, or
    /// too much under way. [`Event::Writable`](crate::Event) says when a buffer
    /// has become free.
    pub fn send_buffer(&mut self, now: Instant, data: D) -> Result<(), D> {
        self.timers.enter(now);
        if self.check_writable().is_err() {
            return Err(data);
        }
        self.outbox.push(data)?;
        // Each buffer that becomes free is worth an event.
        self.marks.set(Marks::STARVED);
        self.settle();
        Ok(())
    }

    /// The oldest buffer of which nothing is needed any more: all of it was
    /// acknowledged and the link sends none of it, or the connection is over.
    pub fn reclaim(&mut self) -> Option<D> {
        self.outbox.reclaim()
    }
}

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Whether the application may give data to be sent.
    fn check_writable(&self) -> Result<(), SendError> {
        let may_write = match self.phase {
            Phase::SynSent(_) => true,
            Phase::SynReceived(state) => !state.close_queued,
            Phase::Synchronized(state) => state.may_write(),
            Phase::Closed(closed) => return Err(SendError::Closed(closed.error)),
        };
        may_write.then_some(()).ok_or(SendError::Closing)
    }

    /// RECEIVE: moves received bytes to `out`, and says how many.
    ///
    /// `Ok(0)` with a non-empty `out` means that the peer closed and
    /// everything was read.
    ///
    /// # Errors
    ///
    /// [`RecvError::WouldBlock`] if nothing has arrived yet,
    /// [`RecvError::Failed`] if the connection ended by an error.
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

    /// What has arrived in order, where it lies: to be read without a copy, in
    /// two pieces because the buffer is a ring. [`consume`](Self::consume) what
    /// was read. Empty also at the end of the data and after an error: ask
    /// [`recv`](Self::recv) which it is.
    pub fn peek(&self) -> (&[u8], &[u8]) {
        self.inbox.peek()
    }

    /// Frees the first `count` bytes of those that [`peek`](Self::peek) shows,
    /// or all if there are fewer, and says how many that were. The window opens
    /// by as much.
    pub fn consume(&mut self, now: Instant, count: usize) -> usize {
        self.timers.enter(now);
        let count = self.inbox.consume(count);
        if count > 0 {
            self.offer_window();
            self.settle();
        }
        count
    }

    /// Whether the peer may still send.
    fn may_still_receive(&self) -> bool {
        match self.phase {
            Phase::SynSent(_) | Phase::SynReceived(_) => true,
            Phase::Synchronized(state) => state.may_receive(),
            Phase::Closed(_) => false,
        }
    }

    /// RFC 9293 §3.8.6.2.2: tells the peer of freed buffer, in large steps.
    pub(super) fn offer_window(&mut self) {
        let receiving = self.synchronized().is_some_and(Synchronized::may_receive);
        let (room, capacity) = (self.inbox.room(), self.inbox.capacity());
        if receiving && self.rcv.wants_update(room, capacity, self.eff_snd_mss()) {
            self.acks.require();
        }
    }

    /// CLOSE: no more will be sent; what was taken still is, and a FIN. The
    /// peer may go on sending. Calling it again changes nothing.
    pub fn close(&mut self, now: Instant) {
        self.timers.enter(now);
        match &mut self.phase {
            // "Delete the TCB."
            Phase::SynSent(_) => self.closed(),
            // "Queue for processing after entering ESTABLISHED state."
            Phase::SynReceived(state) => state.close_queued = true,
            Phase::Synchronized(state) if state.may_write() => {
                self.marks.set(Marks::CLOSING);
                self.transition(Cause::Close);
            }
            Phase::Synchronized(_) | Phase::Closed(_) => {}
        }
        self.settle();
    }

    /// ABORT: everything is dropped, and the peer is told by a reset, which
    /// goes out by [`poll_segment`](Self::poll_segment).
    pub fn abort(&mut self, _now: Instant) {
        if !self.is_closed() {
            self.fail_with_reset(Error::Aborted);
        }
    }

    /// Bytes that [`recv`](Self::recv) would give now.
    pub fn recv_queue(&self) -> usize {
        self.inbox.ready()
    }

    /// Bytes taken from the application and not yet acknowledged by the peer.
    pub fn unacked(&self) -> usize {
        let SeqRange { start, end } = self.outbox.range();
        (end - start.max(self.snd.una)) as usize
    }
}
