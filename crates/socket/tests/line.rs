//! A node on a serial line that ends or fails. `samples.rs` has lines that work.

#[allow(dead_code)]
#[path = "../examples/common/mod.rs"]
mod common;

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use common::{MTU, address, node};
use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use redpoll_base::Instant;
use redpoll_socket::nal::{LineMemory, Net, Watch};
use redpoll_wire::slip::encode;

/// A line with these bytes, and the result of the reads after them; `None` for no result.
struct Input(VecDeque<u8>, Option<Result<usize, ErrorKind>>);

impl ErrorType for Input {
    type Error = ErrorKind;
}

impl Read for Input {
    async fn read(&mut self, out: &mut [u8]) -> Result<usize, ErrorKind> {
        let len = self.0.len().min(out.len());
        for (place, byte) in out.iter_mut().zip(self.0.drain(..len)) {
            *place = byte;
        }
        match (len, self.1) {
            (0, None) => pending().await,
            (0, Some(result)) => result,
            _ => Ok(len),
        }
    }
}

struct Broken;

impl ErrorType for Broken {
    type Error = ErrorKind;
}

impl Write for Broken {
    async fn write(&mut self, _: &[u8]) -> Result<usize, ErrorKind> {
        Err(ErrorKind::BrokenPipe)
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// Runs node 1, which gets an echo request; returns the result and the length of its answer.
fn run(end: Option<Result<usize, ErrorKind>>) -> (Result<(), ErrorKind>, Option<usize>) {
    let (now, mut packet) = (Instant::from_millis(5), [0; MTU]);
    let mut other = node(2);
    other.ping(now, address(1), 1, 1, 8).unwrap();
    let len = other.poll_packet(now, &mut packet).unwrap();
    let input = Input(encode(&packet[..len]).collect(), end);
    let net = Net::new(node(1), || now, [const { Watch::FREE }; 1]);
    let (mut arriving, mut leaving) = ([0; MTU], [0; MTU]);
    let memory = LineMemory {
        input: &mut arriving,
        output: &mut leaving,
    };
    let sleep = |_| pending::<()>();
    let result = {
        let mut running = pin!(net.run_over_slip(input, Broken, memory, sleep));
        let cx = &mut Context::from_waker(Waker::noop());
        match running.as_mut().poll(cx) {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("it goes on"),
        }
    };
    let answer = net.with(|node, now| node.poll_packet(now, &mut packet));
    assert!(answer.is_none_or(|answer| answer == len));
    (result, answer)
}

#[test]
fn a_line_that_ends_or_fails_ends_its_driver() {
    // The node got the packet before the end of the line.
    let length = Some(40 + 8 + 8);
    assert_eq!(run(Some(Ok(0))), (Ok(()), length));
    let failed = Err(ErrorKind::TimedOut);
    assert_eq!(run(Some(failed.map(|()| 0))), (failed, length));
    // The write fails after the packet was taken from the node.
    assert_eq!(run(None), (Err(ErrorKind::BrokenPipe), None));
}
