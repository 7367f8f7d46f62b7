//! A node and the radio that it is on.

use core::convert::Infallible;
use core::task::{Context, Poll, ready};

use redpoll_base::Instant;
use redpoll_mac::{Access, Radio, RadioEvent};

use super::Node;
use crate::profile::Profile;

/// Only a method of access that needs no more than every radio can do.
impl<P: Profile> Node<P>
where
    P::Access: Access<Work = Infallible, Done = Infallible>,
{
    /// Gives `radio` what this node wants done, and takes the next thing that happens: a
    /// frame, the end of a work, or that it is time, for the node or at the latest `until`,
    /// when an application wants to be called. Ready when something has happened; the
    /// application then looks at [`Self::poll_event`] and comes back here, as it does after
    /// calls of its own that give the node something to send.
    ///
    /// For an executor: `poll_fn(|cx| node.drive(&mut radio, cx, until)).await`, which is
    /// woken by the radio. For a loop without one: `Context::from_waker(Waker::noop())`, and
    /// the processor rests while it is `Pending`.
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

    // Not in line, as `input_frame` is not: their frames are large, and never there together.
    #[inline(never)]
    fn begin_works<R: Radio + ?Sized>(&mut self, radio: &mut R) {
        while radio.is_ready()
            && let Some(work) = self.poll_radio(radio.now())
        {
            radio.start(work, self.frame());
        }
    }

    #[inline(never)] // stack: as `begin_works`
    fn on_time(&mut self, now: Instant) {
        if self.poll_at().is_some_and(|wake| wake.at <= now) {
            self.on_timeout(now);
        }
    }
}
