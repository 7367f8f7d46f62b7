//! A node whose packets a serial line carries, by SLIP (RFC 1055).

use core::future::{Future, pending, poll_fn};
use core::pin::pin;
use core::task::Poll;

use embedded_io_async::{Read, Write};
use redpoll_base::Instant;
use redpoll_wire::slip::{Decoder, encode};

use super::{Clock, Net, Profile, Watch};

/// Bytes that are read or written at once.
const CHUNK: usize = 64;

/// Memory of a line: a packet in each direction.
#[derive(Debug)]
pub struct LineMemory<'m> {
    /// Room for a packet that arrives; what is longer is passed over.
    pub input: &'m mut [u8],
    /// Room for a packet that leaves, as long as the longest segment makes it.
    pub output: &'m mut [u8],
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T> {
    /// Is the driver of a node that has no radio: carries packets between it and a serial
    /// line, as `Net::run_over` does for IP devices. `sleep` makes a future that ends at a
    /// time of this net's clock or later.
    ///
    /// A line cannot be told to wait: what the node has no room for is dropped there, and
    /// counted. Either flow control by the line's own means (RTS/CTS) keeps that from the
    /// node, or a window that its packet slots can hold.
    ///
    /// # Errors
    /// Those of the line. It ends without an error where the line does.
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
                        // What is dropped is counted.
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

    /// Waits for work, or for the time at which the node wants to be called.
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
