//! The server as browsers use it, and as the pages of other sites could use it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use redpoll_sim::{Scenario, World};
use redpoll_web::message::Mode;
use redpoll_web::{Desk, Server};
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest as _;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket};

struct Show {
    world: World,
    desk: Desk,
    address: SocketAddr,
    token: String,
}

impl Show {
    fn new(scenario: &str) -> Show {
        let scenario = Scenario::load(scenario, &[]).unwrap();
        let world = World::new(&scenario, 1).unwrap();
        let server = Server::listen("127.0.0.1:0".parse().unwrap(), [7; 16]).unwrap();
        let (address, url) = (server.address(), server.url());
        let token = url.split_once('#').unwrap().1.to_owned();
        let desk = server.start(&world, Mode::Run).unwrap();
        Show {
            world,
            desk,
            address,
            token,
        }
    }

    /// Advances the world by `ms` of virtual time, in the same real time.
    fn run(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(10) {
            let until = self.world.now() + redpoll_base::Duration::from_millis(10);
            self.world.run_until(until);
            self.desk.turn(&mut self.world);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Makes the desk handle requests until `is_done`.
    fn until(&mut self, what: &str, mut is_done: impl FnMut(&Desk) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_done(&self.desk) {
            assert!(Instant::now() < deadline, "{what}");
            self.desk.turn(&mut self.world);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn connect(&self) -> Browser {
        let url = format!("ws://{}/live", self.address);
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let (socket, _) = tungstenite::client(url, stream).unwrap();
        Browser { socket }
    }

    fn status(&self, path: &str, headers: &str) -> u16 {
        self.response(path, headers).0
    }

    fn response(&self, path: &str, headers: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"
        )
        .unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        (text[9..12].parse().unwrap(), text)
    }
}

struct Browser {
    socket: WebSocket<TcpStream>,
}

impl Browser {
    fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next();
            if message["type"] == kind {
                return message;
            }
        }
    }

    fn say(&mut self, message: &Value) {
        self.socket
            .send(Message::text(message.to_string()))
            .unwrap();
    }
}

#[test]
fn the_page_is_there_and_loads_nothing_from_elsewhere() {
    let show = Show::new("pair");
    let host = format!("Host: {}\r\n", show.address);
    for path in ["/", "/live.js", "/live.css"] {
        let (status, text) = show.response(path, &host);
        assert_eq!(status, 200, "{path}");
        let text = text.to_ascii_lowercase();
        assert!(text.contains("default-src 'none'") && text.contains("frame-ancestors 'none'"));
    }
    assert_eq!(show.status("/../Cargo.toml", &host), 404);
    assert_eq!(show.status("/%2e%2e/%2e%2e/etc/passwd", &host), 404);
}

#[test]
fn a_name_that_was_rebound_to_this_computer_gets_nothing() {
    let show = Show::new("pair");
    let port = show.address.port();
    for path in ["/", "/live.js", "/live"] {
        for host in [
            "Host: evil.example\r\n".to_owned(),
            format!("Host: evil.example:{port}\r\n"),
            String::new(),
        ] {
            let status = show.status(path, &host);
            assert!(
                status == 403 || (host.is_empty() && status == 400),
                "{path} {host} {status}"
            );
        }
    }
    assert_eq!(
        show.status("/", &format!("Host: localhost:{port}\r\n")),
        200
    );
}

#[test]
fn a_page_of_another_origin_is_refused() {
    let show = Show::new("pair");
    let port = show.address.port();
    let try_from = |origin: &str| {
        let url = format!("ws://{}/live", show.address);
        let mut request = url.into_client_request().unwrap();
        let origin = HeaderValue::from_str(origin).unwrap();
        request.headers_mut().insert("origin", origin);
        let stream = TcpStream::connect(show.address).unwrap();
        tungstenite::client(request, stream).is_ok()
    };
    assert!(try_from(&format!("http://127.0.0.1:{port}")));
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1",
        "https://127.0.0.1",
    ] {
        assert!(!try_from(origin), "{origin}");
    }
}

#[test]
fn a_browser_sees_frames_segments_and_their_outcomes() {
    let mut show = Show::new("line-2");
    let mut browser = show.connect();
    let hello = browser.next_of("hello");
    assert_eq!(hello["nodes"].as_array().unwrap().len(), 3);
    assert_eq!(browser.next_of("scene")["links"], json!([[0, 1], [1, 2]]));
    browser.next_of("state");
    show.until("somebody looks", Desk::is_watched);
    show.run(1_000);
    let (mut frames, mut fates, mut segments) = (0, 0, 0);
    while segments < 5 {
        let changes = browser.next_of("changes");
        let count = |of: &str| changes[of].as_array().map_or(0, Vec::len);
        frames += count("frames");
        fates += count("fates");
        segments += count("segments");
    }
    assert!(frames > segments && fates > 0);
}

