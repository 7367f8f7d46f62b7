//! Congestion control from outside of the crate ([`GivenCongestion`]).

use std::sync::Mutex;

use redpoll_replay::{
    CongestionChoice, CongestionEvent, CongestionUpdate, CongestionWindow, GivenCongestion,
    OtherTcp,
};
use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, ms, send};

const MSS: u32 = 100;

/// A controller that always returns the same window, and records all events.
struct Says {
    answer: Option<CongestionWindow>,
    heard: Mutex<Vec<CongestionUpdate>>,
    begun: Mutex<Vec<u32>>,
    ended: Mutex<Vec<u32>>,
}

impl Says {
    const fn new(answer: Option<CongestionWindow>) -> Says {
        Says {
            answer,
            heard: Mutex::new(Vec::new()),
            begun: Mutex::new(Vec::new()),
            ended: Mutex::new(Vec::new()),
        }
    }

    fn events(&self) -> Vec<CongestionEvent> {
        let heard = self.heard.lock().unwrap();
        heard.iter().map(|update| update.event).collect()
    }
}

impl GivenCongestion for Says {
    fn begin(&self, place: u32) -> u32 {
        self.begun.lock().unwrap().push(place);
        7
    }

    fn on(&self, connection: u32, update: &CongestionUpdate) -> Option<CongestionWindow> {
        assert_eq!(connection, 7);
        self.heard.lock().unwrap().push(*update);
        self.answer
    }

    fn end(&self, connection: u32) {
        self.ended.lock().unwrap().push(connection);
    }
}

/// Returns a connection with segments of 100 bytes, a path of 100 ms and 60,000 bytes to send.
fn busy(congestion: CongestionChoice) -> Host<OtherTcp> {
    let config = Config {
        timestamps: false,
        mss: 462,
        min_rto: ms(1_000),
        ..Config::default()
    }
    .with_algorithms(OtherTcp {
        congestion,
        ..OtherTcp::default()
    });
    let answer = Record::new().mss(100).win(60_000).sack_ok(true);
    let mut t = Host::established_by(&config, answer, 100);
    t.write(&[b'x'; 3_000]);
    t
}

#[test]
fn a_given_window_applies_at_once_until_the_connection_ends() {
    static TWO: Says = Says::new(Some(CongestionWindow {
        cwnd: 2 * MSS,
        ssthresh: 3 * MSS,
    }));
    let mut t = busy(CongestionChoice::given(&TWO, 42));
    assert_eq!(*TWO.begun.lock().unwrap(), [42]);
    assert_eq!(TWO.events(), [CongestionEvent::Established]);
    assert_eq!(t.sent().len(), 2);
    assert_eq!((t.conn.info().cwnd, t.conn.info().ssthresh), (200, 300));
    t.wait(100);
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!((t.sent().len(), t.conn.info().cwnd), (2, 200));
    let update = *TWO.heard.lock().unwrap().last().unwrap();
    assert_eq!(
        (update.event, update.acked),
        (CongestionEvent::Acked { filled: true }, 200)
    );
    let usual = CongestionWindow {
        cwnd: 400,
        ssthresh: 300,
    };
    assert_eq!((update.usual, update.mss, update.flight), (usual, 100, 0));
    assert!(
        update.srtt_ms.is_some_and(|ms| (95..=110).contains(&ms)),
        "{update:?}"
    );
    drop(t);
    assert_eq!(*TWO.ended.lock().unwrap(), [7]);
}

/// The window of a controller is raised to one segment, because less blocks the connection.
#[test]
fn a_window_has_room_for_a_segment() {
    static NONE: Says = Says::new(Some(CongestionWindow {
        cwnd: 0,
        ssthresh: 0,
    }));
    static ALL: Says = Says::new(Some(CongestionWindow {
        cwnd: u32::MAX,
        ssthresh: u32::MAX,
    }));
    let t = busy(CongestionChoice::given(&NONE, 0));
    assert_eq!((t.conn.info().cwnd, t.conn.info().ssthresh), (MSS, MSS));
    let t = busy(CongestionChoice::given(&ALL, 0));
    assert_eq!(
        (t.conn.info().cwnd, t.conn.info().ssthresh),
        (65_535, 65_535)
    );
}

/// A controller that returns no window gets that of RFC 5681 and RFC 6582, and receives all events.
#[test]
fn without_an_answer_the_algorithm_is_new_reno() {
    static SILENT: Says = Says::new(None);
    let mut given = busy(CongestionChoice::given(&SILENT, 0));
    let mut own = busy(CongestionChoice::NewReno);
    for t in [&mut given, &mut own] {
        t.wait(100);
        send!(t, seq 1, ack 1, win 60_000, sack [(101, 401)]);
        t.wait(100);
        send!(t, seq 1, ack 401, win 60_000);
        t.wait(100);
        send!(t, seq 1, ack 501, win 60_000);
        t.wait(5_000);
    }
    let state = |t: &mut Host<OtherTcp>| {
        let windows = (t.conn.info().cwnd, t.conn.info().ssthresh);
        (windows, t.sent().len(), t.conn.stats().rtos)
    };
    assert_eq!(state(&mut given), state(&mut own));
    let events = SILENT.events();
    assert_eq!(
        events[..3],
        [
            CongestionEvent::Established,
            CongestionEvent::Loss,
            CongestionEvent::Recovered,
        ],
        "{events:?}"
    );
    assert!(
        events.contains(&CongestionEvent::Acked { filled: true }),
        "{events:?}"
    );
    let timeouts = events.iter().filter_map(|event| match event {
        CongestionEvent::Timeout { first } => Some(*first),
        _ => None,
    });
    let timeouts: Vec<bool> = timeouts.collect();
    assert_eq!(timeouts[..2], [true, false], "{events:?}");
}
