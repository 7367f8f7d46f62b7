//! A node on a radio, and the futures of its sockets.

use core::convert::Infallible;
use core::future::poll_fn;
use core::task::{Context, Poll};

use redpoll_stack::mac::{Access, Radio};

use super::{Clock, Net, Profile, Watch, give_way};

/// So many frames and other events before other tasks have their turn.
const AT_ONCE: usize = 8;

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T>
where
    P::Access: Access<Work = Infallible, Done = Infallible>,
{
    /// Is the driver of a node that is on `radio`, until it is dropped. The net's clock is the
    /// radio's: what [`Radio::now`] says.
    pub async fn run_on<R: Radio + ?Sized>(&self, radio: &mut R) -> Infallible {
        loop {
            poll_fn(|cx| self.poll_radio(radio, cx)).await;
            // Other tasks go on even while the radio is never silent.
            give_way().await;
        }
    }

    /// Ready when something has happened.
    fn poll_radio<R: Radio + ?Sized>(&self, radio: &mut R, cx: &mut Context<'_>) -> Poll<()> {
        let mut moved = false;
        // The driver is woken by the radio, and by sockets that have something to send.
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