/// A page that has the greeting but no clock believes that a paused run goes on, and that it cannot
/// control it.
#[test]
fn a_browser_knows_the_clock_before_the_greeting() {
    let show = Show::new("line-2");
    let mut browser = show.connect();
    let clock = browser.next();
    assert_eq!(
        (&clock["type"], &clock["settable"]),
        (&json!("clock"), &json!(true))
    );
    assert_eq!(browser.next()["type"], "hello");
}

#[test]
fn only_with_the_token_can_anything_be_changed() {
    let mut show = Show::new("pair");
    let mut browser = show.connect();
    show.until("somebody looks", Desk::is_watched);
    for token in ["", "0", "07070707070707070707070707070708"] {
        browser.say(&json!({ "id": 1, "token": token, "ask": { "clock": "pause" } }));
        let answer = browser.next_of("answer");
        assert_eq!(answer["ok"], false, "{token}");
    }
    assert!(!show.desk.clock().paused);
    let token = show.token.clone();
    browser.say(&json!({ "id": 2, "token": token, "ask": { "clock": "pause" } }));
    show.until("the clock stands still", |desk| desk.clock().paused);
    let answer = browser.next_of("answer");
    assert_eq!((&answer["id"], &answer["ok"]), (&json!(2), &json!(true)));
    for nonsense in ["", "{", "[]", r#"{"id":1,"ask":{"mesh":{"run":"rm"}}}"#] {
        browser.socket.send(Message::text(nonsense)).unwrap();
        assert_eq!(browser.next_of("answer")["ok"], false);
    }
}

#[test]
fn layers_of_a_frame_are_described_and_invalid_requests_are_refused() {
    let show = Show::new("pair");
    let mut browser = show.connect();
    // An acknowledgement of the frame with sequence number 7.
    browser.say(&json!({ "id": 1, "ask": { "layers": ["020007"] } }));
    let answer = browser.next_of("answer");
    assert_eq!(answer["ok"], true);
    assert!(answer["text"].as_str().unwrap().contains("acknowledgement"));
    for frames in [
        json!([]),
        json!(["0"]),
        json!(["zz"]),
        json!(["00", "00", "00"]),
        json!(["00".repeat(200)]),
    ] {
        browser.say(&json!({ "id": 1, "ask": { "layers": frames } }));
        assert_eq!(browser.next_of("answer")["ok"], false);
    }
}

#[test]
fn a_slow_browser_gets_a_snapshot_and_delays_no_other() {
    let mut show = Show::new("line-3");
    let mut slow = show.connect();
    show.until("somebody looks", Desk::is_watched);
    let started = Instant::now();
    // Far more bytes than all buffers between server and browser hold; the browser reads none.
    for _ in 0..1_500 {
        let until = show.world.now() + redpoll_base::Duration::from_millis(200);
        show.world.run_until(until);
        show.desk.turn(&mut show.world);
        show.desk.publish_now(&mut show.world);
        std::thread::sleep(Duration::from_micros(300));
    }
    assert!(started.elapsed() < Duration::from_secs(60));
    slow.next_of("state");
    let mut changes = 0;
    loop {
        let message = slow.next();
        if message["type"] == "state" {
            break;
        }
        changes += u32::from(message["type"] == "changes");
    }
    assert!(changes < 1_500);
}

/// Checks more connections than allowed, all without a request: the page is available after the
/// server has closed the first ones, it closes all of them in the end, and an open page continues.
#[test]
fn silent_connections_are_closed_and_viewers_stay() {
    let mut show = Show::new("pair");
    let mut browser = show.connect();
    show.until("somebody looks", Desk::is_watched);
    let began = Instant::now();
    let silent: Vec<TcpStream> = (0..150)
        .map(|_| TcpStream::connect(show.address).unwrap())
        .collect();
    let mut half = TcpStream::connect(show.address).unwrap();
    half.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
    let host = format!("Host: {}\r\n", show.address);
    let answered = (0..10).any(|_| {
        let mut stream = TcpStream::connect(show.address).unwrap();
        let _ = write!(stream, "GET / HTTP/1.1\r\nConnection: close\r\n{host}\r\n");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).is_ok() && text.starts_with(b"HTTP/1.1 200")
    });
    assert!(answered, "after {:?}", began.elapsed());
    for mut stream in silent.into_iter().chain([half]) {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let mut text = Vec::new();
        // The connection was closed or reset; an incomplete request may get an error.
        let _ = stream.read_to_end(&mut text);
        assert!(!text.starts_with(b"HTTP/1.1 200"));
    }
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    browser.say(&json!({ "id": 1, "ask": { "layers": ["020007"] } }));
    assert_eq!(browser.next_of("answer")["ok"], true);
}
