//! Slow clients: those that send half a request, those that never read, and those that answer no
//! ping. An honest client is served within a second next to 150 slow clients of each kind.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use redpoll_page::{PageKind, PageServer};
use redpoll_sim::{Scenario, World};
use redpoll_web::Server;
use redpoll_web::message::Mode;
use socket2::{Domain, Socket, Type};
use tungstenite::Message;

const SLOW: usize = 150;
/// Time within which an honest client is served.
const PROMISED: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
enum Habit {
    /// The browser connects and sends nothing.
    Silent,
    /// The browser sends the first half of a request.
    Half,
    /// The browser sends requests again and again, and reads no answer.
    NeverReads,
    /// The browser sends a header one byte at a time.
    Trickles,
}

const HABITS: [Habit; 4] = [
    Habit::Silent,
    Habit::Half,
    Habit::NeverReads,
    Habit::Trickles,
];

/// Clients with the same habit. Dropping the crowd ends them.
struct Crowd {
    is_over: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Crowd {
    fn new(address: SocketAddr, path: &str, habit: Habit) -> Crowd {
        let streams: Vec<TcpStream> = (0..SLOW).map(|_| small(address)).collect();
        let ask = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let mut streams = streams;
            let half = &ask.as_bytes()[..ask.len() / 2];
            for (index, byte) in ask.bytes().cycle().enumerate() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                for stream in &mut streams {
                    // A client that was disconnected does nothing more.
                    let _ = match habit {
                        Habit::Silent => Ok(0),
                        Habit::Half if index > 0 => Ok(0),
                        Habit::Half => stream.write(half),
                        Habit::NeverReads => stream.write(ask.repeat(50).as_bytes()),
                        Habit::Trickles => stream.write(&[byte]),
                    };
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        Crowd {
            is_over,
            threads: vec![thread],
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Returns a connection with a small buffer, which an unread answer fills.
fn small(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.connect(&address.into()).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.into()
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// Checks that an honest client is served ten times, each time within the promised time.
fn is_served(address: SocketAddr, path: &str, habit: Habit) {
    for _ in 0..10 {
        let began = Instant::now();
        let answer = get(address, path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{habit:?}: {answer}");
        let took = began.elapsed();
        assert!(took < PROMISED, "{habit:?}: {took:?}");
        thread::sleep(Duration::from_millis(100));
    }
}

fn live_view() -> (World, redpoll_web::Desk, SocketAddr) {
    let scenario = Scenario::load("pair", &[]).unwrap();
    let world = World::new(&scenario, 1).unwrap();
    let server = Server::listen("127.0.0.1:0".parse().unwrap(), [7; 16]).unwrap();
    let address = server.address();
    let desk = server.start(&world, Mode::Run).unwrap();
    (world, desk, address)
}

#[test]
fn the_live_view_is_there_beside_slow_clients() {
    for habit in HABITS {
        let (_world, _desk, address) = live_view();
        let _crowd = Crowd::new(address, "/live.js", habit);
        is_served(address, "/live.js", habit);
    }
}

#[test]
fn a_page_of_text_is_there_beside_slow_clients() {
    for habit in HABITS {
        let kind = PageKind {
            path: "/metrics",
            media_type: "text/plain; version=0.0.4",
        };
        let server = PageServer::listen("127.0.0.1:0".parse().unwrap(), kind).unwrap();
        let address = server.address();
        let page = server.start().unwrap();
        let (end, is_over) = mpsc::channel::<()>();
        let writer = thread::spawn(move || {
            let mut number = 0;
            while is_over.try_recv() == Err(mpsc::TryRecvError::Empty) {
                if page.is_asked() {
                    number += 1;
                    page.answer(format!("number {number}\n{}", "x".repeat(100_000)));
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        let crowd = Crowd::new(address, "/metrics", habit);
        is_served(address, "/metrics", habit);
        drop(crowd);
        assert!(get(address, "/metrics").contains("text/plain; version=0.0.4"));
        let elsewhere = get(address, "/");
        assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
        assert!(elsewhere.contains("only GET /metrics"), "{elsewhere}");
        drop(end);
        writer.join().unwrap();
    }
}

#[test]
fn a_page_without_content_is_refused_after_a_timeout() {
    let kind = PageKind {
        path: "/",
        media_type: "text/plain",
    };
    let server = PageServer::listen("127.0.0.1:0".parse().unwrap(), kind).unwrap();
    let address = server.address();
    let page = server.start().unwrap();
    assert!(get(address, "/").starts_with("HTTP/1.1 503"));
    // The client timed out and has disconnected, so the server does not request a page for it.
    thread::sleep(Duration::from_millis(100));
    page.answer(String::new());
    assert!(!page.is_asked());
}

#[test]
fn browsers_that_answer_no_ping_give_way_to_one_that_does() {
    let (_world, _desk, address) = live_view();
    let url = format!("ws://{address}/live");
    let join = || {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        tungstenite::client(url.as_str(), stream).ok()
    };
    let mut honest = join().unwrap().0;
    // Like a browser, reads at all times, and thereby answers pings.
    honest.get_mut().set_nonblocking(true).unwrap();
    let mut read = move || while honest.read().is_ok() {};
    let mut silent = Vec::new();
    for _ in 0..SLOW {
        read();
        silent.extend(join());
    }
    thread::sleep(Duration::from_millis(600));
    read();
    let began = Instant::now();
    let (mut late, _) = join().expect("a seat");
    let mut greeted = false;
    while !greeted {
        greeted = matches!(late.read().unwrap(), Message::Text(text) if text.contains("hello"));
    }
    assert!(began.elapsed() < PROMISED, "{:?}", began.elapsed());
}
