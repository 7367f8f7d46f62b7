//! Begins a connection of TLS 1.3 with a pre-shared key (PSK, and P-256), over a stream that
//! accepts all bytes and ends at once. All parts of `embedded-tls` that a client needs are linked.
//! The image runs up to the first flight, on QEMU, and prints the memory that was used.
#![no_std]
#![no_main]

use core::convert::Infallible;
use core::fmt::Write as _;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use embedded_io_async::{ErrorType, Read, Write};
use embedded_tls::{
    Aes128GcmSha256, FlushPolicy, MaxFragmentLength, TlsConfig, TlsConnection, TlsContext,
    TlsError, UnsecureProvider,
};
use image::host::{self, Console, fail};
use image::stack;
use image::unknown::any;
use rand_core::{CryptoRng, RngCore};
use redpoll_firmware as image;

/// Record buffers as in `docs/everywhere.md`.
const INPUT: usize = 1_024;
const OUTPUT: usize = 512;

/// A stream whose behaviour the compiler cannot know.
struct Line {
    written: usize,
}

impl ErrorType for Line {
    type Error = Infallible;
}

impl Read for Line {
    async fn read(&mut self, out: &mut [u8]) -> Result<usize, Infallible> {
        out.fill(any(0));
        Ok(any(0))
    }
}

impl Write for Line {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.written += any(bytes).len();
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// A counter in place of random numbers.
struct Counter(u32);

impl CryptoRng for Counter {}

impl RngCore for Counter {
    fn next_u32(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0
    }

    fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) << 32 | u64::from(self.next_u32())
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        for byte in out {
            *byte = (self.next_u32() >> 24) as u8;
        }
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(out);
        Ok(())
    }
}

/// Sends a reading and waits for the answer, as `samples/src/tls.rs` does.
async fn send(line: &mut Line, input: &mut [u8], output: &mut [u8]) -> Result<(), TlsError> {
    let (key, identity) = (any([7u8; 32]), any(*b"leaf"));
    let identities = [&identity[..]];
    let config = TlsConfig::new()
        .with_psk(&key, &identities)
        .with_max_fragment_length(MaxFragmentLength::Bits9);
    let provider = UnsecureProvider::new::<Aes128GcmSha256>(Counter(any(1)));
    let mut tls = TlsConnection::new(line, input, output);
    tls.set_flush_policy(FlushPolicy::Relaxed);
    tls.open(TlsContext::new(&config, provider)).await?;
    tls.write(&any([1u8; 32])).await?;
    tls.flush().await?;
    tls.read(&mut [0; 32]).await?;
    tls.close().await.map(|_| ()).map_err(|(_, error)| error)
}

/// Runs the connection to its end. Returns the bytes of its future, the bytes of call stack that
/// its calls used, and whether the peer answered.
fn run(line: &mut Line) -> (usize, u32, bool) {
    let (mut input, mut output) = ([0; INPUT], [0; OUTPUT]);
    let future = send(line, &mut input, &mut output);
    let bytes = size_of_val(&future);
    let mut future = pin!(future);
    stack::paint();
    let Poll::Ready(result) = (future.as_mut()).poll(&mut Context::from_waker(Waker::noop()))
    else {
        fail("the stream must never wait")
    };
    let [used, _] = stack::used();
    (bytes, used, result.is_ok())
}

#[unsafe(no_mangle)]
fn image_main() -> ! {
    let mut line = Line { written: 0 };
    let (future, stack, is_answered) = run(&mut line);
    if is_answered {
        fail("the peer answered, but no answer was expected");
    }
    let (flight, records) = (line.written, INPUT + OUTPUT);
    let told = writeln!(
        Console,
        "first flight {flight}\nrecords {records}\nfuture {future}\nstack {stack}"
    );
    host::exit(told.is_ok())
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    fail("panic")
}
