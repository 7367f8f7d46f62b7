//! The loop of a node with a radio.

use core::convert::Infallible;
use core::task::{Context, Poll, ready};

use redpoll_base::Instant;
use redpoll_mac::{Access, Radio, RadioEvent};

use super::Node;
use crate::profile::Profile;

/// For access methods, such as CSMA-CA, that need only the operations that every radio supports.
impl<P: Profile> Node<P>
where
    P::Access: Access<Work = Infallible, Done = Infallible>,
{
    /// Starts the node's work on `radio`, and handles the next event: a frame, the end of an
    /// operation, or the time of the node's next timer or of `until`, when an application wants to
    /// be called. Returns ready after an event. The application then reads [`Self::poll_event`] and
    /// calls `drive` again. It also calls `drive` after its own calls that make the node send.
    ///
    /// In an executor: `poll_fn(|cx| node.drive(&mut radio, cx, until)).await`; the radio wakes the
    /// task. In a loop without executor: pass `Context::from_waker(Waker::noop())`, and let the
    /// processor sleep while the result is `Pending`.
    pub fn drive<R: Radio + ?Sized>(
        &mut self,
        radio: &mut R,
        cx: &mut Context<'_>,
        until: Option<Instant>,
    ) -> Poll<()> {
        self.begin_works(radio);
        let due = self.poll_at().map(|wake| wake.at);
        let until = due.into_iter().chain(until).min();
        match ready!(radio.poll_event(cx, until)) {
            RadioEvent::Frame(info) => self.input_frame(radio.now(), radio.frame(), info),
            RadioEvent::Done(result) => self.on_radio_done(radio.now(), result),
            RadioEvent::Time => self.on_time(radio.now()),
        }
        Poll::Ready(())
    }

    // `begin_works` and `input_frame` are not inlined: their stack frames are large, and are never
    // needed together.
    #[inline(never)]
    fn begin_works<R: Radio + ?Sized>(&mut self, radio: &mut R) {
        while radio.is_ready()
            && let Some(work) = self.poll_radio(radio.now())
        {
            radio.start(work, self.frame());
        }
    }

    #[inline(never)] // stack: see `begin_works`
    fn on_time(&mut self, now: Instant) {
        if self.poll_at().is_some_and(|wake| wake.at <= now) {
            self.on_timeout(now);
        }
    }
}
