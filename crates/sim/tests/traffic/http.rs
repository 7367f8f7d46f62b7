//! The HTTP server, asked by a client on the other node.

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_sim::scenario::Scenario;
use redpoll_sim::traffic::{App, Context, counting_lines};
use redpoll_sim::world::World;
use redpoll_stack::transport::{Endpoint, Event};
use redpoll_stack::{ConnId, NodeEvent};

use super::{pair, run};

/// What a client got, and whether the connection is over.
#[derive(Clone, Debug, Default)]
struct Got {
    bytes: Vec<u8>,
    ended: bool,
    failed: bool,
}

impl Got {
    fn head(&self) -> String {
        let end = self
            .bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head");
        String::from_utf8(self.bytes[..end].to_vec()).unwrap()
    }

    fn body(&self) -> &[u8] {
        &self.bytes[self.head().len() + 4..]
    }
}

/// Sends a request, takes what comes, closes when the server has.
struct Client {
    server: Endpoint,
    request: Vec<u8>,
    sent: usize,
    conn: Option<ConnId>,
    got: Rc<RefCell<Got>>,
}

impl Client {
    fn pump(&mut self, cx: &mut Context<'_>) {
        let Some(conn) = self.conn else { return };
        while self.sent < self.request.len() {
            match cx.node.tcp_send(cx.now, conn, &self.request[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(_) => break,
            }
        }
        let mut chunk = [0; 300];
        while let Ok(len) = cx.node.tcp_recv(cx.now, conn, &mut chunk) {
            if len == 0 {
                self.got.borrow_mut().ended = true;
                cx.node.tcp_close(cx.now, conn);
                break;
            }
            self.got.borrow_mut().bytes.extend_from_slice(&chunk[..len]);
        }
    }
}

impl App for Client {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.conn = cx.node.tcp_connect(cx.now, self.server).ok();
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        match event {
            NodeEvent::Tcp(id, Event::Failed(_)) if Some(*id) == self.conn => {
                self.got.borrow_mut().failed = true;
                cx.node.tcp_release(cx.now, *id);
                self.conn = None;
            }
            NodeEvent::Tcp(id, Event::Closed) if Some(*id) == self.conn => {
                cx.node.tcp_release(cx.now, *id);
                self.conn = None;
            }
            NodeEvent::Tcp(id, _) if Some(*id) == self.conn => self.pump(cx),
            _ => {}
        }
    }

    fn on_timer(&mut self, _cx: &mut Context<'_>) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }
}

fn server() -> Scenario {
    pair("[apps.web]\ntype = \"http-server\"\non = \"node-2\"\n[tcp]\ntime_wait = \"1 s\"\n")
}

/// Asks the server of `world` and waits `wait` for what it says.
fn ask_for(world: &mut World, request: &[u8], wait: Duration) -> Got {
    let addr = world.scenario().address(1).unwrap();
    let got = Rc::new(RefCell::new(Got::default()));
    let client = Client {
        server: Endpoint { addr, port: 80 },
        request: request.to_vec(),
        sent: 0,
        conn: None,
        got: got.clone(),
    };
    world.add_app(0, Box::new(client));
    let until = world.now() + wait;
    world.run_until(until);
    got.take()
}

fn ask(world: &mut World, request: &[u8]) -> Got {
    let got = ask_for(world, request, Duration::from_secs(20));
    assert!(got.ended && !got.failed, "{got:?}");
    got
}

#[test]
fn a_page_and_a_file_arrive_whole() {
    let mut world = World::new(&server(), 1).unwrap();
    let page = ask(&mut world, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        page.head().starts_with("HTTP/1.1 200 OK\r\n"),
        "{}",
        page.head()
    );
    let length = format!("Content-Length: {}", page.body().len());
    assert!(page.head().contains(&length), "{}", page.head());
    assert!(page.head().contains("Connection: close"));
    assert!(String::from_utf8_lossy(page.body()).contains("node-2"));

    let file = ask(&mut world, b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        file.head().contains("Content-Length: 51200"),
        "{}",
        file.head()
    );
    let mut expected = vec![0; 51_200];
    counting_lines(0, &mut expected);
    assert!(file.body() == expected);

    let head = ask(&mut world, b"HEAD /file HTTP/1.1\r\n\r\n");
    assert!(head.head().contains("Content-Length: 51200"));
    assert_eq!(head.body(), b"");
}

#[test]
fn what_cannot_be_served_is_answered_with_its_reason() {
    let mut world = World::new(&server(), 1).unwrap();
    let long = [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 3_000]].concat();
    let cases: [(&[u8], &str); 6] = [
        (b"GET /nothing HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"POST / HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        (b"GET / HTTP/3\r\n\r\n", "505 HTTP Version Not Supported"),
        (b"\x16\x03\x01\x02\x00\x01", "400 Bad Request"),
        (b"GET /\r\n\r\n", "400 Bad Request"),
        (&long, "431 Request Header Fields Too Large"),
    ];
    for (request, status) in cases {
        let got = ask(&mut world, request);
        assert!(
            got.head().starts_with(&format!("HTTP/1.1 {status}\r\n")),
            "{}",
            got.head()
        );
    }
}

#[test]
fn a_silent_client_is_given_up() {
    let mut world = World::new(&server(), 1).unwrap();
    let got = ask_for(&mut world, b"GET / HT", Duration::from_secs(50));
    assert!(!got.ended && !got.failed, "{got:?}");
    assert_eq!(world.node(1).unwrap().tcp_connections().count(), 1);
    run(&mut world, 70);
    assert_eq!(world.node(1).unwrap().tcp_connections().count(), 0);
}

#[test]
fn garbage_does_not_keep_the_server_from_serving() {
    let mut world = World::new(&server(), 1).unwrap();
    let mut rng = Rng::named(1, "garbage");
    for _ in 0..12 {
        let len = rng.below(4_000) as usize;
        let garbage: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
        ask_for(&mut world, &garbage, Duration::from_secs(70));
    }
    let page = ask(&mut world, b"GET / HTTP/1.1\r\n\r\n");
    assert!(page.head().starts_with("HTTP/1.1 200 OK"));
}
