//! A node whose packets use a serial line with SLIP (RFC 1055).

use core::future::{Future, pending, poll_fn};
use core::pin::pin;
use core::task::Poll;

use embedded_io_async::{Read, Write};
use redpoll_base::Instant;
use redpoll_wire::slip::{Decoder, encode};

use super::{Clock, Net, Profile, Watch};

/// Maximum number of bytes per read or write.
const CHUNK: usize = 64;

/// Memory of a line: a packet in each direction.
#[derive(Debug)]
pub struct LineMemory<'m> {
    /// Buffer for a packet that arrives; longer packets are discarded.
    pub input: &'m mut [u8],
    /// Buffer for a packet to send, at least 1,280 bytes. Its length is the MTU of the line for the
    /// node's own segments.
    pub output: &'m mut [u8],
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T> {
    /// Drives a node that has no radio: carries packets between the node and a serial line, as
    /// `Net::run_over` does for IP devices. `sleep` makes a future that ends at or after a time of
    /// this net's clock.
    ///
    /// A line cannot wait, so the node drops and counts packets for which it has no room. Flow
    /// control of the line (RTS/CTS) or a window that the packet slots can hold avoids such drops.
    ///
    /// # Errors
    /// The errors of the line. Without an error the future ends when the line ends.
    pub async fn run_over_slip<R, W, S>(
        &self,
        mut input: R,
        mut output: W,
        memory: LineMemory<'_>,
        mut sleep: impl FnMut(Instant) -> S,
    ) -> Result<(), R::Error>
    where
        R: Read,
        W: Write<Error = R::Error>,
        S: Future<Output = ()>,
    {
        let LineMemory {
            input: arriving,
            output: leaving,
        } = memory;
        let mut receive = pin!(async {
            let mut decoder = Decoder::new(arriving);
            let mut chunk = [0; CHUNK];
            loop {
                let len = input.read(&mut chunk).await?;
                if len == 0 {
                    return Ok(());
                }
                for byte in chunk.iter().take(len) {
                    if let Some(packet) = decoder.push(*byte) {
                        // The node counts packets that it drops.
                        self.ask(|node, now| node.input_packet(now, packet).ok());
                    }
                }
            }
        });
        let mut send = pin!(async {
            loop {
                let made = self.with(|node, now| {
                    node.on_timeout(now);
                    node.poll_packet(now, leaving)
                });
                match made.and_then(|len| leaving.get(..len)) {
                    Some(packet) => write_packet(&mut output, packet).await?,
                    None => self.rest(&mut sleep).await,
                }
            }
        });
        poll_fn(|cx| match receive.as_mut().poll(cx) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => send.as_mut().poll(cx),
        })
        .await
    }

    async fn rest<S: Future<Output = ()>>(&self, sleep: &mut impl FnMut(Instant) -> S) {
        let mut work = pin!(self.work());
        let at = self.poll_at();
        let mut timer = pin!(async {
            match at {
                Some(at) => sleep(at).await,
                None => pending().await,
            }
        });
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => timer.as_mut().poll(cx),
        })
        .await;
    }
}

async fn write_packet<W: Write>(output: &mut W, packet: &[u8]) -> Result<(), W::Error> {
    let mut bytes = encode(packet).peekable();
    while bytes.peek().is_some() {
        let mut chunk = [0; CHUNK];
        let mut len: usize = 0;
        for (place, byte) in chunk.iter_mut().zip(&mut bytes) {
            *place = byte;
            len = len.saturating_add(1);
        }
        output.write_all(chunk.get(..len).unwrap_or(&[])).await?;
    }
    output.flush().await
}
