//! Both ends of a line: a node with a [`LineRadio`], and a board's radio behind a [`LineServer`].

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use redpoll_base::{Addr, Instant};
use redpoll_mac::{Radio, RadioCaps, RadioEvent, RadioIdentity, RadioResult, RadioWork, RxInfo};
use redpoll_uart::{Answerer, Asker, AskerEvent, Begin, LineRadio, LineServer, Port, RequestEvent};

#[derive(Debug, Default)]
struct Wires {
    to_node: VecDeque<u8>,
    to_radio: VecDeque<u8>,
    restarts: u32,
}

#[derive(Clone, Debug, Default)]
struct Shared(Rc<RefCell<Wires>>);

impl Port for Shared {
    fn read(&mut self) -> Option<u8> {
        self.0.borrow_mut().to_node.pop_front()
    }

    fn write(&mut self, byte: u8) {
        self.0.borrow_mut().to_radio.push_back(byte);
    }

    fn restart(&mut self) {
        self.0.borrow_mut().restarts += 1;
    }
}

/// A radio whose events the test writes.
#[derive(Debug, Default)]
struct Board {
    now: Instant,
    identity: Option<RadioIdentity>,
    started: Vec<(RadioWork, Vec<u8>)>,
    until: Option<Instant>,
    event: Option<RadioEvent>,
    frame: Vec<u8>,
}

const CAPS: RadioCaps = RadioCaps {
    auto_ack: true,
    csma: false,
    retries: false,
    source_match: true,
};

#[derive(Clone, Debug)]
struct SharedBoard(Rc<RefCell<Board>>, Vec<u8>);

impl Radio for SharedBoard {
    fn caps(&self) -> RadioCaps {
        CAPS
    }

    fn set_identity(&mut self, identity: RadioIdentity) {
        self.0.borrow_mut().identity = Some(identity);
    }

    fn now(&self) -> Instant {
        self.0.borrow().now
    }

    fn start(&mut self, work: RadioWork, frame: &[u8]) {
        self.0.borrow_mut().started.push((work, frame.to_vec()));
    }

    fn poll_event(&mut self, _: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        let mut board = self.0.borrow_mut();
        board.until = until;
        self.1.clone_from(&board.frame);
        board.event.take().map_or(Poll::Pending, Poll::Ready)
    }

    fn frame(&self) -> &[u8] {
        &self.1
    }
}

fn begin() -> Begin {
    Begin {
        pan_id: 0x7270,
        short: 4,
        extended: [1, 2, 3, 4, 5, 6, 7, 8],
        caps: RadioCaps::default(),
        prefix: Addr([0xfd; 16]),
        parent: 3,
        secret: [9; 16],
        random: [1 << 40, 7],
        first_tag: 0x1234,
    }
}

struct Line {
    wires: Shared,
    board: Rc<RefCell<Board>>,
    server: LineServer<SharedBoard>,
    node: LineRadio<Shared>,
}

impl Line {
    fn new() -> Self {
        let (wires, board) = (Shared::default(), Rc::new(RefCell::new(Board::default())));
        board.borrow_mut().now = at(10);
        let node = LineRadio::new(wires.clone());
        let radio = SharedBoard(board.clone(), Vec::new());
        let put = |byte| wires.0.borrow_mut().to_node.push_back(byte);
        let server = LineServer::new(radio, begin(), 6, put);
        Line {
            server,
            node,
            board,
            wires,
        }
    }

    /// Returns a line whose node has begun, and waits for the next event.
    fn begun() -> Self {
        let mut line = Line::new();
        assert!(line.node.poll_begin().is_some());
        assert_eq!(line.wait(None), Poll::Pending);
        line.deliver();
        assert_eq!(line.wait(None), Poll::Pending);
        line.deliver();
        line
    }

    /// Passes the node's bytes to the server.
    fn deliver(&mut self) {
        let bytes = std::mem::take(&mut self.wires.0.borrow_mut().to_radio);
        let wires = self.wires.clone();
        for byte in bytes {
            let put = |byte| wires.0.borrow_mut().to_node.push_back(byte);
            self.server.input(byte, put);
        }
    }

    /// Makes the board's radio report an event; returns whether the server has sent it.
    fn happens(&mut self, event: RadioEvent) -> bool {
        self.board.borrow_mut().event = Some(event);
        self.serve()
    }

