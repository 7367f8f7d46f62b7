//! RFC 4987: the cost of half-open connections, and SYN cookies.

use redpoll_base::{Duration, Instant};
use redpoll_tcp::{
    Answer, Config, Connection, Cookies, EcnUse, Endpoint, Fields, HalfOpen, Handshake, Header,
    Incoming, IsnGenerator, Options, Overflow, Segment, SendRing, SeqNum, State, SynCache, Terms,
};
use redpoll_testkit::{ISS, LOCAL, REMOTE, RST, Record, SYN, from_peer, inward, outward};
use redpoll_wire::tcp::Flags;

const ECN_SYN: Flags = SYN.with(Flags::ECE).with(Flags::CWR);
const BUFFER: usize = 1_848;

struct Node<O = Cookies> {
    cache: SynCache<Vec<HalfOpen>, O>,
    config: Config,
    isn: IsnGenerator,
    now: Instant,
}

struct SynAck {
    /// Acknowledgment number for the peer's next segment, relative to the ISS as in a `Record`.
    ack: u32,
    flags: Flags,
    options: Options,
}

impl Node {
    fn new(entries: usize) -> Node {
        Node::of(entries)
    }
}

impl<O: Overflow> Node<O> {
    fn of(entries: usize) -> Node<O> {
        Node {
            cache: SynCache::with_overflow(vec![HalfOpen::default(); entries]),
            config: Config::default(),
            isn: IsnGenerator::new(*b"sixteen secrets!"),
            now: Instant::from_millis(100_000_123),
        }
    }

    fn input(&mut self, record: &Record) -> Answer {
        self.take(&from_peer(record))
    }

    fn take(&mut self, bytes: &[u8]) -> Answer {
        let terms = terms(&self.config, &self.isn);
        let seg = Segment::parse(&inward(), bytes).unwrap();
        let incoming = Incoming {
            now: self.now,
            local: 0,
            meta: &inward(),
            seg: &seg,
        };
        self.cache.input(&terms, &incoming)
    }

    fn another(&mut self, flags: Flags, seq: u32) -> Answer {
        let fields = Fields {
            seq: SeqNum(seq),
            flags,
            ..Fields::default()
        };
        let remote = Endpoint { port: 9, ..REMOTE };
        let header = Header::encode(&fields, &remote, &LOCAL, [&[], &[]]);
        self.take(header.as_bytes())
    }

    /// Delivers a SYN of the peer from the port 1000 + `port`.
    fn another_from(&mut self, port: u16) -> Answer {
        let fields = Fields {
            flags: Flags::SYN,
            ..Fields::default()
        };
        let remote = Endpoint {
            port: 1_000 + port,
            ..REMOTE
        };
        let header = Header::encode(&fields, &remote, &LOCAL, [&[], &[]]);
        self.take(header.as_bytes())
    }

    fn ask(&mut self, syn: &Record, by_cookie: bool) -> SynAck {
        match self.input(syn) {
            Answer::Cookie(header) if by_cookie => read(&header),
            Answer::Reply(header) if !by_cookie => read(&header),
            other => panic!("{other:?}"),
        }
    }

    fn complete(&mut self, ack: &Record) -> Option<Handshake> {
        match self.input(ack) {
            Answer::Complete(handshake) => Some(handshake),
            _ => None,
        }
    }

    fn connection(&self, handshake: &Handshake, ack: &Record) -> Connection<Vec<u8>> {
        let buffer = || vec![0; BUFFER];
        let (now, config) = (self.now, &self.config);
        let mut connection =
            Connection::complete(now, config, handshake, SendRing::new(buffer()), buffer());
        let bytes = from_peer(ack);
        connection.input(now, &inward(), &Segment::parse(&inward(), &bytes).unwrap());
        connection
    }
}

fn terms<'t>(config: &'t Config, isn: &'t IsnGenerator) -> Terms<'t> {
    Terms {
        config,
        isn,
        window: BUFFER as u16,
        fast_open: false,
    }
}

