//! Threaded use, as in RIOT (Kumar et al. 2020, appendix A): applications make calls that block
//! until they are done.
//!
//! Each node has two threads: the network thread takes packets from the link and runs the timers,
//! and the application thread uses blocking POSIX-like sockets. [`Kernel`] provides the services of
//! the operating system: a lock, a way to sleep and be woken, a clock. Here a mutex and a condition
//! variable implement them; an RTOS has its own.
//!
//! `cargo run -p redpoll-socket --example threaded`

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time;

use common::{HeapMemory, MTU, Node, endpoint, node};
use redpoll_base::{Addr, Duration, Instant};
use redpoll_socket::Errno;
use redpoll_socket::posix::blocking::{self, Waiter};
use redpoll_socket::posix::{Answer, Opt, Protocol, Socket, Sockets, Wait};
use redpoll_tcp::Endpoint;

const BYTES: usize = 100_000;
const PORT: u16 = 7;
/// Longest sleep of a network thread.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

struct Kernel {
    state: Mutex<State>,
    changed: Condvar,
    started: time::Instant,
}

struct State {
    node: Node,
    table: [Socket; 4],
    link: Sender<Vec<u8>>,
}

impl State {
    fn call<T>(&mut self, now: Instant, call: impl FnOnce(&mut Sockets<'_, HeapMemory>) -> T) -> T {
        let State { node, table, .. } = self;
        let result = call(&mut Sockets { node, table, now });
        let mut packet = [0; MTU];
        while let Some(len) = self.node.poll_packet(now, &mut packet) {
            // A packet to an end that has exited is lost.
            let _ = self.link.send(packet[..len].to_vec());
        }
        result
    }
}

impl Kernel {
    fn new(node: Node, link: Sender<Vec<u8>>) -> Arc<Kernel> {
        Arc::new(Kernel {
            state: Mutex::new(State {
                node,
                table: [const { Socket::FREE }; 4],
                link,
            }),
            changed: Condvar::new(),
            started: time::Instant::now(),
        })
    }

    fn now(&self) -> Instant {
        Instant::from_micros(self.started.elapsed().as_micros() as u64)
    }

    /// Runs the network thread, which never ends, as on a device.
    fn run_network(&self, link: &Receiver<Vec<u8>>) {
        loop {
            let due = self.state.lock().unwrap().node.poll_at();
            let due = due.map(|wake| wake.at.since(self.now()).as_micros());
            // An application's call may start an earlier timer meanwhile, so the sleep is limited.
            let sleep = Duration::from_micros(due.unwrap_or(u64::MAX)).min(LOOK_AGAIN);
            let sleep = time::Duration::from_micros(sleep.as_micros());
            let packet = link.recv_timeout(sleep);

            let mut state = self.state.lock().unwrap();
            let now = self.now();
            state.call(now, |sockets| {
                if let Ok(packet) = packet {
                    // The node counts packets that it drops.
                    let _ = sockets.node.input_packet(now, &packet);
                }
                sockets.node.on_timeout(now);
                // The sockets read the node's states, so its events are discarded.
                while sockets.node.poll_event().is_some() {}
            });
            self.changed.notify_all();
        }
    }
}

impl Waiter for &Kernel {
    type Profile = HeapMemory;

    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Sockets<'_, HeapMemory>) -> Answer<T>,
    ) -> Answer<T> {
        self.state.lock().unwrap().call(self.now(), call)
    }

    fn wait<T>(
        &mut self,
        _wait: Wait<'_>,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut Sockets<'_, HeapMemory>) -> Answer<T>,
    ) -> Answer<T> {
        let deadline = timeout.map(|timeout| self.now() + timeout);
        let mut state = self.state.lock().unwrap();
        loop {
            let now = self.now();
            let answer = state.call(now, &mut attempt);
            let late = deadline.is_some_and(|deadline| deadline <= now);
            if late || !matches!(answer, Err(Errno::EAGAIN)) {
                return answer;
            }
            // The sleep releases the lock, so no change can be missed before it.
            let sleep = deadline.map_or(u64::MAX, |deadline| deadline.since(now).as_micros());
            let sleep = time::Duration::from_micros(sleep);
            (state, _) = self.changed.wait_timeout(state, sleep).unwrap();
        }
    }
}

/// Runs the server's application: returns all data until the end of the stream.
fn serve(mut kernel: &Kernel) -> Answer<usize> {
    let listener = kernel.call(|sockets| {
        let fd = sockets.socket(Protocol::Tcp)?;
        sockets.bind(fd, Endpoint::new(Addr::UNSPECIFIED, PORT))?;
        // Answers are small, and must not wait for further data.
        sockets.set_option(fd, Opt::NoDelay, 1)?;
        sockets.listen(fd, 1)?;
        Ok(fd)
    })?;
    let (conn, _) = blocking::accept(&mut kernel, listener)?;
    let (mut buffer, mut total) = ([0; 512], 0);
    loop {
        let count = blocking::recv(&mut kernel, conn, &mut buffer, 0)?;
        if count == 0 {
            break;
        }
        total += blocking::send(&mut kernel, conn, &buffer[..count], 0)?;
    }
    kernel.call(|sockets| sockets.close(conn).and(sockets.close(listener)))?;
    Ok(total)
}

/// Runs the client's application: sends a piece, and waits until the server has returned it.
fn talk(mut kernel: &Kernel) -> Answer<usize> {
    let fd = kernel.call(|sockets| sockets.socket(Protocol::Tcp))?;
    let connected = blocking::connect(&mut kernel, fd, endpoint(2, PORT));
    if connected.is_err() {
        kernel.call(|sockets| sockets.close(fd))?;
        connected?;
    }
    let (mut total, mut back) = (0, [0; 1000]);
    for number in 0..BYTES / back.len() {
        let piece = [number as u8; 1000];
        blocking::send(&mut kernel, fd, &piece, 0)?;
        let mut filled = 0;
        while filled < back.len() {
            match blocking::recv(&mut kernel, fd, &mut back[filled..], 0)? {
                0 => return Ok(total),
                count => filled += count,
            }
        }
        assert_eq!(back, piece);
        total += filled;
    }
    kernel.call(|sockets| sockets.close(fd))?;
    Ok(total)
}

fn main() {
    let (to_client, at_client) = channel();
    let (to_server, at_server) = channel();
    let client = Kernel::new(node(1), to_server);
    let server = Kernel::new(node(2), to_client);
    for (kernel, link) in [(&client, at_client), (&server, at_server)] {
        let kernel = Arc::clone(kernel);
        thread::spawn(move || kernel.run_network(&link));
    }
    let started = time::Instant::now();
    let server = thread::spawn(move || serve(&server));
    // The server may not listen yet, and then refuses the connection.
    let sent = loop {
        match talk(&client) {
            Err(Errno::ECONNREFUSED) => thread::yield_now(),
            done => break done,
        }
    };
    assert_eq!(sent, Ok(BYTES));
    assert_eq!(
        server.join().expect("the server's thread has not panicked"),
        Ok(BYTES)
    );
    let ms = started.elapsed().as_millis();
    println!("{BYTES} bytes there and back in {ms} ms");
}

#[test]
fn it_runs() {
    main();
}