    fn serve(&mut self) -> bool {
        let wires = self.wires.clone();
        let put = |byte| wires.0.borrow_mut().to_node.push_back(byte);
        let mut cx = Context::from_waker(Waker::noop());
        self.server.poll(&mut cx, put).is_ready()
    }

    /// The node's call: answers the latest request, and polls for the next.
    fn wait(&mut self, until: Option<Instant>) -> Poll<RadioEvent> {
        let mut cx = Context::from_waker(Waker::noop());
        self.node.poll_event(&mut cx, until)
    }

    fn started(&self) -> Vec<(RadioWork, Vec<u8>)> {
        std::mem::take(&mut self.board.borrow_mut().started)
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

const DONE: RadioEvent = RadioEvent::Done(RadioResult::Sent);

#[test]
fn a_node_begins_with_the_abilities_and_the_clock_of_the_radio() {
    let mut line = Line::new();
    let identity = line.board.borrow().identity.unwrap();
    assert_eq!((identity.pan_id, identity.short), (0x7270, 4));
    assert_eq!(identity.extended, begin().extended);
    let expected = Begin {
        caps: CAPS,
        ..begin()
    };
    assert_eq!(line.node.poll_begin(), Some(expected));
    assert_eq!((line.node.caps(), line.node.now()), (CAPS, at(10)));
    // The radio's end waits for the answer before it reports an event.
    assert!(!line.happens(DONE));
    assert_eq!(line.wait(Some(at(70))), Poll::Pending);
    line.deliver();
    assert!(line.serve());
    assert_eq!(line.board.borrow().until, Some(at(70)));
    // The server has repeated its request after hello, and the node its answer.
    assert_eq!(line.wait(None), Poll::Ready(DONE));
}

#[test]
fn operations_arrive_in_their_order_and_events_with_their_time() {
    let mut line = Line::begun();
    assert!(!line.node.is_ready(), "no request waits");
    line.board.borrow_mut().now = at(20);
    assert!(line.happens(RadioEvent::Time));
    assert_eq!(line.wait(None), Poll::Ready(RadioEvent::Time));
    assert_eq!(line.node.now(), at(20));
    assert!(line.node.frame().is_empty());
    let (neighbour, pending) = (0x0102, true);
    let orders = [
        RadioWork::SourceMatch { neighbour, pending },
        RadioWork::Listen,
        RadioWork::Doze,
        RadioWork::Sleep,
        RadioWork::Transmit { cca: true },
        RadioWork::Transmit { cca: false },
    ];
    for work in orders {
        assert!(line.node.is_ready());
        line.node.start(work, b"ignored");
    }
    line.node.start(RadioWork::Load, b"frame");
    assert_eq!(line.wait(Some(at(90))), Poll::Pending);
    line.deliver();
    let mut expected: Vec<_> = orders.map(|work| (work, Vec::new())).into();
    expected.push((RadioWork::Load, b"frame".to_vec()));
    assert_eq!(line.started(), expected);
    line.board.borrow_mut().frame = b"received".to_vec();
    let info = RxInfo {
        rssi_dbm: -80,
        lqi: 9,
        ack_sent_pending: true,
    };
    assert!(line.happens(RadioEvent::Frame(info)));
    assert_eq!(line.board.borrow().until, Some(at(90)));
    assert_eq!(line.wait(None), Poll::Ready(RadioEvent::Frame(info)));
    assert_eq!(line.node.frame(), b"received");
    assert_eq!((line.node.lost(), line.node.damaged()), (0, 0));
}

#[test]
fn a_full_answer_asks_for_a_request_at_once() {
    let mut line = Line::begun();
    line.board.borrow_mut().now = at(30);
    assert!(line.happens(RadioEvent::Time));
    assert!(line.wait(None).is_ready());
    line.node.start(RadioWork::Load, &[1; 100]);
    assert!(!line.node.is_ready());
    line.node.start(RadioWork::Load, &[2; 100]);
    assert_eq!(line.node.lost(), 1);
    line.node.start(RadioWork::Listen, &[]);
    assert_eq!(line.wait(None), Poll::Pending);
    line.deliver();
    let frames: Vec<_> = line.started().into_iter().map(|(_, frame)| frame).collect();
    assert_eq!(frames, [vec![1; 100], vec![]]);
    assert!(line.happens(RadioEvent::Time));
    assert_eq!(line.board.borrow().until, Some(at(30)));
    // After an operation with a result, the node waits for the result.
    assert!(line.wait(None).is_ready());
    line.node.start(RadioWork::Load, &[1; 100]);
    assert_eq!(line.wait(None), Poll::Pending);
    line.deliver();
    assert!(line.happens(DONE));
    assert_eq!(line.board.borrow().until, None);
}

#[test]
fn a_damaged_request_is_repeated_and_a_repeated_one_answered_again() {
    let mut line = Line::begun();
    assert!(line.happens(DONE));
    let request: Vec<u8> = line.wires.0.borrow_mut().to_node.drain(..).collect();
    let mut damaged = request.clone();
    damaged[5] ^= 1;
    line.wires.0.borrow_mut().to_node.extend(damaged);
    assert_eq!(line.wait(None), Poll::Pending);
    assert_eq!(line.node.damaged(), 1);
    let wires = line.wires.clone();
    let repeat = |line: &mut Line| {
        let put = |byte| wires.0.borrow_mut().to_node.push_back(byte);
        line.server.repeat(put);
    };
    repeat(&mut line);
    assert_eq!(line.wires.0.borrow().to_node, request);
    assert_eq!(line.wait(None), Poll::Ready(DONE));
    line.node.start(RadioWork::Sleep, &[]);
    assert_eq!(line.wait(None), Poll::Pending);
    // The answer is lost, so the request is repeated; the node answers it without a new event.
    let answer = std::mem::take(&mut line.node.port_mut().0.borrow_mut().to_radio);
    repeat(&mut line);
    assert_eq!(line.wait(None), Poll::Pending);
    assert_eq!(line.wires.0.borrow().to_radio, answer);
    line.deliver();
    assert_eq!(line.started(), [(RadioWork::Sleep, Vec::new())]);
    // After the answer, nothing is repeated.
    repeat(&mut line);
    assert!(line.wires.0.borrow().to_node.is_empty());
}

#[test]
fn a_node_that_was_switched_off_begins_again() {
    let mut line = Line::begun();
    line.node = LineRadio::new(line.wires.clone());
    line.deliver();
    let again = line.node.poll_begin().unwrap();
    assert_eq!((again.short, again.caps), (4, CAPS));
    // Before Begin, a node answers each other request with "not begun".
    let mut line = Line::begun();
    line.node = LineRadio::new(line.wires.clone());
    line.wires.0.borrow_mut().to_radio.clear();
    assert!(line.happens(DONE));
    assert_eq!(line.node.poll_begin(), None);
    line.deliver();
    assert!(line.node.poll_begin().is_some());
}

#[test]
fn a_running_node_restarts_at_the_request_of_the_radios_end() {
    let mut line = Line::begun();
    let mut other = Asker::new(77);
    let wires = line.wires.clone();
    let put = |byte| wires.0.borrow_mut().to_node.push_back(byte);
    assert!(other.ask(at(40), RequestEvent::Begin(begin()), put));
    assert_eq!(line.wait(None), Poll::Pending);
    assert_eq!(line.wires.0.borrow().restarts, 1);
    // The radio of the old run has no further events.
    assert!(other.ask(at(50), RequestEvent::Time, put));
    assert_eq!(line.wait(None), Poll::Pending);
    assert_eq!(line.wires.0.borrow().restarts, 1);
}

#[test]
fn text_is_cut_to_one_message() {
    for (len, expected) in [(0, 0), (5, 5), (63, 63), (64, 63), (500, 63)] {
        let mut asker = Asker::new(0);
        let mut texts = Vec::new();
        Answerer::text(&[b'x'; 500][..len], |byte| {
            if let Some(AskerEvent::Text(text)) = asker.input(byte) {
                texts.push(text.to_vec());
            }
        });
        assert_eq!(texts, [vec![b'x'; expected]], "{len}");
    }
}

#[test]
fn an_abandoned_request_has_no_answer() {
    let mut asker = Asker::new(6);
    let mut sent = 0;
    assert!(asker.ask(at(1), RequestEvent::Time, |_| sent += 1));
    asker.give_up();
    assert!(!asker.waits());
    asker.repeat(|_| panic!("nothing to repeat"));
    let counters = asker.counters();
    assert_eq!((counters.asked, counters.repeated), (1, 0));
    assert!(sent > 11);
}