fn read(header: &Header) -> SynAck {
    let seg = Segment::parse(&outward(), header.as_bytes()).unwrap();
    assert_eq!(seg.window, BUFFER as u16);
    SynAck {
        ack: seg.seq.0.wrapping_sub(ISS.0).wrapping_add(1),
        flags: seg.flags,
        options: seg.options,
    }
}

/// Makes a request that offers all options.
fn rich() -> Record {
    Record::new()
        .flags(ECN_SYN)
        .mss(474)
        .ts((7, 0))
        .sack_ok(true)
}

#[test]
fn a_table_longer_than_an_index_can_say() {
    for (entries, usable) in [(254, 254), (255, 255), (256, 255), (300, 255)] {
        let mut node = Node::new(entries);
        for _ in 0..usable {
            let free = node.cache.len();
            node.another_from(free as u16);
        }
        assert_eq!(node.cache.len(), usable, "{entries}");
        assert!(
            matches!(node.another_from(999), Answer::Cookie(_)),
            "{entries}"
        );
    }
}

/// RFC 4987 §3.5 and §3.6: the connection is the same, whether an entry or a cookie stored its
/// state.
#[test]
fn a_connection_by_cookie_is_as_good_as_one_from_the_cache() {
    for (entries, by_cookie) in [(1, false), (0, true)] {
        let mut node = Node::new(entries);
        let answer = node.ask(&rich(), by_cookie);
        assert!(answer.flags.contains(Flags::ECE), "ECN");
        assert!(answer.options.sack_permitted);
        let clock = answer.options.timestamps.unwrap();
        assert_eq!(clock.echo, 7);
        let offset = node.isn.timestamp_offset(&LOCAL, &REMOTE);
        let exact = node.now.millis_wrapping().wrapping_add(offset);
        let late = exact.wrapping_sub(clock.value);
        assert!(late < 4, "the clock may be low by three");
        node.now += Duration::from_millis(300);
        let ack = Record::new()
            .seq(1)
            .ack(answer.ack)
            .ts((8, clock.value))
            .len(10);
        let handshake = node.complete(&ack).expect("the handshake is complete");
        assert_eq!(handshake.is_by_cookie(), by_cookie);
        assert_eq!(
            handshake.request.options().mss,
            Some(if by_cookie { 462 } else { 474 })
        );
        let mut connection = node.connection(&handshake, &ack);
        assert_eq!(connection.state(), State::Established);
        assert_eq!(connection.recv_queue(), 10);
        let rtt = connection.stats().last_rtt.as_millis();
        assert!((300..304).contains(&rtt), "{rtt}");
        connection.send(node.now, &[1; 2_000]).unwrap();
        let segment = connection.poll_segment(node.now, 1_240).unwrap();
        assert!(segment.ecn.is_capable());
        // The SACK option for a segment beyond a gap takes 12 bytes.
        let header_len = segment.header.as_bytes().len();
        let beyond = Record::new()
            .seq(21)
            .ack(answer.ack)
            .ts((9, clock.value))
            .len(5);
        let bytes = from_peer(&beyond);
        connection.input(
            node.now,
            &inward(),
            &Segment::parse(&inward(), &bytes).unwrap(),
        );
        let segment = connection.poll_segment(node.now, 1_240).unwrap();
        assert_eq!(segment.header.as_bytes().len(), header_len + 12);
    }
}

