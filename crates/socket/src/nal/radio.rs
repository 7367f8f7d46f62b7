//! Drives a node on a radio, while other futures use the sockets of the node.

use core::convert::Infallible;
use core::future::poll_fn;
use core::task::{Context, Poll};

use redpoll_stack::mac::{Access, Radio};

use super::{Clock, Net, Profile, Watch, yield_now};

/// Greatest number of frames and other events before other tasks run.
const AT_ONCE: usize = 8;

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T>
where
    P::Access: Access<Work = Infallible, Done = Infallible>,
{
    /// Drives a node on `radio` until the future is dropped. The net's clock is the radio's
    /// [`Radio::now`].
    pub async fn run_on<R: Radio + ?Sized>(&self, radio: &mut R) -> Infallible {
        loop {
            poll_fn(|cx| self.poll_radio(radio, cx)).await;
            // Other tasks run even while the radio is never silent.
            yield_now().await;
        }
    }

    /// Handles up to [`AT_ONCE`] events. Returns ready if there was at least one.
    fn poll_radio<R: Radio + ?Sized>(&self, radio: &mut R, cx: &mut Context<'_>) -> Poll<()> {
        let mut moved = false;
        // The result does not matter: `drive` handles all work that sockets gave until now.
        self.take_work(cx);
        for _ in 0..AT_ONCE {
            match self.with(|node, _| node.drive(radio, cx, None)) {
                Poll::Ready(()) => moved = true,
                Poll::Pending if self.take_work(cx) => moved = true,
                Poll::Pending => break,
            }
        }
        match moved {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}