#[test]
fn options_of_a_cookie_connection_need_both_ends() {
    let plain = Record::new().flags(SYN).mss(1_000);
    for (syn, sack, all) in [
        (rich(), true, true),
        (rich(), false, false),
        (plain, true, false),
    ] {
        for (entries, by_cookie) in [(1, false), (0, true)] {
            let mut node = Node::new(entries);
            node.config.sack = sack;
            node.config.timestamps = sack;
            node.config.ecn = if sack { EcnUse::Asked } else { EcnUse::Off };
            let answer = node.ask(&syn, by_cookie);
            assert_eq!(answer.options.sack_permitted, all);
            assert_eq!(answer.options.timestamps.is_some(), all);
            assert_eq!(answer.flags.contains(Flags::ECE), all);
            assert_eq!(answer.options.mss, Some(1_220));
            let ack = Record::new().seq(1).ack(answer.ack);
            assert!(node.complete(&ack).is_some());
        }
    }
}

/// RFC 4987 §3.6: a cookie is valid only for one peer, its sequence numbers and a limited time.
#[test]
fn a_cookie_cannot_be_made_up() {
    let mut node = Node::new(0);
    let answer = node.ask(&rich(), true);
    let good = Record::new().seq(1).ack(answer.ack);
    assert!(node.complete(&good).is_some());
    assert!(node.complete(&good.clone().seq(2)).is_none(), "another ISN");
    // Three bits of the cookie encode the MSS. A peer that changes them affects only itself.
    let others = (0..32).filter(|bit| {
        let iss = answer.ack.wrapping_add(ISS.0).wrapping_sub(1) ^ 1 << bit;
        let ack = iss.wrapping_sub(ISS.0).wrapping_add(1);
        node.complete(&good.clone().ack(ack)).is_some()
    });
    assert_eq!(others.collect::<Vec<_>>(), [0, 1, 2]);
    node.isn = IsnGenerator::new(*b"another secret!!");
    assert!(node.complete(&good).is_none());
    node.isn = IsnGenerator::new(*b"sixteen secrets!");
    for (seconds, is_good) in [(66, true), (69, false)] {
        node.now += Duration::from_secs(seconds);
        assert_eq!(
            node.complete(&good).is_some(),
            is_good,
            "after {seconds} s more"
        );
    }
}

/// RFC 9293 §3.10.7.2: a reset answers an ACK in LISTEN. While cookies are in use, the ACK is
/// dropped: the peer's first segment, with the cookie, may have been lost.
#[test]
fn unexpected_acks_are_reset_unless_cookies_are_in_use() {
    let mut node = Node::new(0);
    let stray = Record::new().seq(5).ack(9);
    assert!(matches!(node.input(&stray), Answer::Reset(header) if is_reset(&header)));
    node.ask(&rich(), true);
    assert!(matches!(node.input(&stray), Answer::Drop));
    assert!(matches!(
        node.input(&stray.clone().flags(RST)),
        Answer::Drop
    ));
    node.now += Duration::from_secs(140);
    assert!(matches!(node.input(&stray), Answer::Reset(header) if is_reset(&header)));
}

fn is_reset(header: &Header) -> bool {
    let seg = Segment::parse(&outward(), header.as_bytes()).unwrap();
    seg.flags.rst()
}

/// The table is full at the first SYN, which a cookie answers, and has a free entry at the second.
/// The peer acknowledges the cookie.
#[test]
fn a_cookie_is_good_beside_an_entry() {
    let mut node = Node::new(1);
    assert!(matches!(node.another(SYN, 0), Answer::Reply(_)));
    let cookie = node.ask(&rich(), true);
    node.another(RST, 1);
    node.now += Duration::from_secs(1);
    let entry = node.ask(&rich(), false);
    assert_ne!(cookie.ack, entry.ack);
    let handshake = node.complete(&Record::new().seq(1).ack(cookie.ack));
    node.cache
        .remove(&handshake.expect("the handshake is complete"));
    assert!(node.cache.is_empty(), "the entry went with it");
    assert_eq!(node.cache.poll_at(), None);
}

#[test]
fn a_cookie_is_good_for_one_connection() {
    let mut node = Node::new(0);
    let answer = node.ask(&rich(), true);
    let ack = Record::new().seq(1).ack(answer.ack).len(10);
    for _ in 0..2 {
        let handshake = node.complete(&ack).expect("the handshake is complete");
        node.connection(&handshake, &ack);
    }
    let handshake = node
        .complete(&ack)
        .expect("the handshake is kept until there is memory");
    node.cache.remove(&handshake);
    assert!(matches!(node.input(&ack), Answer::Reset(header) if is_reset(&header)));
}

enum NoCookies {}

impl Overflow for NoCookies {
    const COOKIES: bool = false;
}

/// RFC 4987 §3.4: without cookies, a request that finds the table full replaces the oldest one,
/// whose client is then reset.
#[test]
fn without_cookies_a_request_replaces_the_oldest_one() {
    let mut node = Node::<NoCookies>::of(3);
    let old = Record::new().flags(SYN).mss(100);
    let ack = |answer: SynAck| Record::new().seq(1).ack(answer.ack);
    let first = node.ask(&old, false);
    // The answer to the oldest request was repeated last, so its timeout is the latest one.
    for port in [1, 2] {
        node.now += Duration::from_millis(900);
        node.cache.on_timeout(node.now, &node.config);
        assert!(matches!(node.another_from(port), Answer::Reply(_)));
    }
    assert_eq!(node.cache.len(), 3);
    node.now += Duration::from_millis(100);
    assert!(matches!(node.another_from(3), Answer::Reply(_)));
    assert_eq!(node.cache.len(), 3);
    assert!(matches!(node.input(&ack(first)), Answer::Reset(header) if is_reset(&header)));
    // The newest request survives two further requests.
    let newest = node.ask(&old, false);
    for port in [4, 5] {
        assert!(matches!(node.another_from(port), Answer::Reply(_)));
    }
    assert!(node.complete(&ack(newest)).is_some());
}

/// Without cookies, a free entry is used before an occupied one, an unexpected ACK is answered by a
/// reset, and a table without entries answers no request.
#[test]
fn without_cookies_free_entries_come_first() {
    let mut node = Node::<NoCookies>::of(2);
    for port in [1, 2] {
        assert!(matches!(node.another_from(port), Answer::Reply(_)));
        assert_eq!(node.cache.len(), usize::from(port));
    }
    let answer = node.another(Flags::ACK, 7);
    assert!(matches!(answer, Answer::Reset(header) if is_reset(&header)));
    let mut empty = Node::<NoCookies>::of(0);
    assert!(matches!(empty.another_from(1), Answer::Drop));
}

/// RFC 6298 §5.5: the timeout doubles. The request is dropped after the third repetition.
#[test]
fn an_answer_is_repeated_at_growing_intervals_until_the_request_is_dropped() {
    let mut node = Node::new(1);
    let answer = node.ask(&rich(), false);
    let began = node.now;
    for (seconds, is_repeated) in [(1, true), (3, true), (7, true), (15, false)] {
        node.now = node.cache.poll_at().unwrap().at;
        assert_eq!(node.now.since(began), Duration::from_secs(seconds));
        let dropped = node.cache.on_timeout(node.now, &node.config);
        assert_eq!(dropped, u8::from(!is_repeated));
        let reach = |_: &_, _| Some(LOCAL.addr);
        let terms = terms(&node.config, &node.isn);
        let again = node.cache.poll_segment(node.now, &terms, reach);
        assert_eq!(again.is_some(), is_repeated);
        if let Some(again) = again {
            assert_eq!((again.src, again.dst), (LOCAL.addr, REMOTE.addr));
            assert_eq!(read(&again.header).ack, answer.ack);
        }
    }
    assert_eq!(node.cache.poll_at(), None);
}

/// RFC 5681 §3.1: the initial window is one segment if the answer to the SYN was repeated.
#[test]
fn a_repeated_answer_reduces_the_initial_window() {
    for (is_repeated, cwnd) in [(false, 400), (true, 100)] {
        let mut node = Node::new(1);
        let answer = node.ask(&Record::new().flags(SYN).mss(100), false);
        if is_repeated {
            node.now = node.cache.poll_at().unwrap().at;
            node.cache.on_timeout(node.now, &node.config);
        }
        let ack = Record::new().seq(1).ack(answer.ack);
        let handshake = node.complete(&ack).unwrap();
        let connection = node.connection(&handshake, &ack);
        assert_eq!(connection.state(), State::Established);
        assert_eq!(connection.info().cwnd, cwnd);
    }
}

/// RFC 4987 §3.5: an entry has at most 48 bytes.
#[test]
fn an_entry_is_small() {
    assert!(size_of::<HalfOpen>() <= 48, "{}", size_of::<HalfOpen>());
}

/// RFC 3168 §6.1.1: a repeated SYN without the flags disables ECN, and a later one with the flags
/// does not enable it again.
#[test]
fn a_syn_that_comes_again_without_the_flags_refuses_ecn() {
    let mut node = Node::new(1);
    let plain = Record::new().flags(SYN).mss(100);
    let setup = plain.clone().flags(ECN_SYN);
    assert!(node.ask(&setup, false).flags.contains(Flags::ECE));
    for syn in [plain, setup] {
        assert!(!node.ask(&syn, false).flags.contains(Flags::ECE));
    }
}

/// A SYN arrived twice, and the second one found a free entry; the peer continues with the first
/// answer, a cookie. If its first segment is lost, a reset must not answer the following segments.
#[test]
fn a_cookie_is_good_beside_an_entry_for_the_same_peer() {
    let mut node = Node::new(1);
    node.another(SYN, 5);
    let cookie = node.ask(&rich(), true);
    node.another(RST, 6);
    let other = node.ask(&rich(), false);
    assert_ne!(cookie.ack, other.ack);
    let later = Record::new().seq(201).ack(cookie.ack).ts((9, 0)).len(200);
    assert!(matches!(node.input(&later), Answer::Drop));
    let first = Record::new().seq(1).ack(cookie.ack).ts((9, 0)).len(200);
    let handshake = node.complete(&first).expect("the handshake is complete");
    node.cache.remove(&handshake);
    assert!(node.cache.is_empty());
}

/// RFC 5961 §3.2 and RFC 9293 §3.10.7.4, in SYN-RECEIVED: a reset exactly at RCV.NXT removes the
/// request, one elsewhere in the window is challenged, and one outside is dropped. RFC 5961 §7: the
/// number of challenges is limited.
#[test]
fn a_reset_in_the_window_of_a_request_is_challenged() {
    let mut node = Node::new(1);
    let ours = node.ask(&rich(), false).ack;
    let reset = |seq| Record::new().flags(RST).seq(seq);
    for outside in [0, BUFFER as u32 + 1, 1 << 31] {
        assert!(matches!(node.input(&reset(outside)), Answer::Drop));
    }
    for seq in [2, 100, BUFFER as u32] {
        let Answer::Reply(header) = node.input(&reset(seq)) else {
            panic!("{seq}: no challenge");
        };
        let answer = Segment::parse(&outward(), header.as_bytes()).unwrap();
        assert_eq!(answer.flags, Flags::ACK);
        assert_eq!(answer.ack, redpoll_testkit::IRS + 1);
        assert_eq!(answer.seq, ISS + ours);
        assert_eq!(answer.window, BUFFER as u16);
        // RFC 7323 §3.2: if both ends have offered timestamps, every segment has them.
        assert_eq!(answer.options.timestamps.unwrap().echo, 7);
    }
    let challenged = (0..100).filter(|_| matches!(node.input(&reset(9)), Answer::Reply(_)));
    assert_eq!(challenged.count(), 7, "ten in all");
    assert_eq!(node.cache.len(), 1);
    assert!(matches!(node.input(&reset(1)), Answer::Drop));
    assert!(node.cache.is_empty());
}
