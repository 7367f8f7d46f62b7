//! RFC 7413: TCP Fast Open, data on the SYN.

#![cfg(feature = "more-options")]

use redpoll_base::{Duration, Ecn, Instant};
use redpoll_tcp::{
    Answer, Config, Connection, Event, FastOpenCookie, FastOpenServer, FastOpenServers, HalfOpen,
    Header, IcmpKind, Incoming, IpMeta, IsnGenerator, Segment, SendRing, State, SynCache, Terms,
    Trouble,
};
use redpoll_testkit::{
    Host, ISS, LOCAL, REMOTE, RST_ACK, Record, SYN, SYN_ACK, from_peer, inward, recv, recv_nothing,
    send,
};
use redpoll_wire::tcp::Flags;
use redpoll_wire::tcp::OptionList;

const COOKIE: &[u8] = b"a cookie";
const REQUEST: &[u8] = b"";
/// RFC 3168 §6.1.1: an ECN-setup SYN.
const SETUP_SYN: Flags = SYN.with(Flags::ECE).with(Flags::CWR);
const MSS: u16 = 474;

fn cookie(bytes: &[u8]) -> FastOpenCookie {
    FastOpenCookie::new(bytes).unwrap()
}

fn config() -> Config {
    Config {
        mss: 1220,
        ..Config::default()
    }
}

/// Opens a connection with this cookie and `data` to send.
fn client(bytes: &[u8], mss: Option<u16>, data: &[u8]) -> Host {
    let mut t = Host::connect(&config(), 4096, 4096);
    assert!(t.conn.fast_open(&cookie(bytes), mss));
    t.write(data);
    t
}

/// Checks that the SYN has this option and `len` bytes of data.
#[track_caller]
fn expect_syn(t: &mut Host, option: Option<&[u8]>, len: usize) {
    let syn = recv!(t, flags SYN, seq 0, mss 1220, len len);
    assert_eq!(syn.fast_open(), option.map(cookie));
}

mod client {
    use super::*;

    /// RFC 7413 §4.2.1 and §4.1.1: an empty option requests a cookie, without data.
    #[test]
    fn asks_for_a_cookie_first() {
        let mut t = client(REQUEST, None, b"data");
        expect_syn(&mut t, Some(REQUEST), 0);
        send!(t, flags SYN_ACK, seq 0, ack 1, mss MSS, fo COOKIE);
        recv!(t, seq 1, ack 1, data b"data");
    }

    #[test]
    fn sends_no_fast_open_option_by_default() {
        let mut t = Host::connect(&config(), 4096, 4096);
        t.write(b"data");
        expect_syn(&mut t, None, 0);
        send!(t, flags SYN_ACK, seq 0, ack 1, mss MSS, fo COOKIE);
        recv!(t, seq 1, ack 1, data b"data");
        assert!(!t.conn.fast_open(&cookie(COOKIE), None));
    }

    /// RFC 7413 §4.2.2: the data are sent with the SYN, and acknowledged with it.
    #[test]
    fn sends_data_with_the_syn() {
        let mut t = client(COOKIE, Some(MSS), b"data");
        let syn = recv!(t, flags SYN, seq 0, mss 1220, data b"data");
        assert_eq!(syn.fast_open(), Some(cookie(COOKIE)));
        assert_eq!(t.conn.unacked(), 4);
        send!(t, flags SYN_ACK, seq 0, ack 5, mss MSS);
        assert_eq!(t.events(), [Event::Connected]);
        assert_eq!(t.conn.unacked(), 0);
        t.write(b"more");
        recv!(t, seq 5, ack 1, data b"more");
        send!(t, seq 1, ack 9, data b"answer");
        assert_eq!(t.read(9), b"answer");
        assert_eq!(t.conn.state(), State::Established);
    }

    /// RFC 3168 §6.1.1: "A host MUST NOT set ECT on SYN or SYN-ACK packets", even with data. The
    /// data count as sent, so the first segment after the handshake is the first with ECT.
    #[test]
    fn the_syn_with_data_is_not_ecn_capable() {
        let mut t = client(COOKIE, Some(MSS), b"data");
        let syn = recv!(t, flags SETUP_SYN, seq 0, mss 1220, data b"data");
        assert_eq!(syn.codepoint(), Ecn::NotEct);
        send!(t, flags SYN_ACK.with(Flags::ECE), seq 0, ack 5, mss MSS);
        t.write(b"more");
        let next = recv!(t, seq 5, ack 1, data b"more");
        assert_eq!(next.codepoint(), Ecn::Ect0);
    }

    /// RFC 7413 §4.2.2: the SYN has "data up to the cached server MSS" and all options.
    #[test]
    fn fills_the_syn_up_to_the_servers_mss() {
        for (mss, most) in [(Some(MSS), 474 - 40), (None, 1220 - 40)] {
            for (bytes, ts) in [(COOKIE, 2), (&[9; 16], 2)] {
                let mut t = client(bytes, mss, &[b'x'; 3000]);
                let syn = recv!(t, flags SYN, seq 0, mss 1220, len most);
                assert_eq!(syn.fast_open(), Some(cookie(bytes)));
                let acked = 1 + most as u32;
                send!(t, flags SYN_ACK, seq 0, ack acked, mss MSS, ts (ts, 0));
                let next = t.sent();
                assert_eq!(next[0].seq_number(), acked);
                assert_eq!(next[0].payload().len(), 474 - 12);
            }
        }
        // The link accepts fewer bytes than a segment has.
        let mut t = client(COOKIE, None, &[b'x'; 3000]);
        t.max_len = 200;
        expect_syn(&mut t, Some(COOKIE), 140);
    }

    /// RFC 7413 §4.2.2: data that the answer does not acknowledge are sent with the first ACK.
    #[test]
    fn resends_unacknowledged_syn_data_with_the_first_ack() {
        for taken in [0, 3, 10] {
            let mut t = client(COOKIE, Some(MSS), b"0123456789");
            expect_syn(&mut t, Some(COOKIE), 10);
            t.wait(100);
            send!(t, flags SYN_ACK, seq 0, ack 1 + taken, mss MSS, fo b"new one!");
            let rest = &b"0123456789"[taken as usize..];
            recv!(t, seq 1 + taken, ack 1, data rest);
            assert_eq!(t.conn.unacked(), rest.len());
            let stats = t.conn.stats();
            assert_eq!(stats.syn_bytes_refused, rest.len() as u32);
            assert_eq!(stats.bytes_sent, 10 + rest.len() as u32);
            assert_eq!(stats.retransmissions.total(), 0);
            // The SYN-ACK has measured the round trip; the next acknowledgment adds no measurement.
            t.wait(50);
            send!(t, seq 1, ack 11);
            assert_eq!(t.conn.info().rto, Duration::from_millis(300));
            assert_eq!(t.conn.unacked(), 0);
            recv_nothing!(t, until 9_000);
        }
    }

    /// RFC 7413 §4.2.2: "when the SYN timer fires, the client SHOULD retransmit a SYN packet
    /// without data and Fast Open options". The answer to the first SYN may still arrive.
    #[test]
    fn repeats_the_syn_without_data_and_option() {
        for acked in [1, 5] {
            let mut t = client(COOKIE, None, b"data");
            expect_syn(&mut t, Some(COOKIE), 4);
            t.run_until(1_000);
            expect_syn(&mut t, None, 0);
            t.run_until(3_000);
            expect_syn(&mut t, None, 0);
            send!(t, flags SYN_ACK, seq 0, ack acked, mss MSS);
            if acked == 1 {
                recv!(t, seq 1, ack 1, data b"data");
            } else {
                recv!(t, seq 5, ack 1);
            }
            send!(t, seq 1, ack 5);
            assert_eq!(t.conn.unacked(), 0);
            recv_nothing!(t, until 60_000);
        }
    }

    /// A SYN that the link has lost is retransmitted with the data: it never reached the network.
    #[test]
    fn retransmits_with_data_a_syn_that_the_link_lost() {
        let mut t = client(COOKIE, None, b"data");
        let desc = t.conn.poll_segment(t.now(), 1240).unwrap();
        t.conn.on_segment_lost(desc.token, t.now());
        t.run_until(1_100);
        t.sent();
        assert!(t.conn.state() == State::SynSent);
        let mut t = client(COOKIE, None, b"data");
        let desc = t.conn.poll_segment(t.now(), 1240).unwrap();
        // The link reads the SYN's data in pieces. Offset 0 is the first data byte, not the SYN.
        let mut out = [0; 3];
        assert_eq!(t.conn.read(desc.token, 0, &mut out), Ok(3));
        assert_eq!(&out, b"dat");
        assert_eq!(t.conn.read(desc.token, 3, &mut out), Ok(1));
        assert_eq!(out[0], b'a');
        assert_eq!(t.conn.read(desc.token, 4, &mut out), Ok(0));
    }

    /// RFC 9293 §3.10.7.3: an acknowledgment of data that were not sent is answered by a reset.
    #[test]
    fn resets_an_answer_that_acknowledges_too_much() {
        let mut t = client(COOKIE, None, b"data");
        expect_syn(&mut t, Some(COOKIE), 4);
        send!(t, flags SYN_ACK, seq 0, ack 6, mss MSS);
        recv!(t, flags redpoll_testkit::RST, seq 6);
        assert_eq!(t.conn.state(), State::SynSent);
    }

    /// RFC 7413 §4.2.2: in a simultaneous open the SYN with ACK has no data. The peer's data wait
    /// for ESTABLISHED (RFC 9293 §3.10.7.3).
    #[test]
    fn opens_at_once_with_a_peer_that_does() {
        let mut t = client(COOKIE, None, b"data");
        expect_syn(&mut t, Some(COOKIE), 4);
        send!(t, flags SYN, seq 0, mss MSS, fo b"theirs", data b"text");
        recv!(t, flags SYN_ACK, seq 0, ack 1, mss 1220);
        send!(t, flags SYN_ACK, seq 0, ack 1, mss MSS);
        recv!(t, seq 1, ack 5, data b"data");
        assert_eq!(t.conn.state(), State::Established);
        assert_eq!(t.read(9), b"text");
    }

    #[test]
    fn needs_room_for_the_cookie() {
        let mut t = Host::connect(&config(), 64, 7);
        assert!(!t.conn.fast_open(&cookie(COOKIE), None));
        expect_syn(&mut t, None, 0);
    }
}

mod servers {
    use super::*;

    type Servers = FastOpenServers<Vec<FastOpenServer>>;

    fn servers(entries: usize) -> Servers {
        FastOpenServers::new(vec![FastOpenServer::default(); entries])
    }

    /// Opens a connection to the server with data and the stored cookie. Returns `None` while Fast
    /// Open is suspended for the server.
    fn open(servers: &Servers, at: Instant) -> Option<Host> {
        let (cookie, mss) = servers.find(at, &REMOTE)?;
        let mut t = Host::connect(&config(), 4096, 4096);
        t.conn.fast_open(&cookie, mss);
        t.write(b"data");
        t.sent();
        Some(t)
    }

    fn answer(servers: &mut Servers, t: &mut Host, record: Record) {
        let bytes = from_peer(&record);
        let seg = Segment::parse(&inward(), &bytes).unwrap();
        let now = t.now();
        servers.watch(now, &mut t.conn, Some(&seg), |c| {
            c.input(now, &inward(), &seg);
        });
    }

    fn syn_ack(ack: u32) -> Record {
        Record::new().flags(SYN_ACK).ack(ack).mss(MSS)
    }

    const START: Instant = Instant::from_millis(1_000);

    /// RFC 7413 §4.1.3 and §4.2.1: a request, the answer, a Fast Open.
    #[test]
    fn remember_cookie_and_mss() {
        let mut known = servers(2);
        assert_eq!(
            known.find(START, &REMOTE),
            Some((FastOpenCookie::REQUEST, None))
        );
        let mut t = open(&known, START).unwrap();
        answer(&mut known, &mut t, syn_ack(1).fo(COOKIE));
        assert_eq!(t.conn.state(), State::Established);
        let kept = Some((cookie(COOKIE), Some(MSS)));
        assert_eq!(known.find(START, &REMOTE), kept);
        // An answer that accepts the data and has an empty option does not change the cookie.
        let mut t = open(&known, START).unwrap();
        answer(&mut known, &mut t, syn_ack(5).fo(REQUEST));
        assert_eq!(known.find(START, &REMOTE), kept);
        let mut t = open(&known, START).unwrap();
        answer(&mut known, &mut t, syn_ack(1).fo(b"new one!").mss(400));
        let new = Some((cookie(b"new one!"), Some(400)));
        assert_eq!(known.find(START, &REMOTE), new);
    }

    /// RFC 7413 §4.1.3.1 and §4.2.1: some answers, or no answer, end the use of Fast Open for a
    /// time.
    #[test]
    fn remember_refusals_for_a_while() {
        for with_cookie in [false, true] {
            let mut known = servers(2);
            if with_cookie {
                let mut t = open(&known, START).unwrap();
                answer(&mut known, &mut t, syn_ack(1).fo(COOKIE));
            }
            type Trouble = fn(&mut Servers, &mut Host);
            let troubles: [(Trouble, State); 4] = [
                (|s, t| answer(s, t, syn_ack(1)), State::Established),
                (
                    |s, t| {
                        t.skip_to(999);
                        let later = Instant::from_millis(2_000);
                        s.watch(later, &mut t.conn, None, |c| c.on_timeout(later));
                    },
                    State::SynSent,
                ),
                (
                    |s, t| {
                        let now = t.now();
                        s.watch(now, &mut t.conn, None, |c| {
                            c.on_icmp(now, IcmpKind::Prohibited, ISS);
                        });
                    },
                    State::Closed,
                ),
                (
                    |s, t| answer(s, t, Record::new().flags(RST_ACK).ack(1)),
                    State::Closed,
                ),
            ];
            for (trouble, state) in troubles {
                let mut now = START;
                let mut t = open(&known, now).unwrap();
                trouble(&mut known, &mut t);
                assert_eq!(t.conn.state(), state);
                assert_eq!(known.find(t.now(), &REMOTE), None);
                now = t.now() + Duration::from_secs(3_597);
                assert_eq!(known.find(now, &REMOTE), None);
                // Another port of the server may work.
                let port = redpoll_tcp::Endpoint { port: 81, ..REMOTE };
                assert!(known.find(now, &port).is_some());
                now += Duration::from_secs(6);
                let again = Some(FastOpenCookie::REQUEST);
                assert_eq!(known.find(now, &REMOTE).map(|(cookie, _)| cookie), again);
                if with_cookie {
                    let mut t = open(&known, now).unwrap();
                    answer(&mut known, &mut t, syn_ack(1).fo(COOKIE));
                }
                known = servers(2);
            }
        }
    }

    /// An answer to the first SYN that was late and not lost ends the suspension of Fast Open.
    #[test]
    fn forget_the_failure_of_a_slow_server() {
        let mut known = servers(1);
        let mut t = open(&known, START).unwrap();
        t.skip_to(999);
        let later = Instant::from_millis(2_000);
        known.watch(later, &mut t.conn, None, |c| c.on_timeout(later));
        assert_eq!(known.find(later, &REMOTE), None);
        answer(&mut known, &mut t, syn_ack(1).fo(COOKIE));
        assert!(known.find(later, &REMOTE).is_some());
    }

    /// Segments that are not an answer have no effect, nor has an abort of our own.
    #[test]
    fn learn_from_answers_alone() {
        let mut known = servers(1);
        let mut t = open(&known, START).unwrap();
        answer(&mut known, &mut t, syn_ack(9).fo(COOKIE));
        answer(&mut known, &mut t, Record::new().ack(1).fo(COOKIE));
        assert_eq!(t.conn.state(), State::SynSent);
        t.conn.on_icmp(t.now(), IcmpKind::NoRoute, ISS);
        assert_eq!(t.events(), [Event::Trouble(Trouble::Icmp)]);
        known.watch(START, &mut t.conn, None, |c| c.abort(START));
        let nothing = Some((FastOpenCookie::REQUEST, None));
        assert_eq!(known.find(START, &REMOTE), nothing);
    }

    #[test]
    fn the_longest_known_makes_room() {
        let mut known = servers(2);
        assert_eq!(servers(0).find(START, &REMOTE), None);
        let at = |port| redpoll_tcp::Endpoint { port, ..REMOTE };
        for port in [1, 2, 3] {
            let (config, iss) = (config(), ISS);
            let buffer = || vec![0; 64];
            let mut conn = Connection::connect(
                START,
                &config,
                LOCAL,
                at(port),
                iss,
                SendRing::new(buffer()),
                buffer(),
            );
            conn.fast_open(&FastOpenCookie::REQUEST, None);
            let icmp = IcmpKind::Prohibited;
            let desc = conn.poll_segment(START, 1240).unwrap();
            conn.on_segment_sent(desc.token, START);
            known.watch(START, &mut conn, None, |c| c.on_icmp(START, icmp, iss));
        }
        assert!(known.find(START, &at(1)).is_some());
        for port in [2, 3] {
            assert_eq!(known.find(START, &at(port)), None);
        }
    }
}

mod server {
    use super::*;

    struct Node {
        cache: SynCache<Vec<HalfOpen>>,
        isn: IsnGenerator,
        config: Config,
        now: Instant,
        fast_open: bool,
    }

    impl Node {
        fn new(entries: usize) -> Node {
            Node {
                cache: SynCache::new(vec![HalfOpen::default(); entries]),
                isn: IsnGenerator::new(*b"sixteen secrets!"),
                config: Config::default(),
                now: Instant::from_millis(100_000),
                fast_open: true,
            }
        }

        fn input(&mut self, meta: &IpMeta, record: &Record) -> Answer {
            let terms = Terms {
                config: &self.config,
                isn: &self.isn,
                window: 1_848,
                fast_open: self.fast_open,
            };
            let bytes = match meta.src {
                src if src == REMOTE.addr => from_peer(record),
                src => record.encode_between(&redpoll_tcp::Endpoint::new(src, 80), &LOCAL),
            };
            let seg = Segment::parse(meta, &bytes).unwrap();
            let incoming = Incoming {
                now: self.now,
                local: 0,
                meta,
                seg: &seg,
            };
            self.cache.input(&terms, &incoming)
        }

        fn ask(&mut self, record: &Record) -> Option<FastOpenCookie> {
            match self.input(&inward(), record) {
                Answer::Reply(header) | Answer::Cookie(header) => {
                    let option = read(&header);
                    self.cache.forget(LOCAL.port);
                    option
                }
                other => panic!("{other:?}"),
            }
        }

        fn opens(&mut self, meta: &IpMeta, record: &Record) -> bool {
            matches!(self.input(meta, record), Answer::Open(_))
        }
    }

    fn read(header: &Header) -> Option<FastOpenCookie> {
        let seg = Segment::parse(&redpoll_testkit::outward(), header.as_bytes()).unwrap();
        assert_eq!(seg.flags, SYN_ACK);
        seg.options.fast_open().copied()
    }

    fn request() -> Record {
        Record::new().flags(SYN).mss(MSS).fo(REQUEST)
    }

    fn with(cookie: &FastOpenCookie) -> Record {
        request().fo(cookie.as_bytes()).data(b"data")
    }

    /// RFC 7413 §4.2.1 and §4.2.2: a request without a valid cookie gets a cookie; a request with a
    /// valid cookie opens a connection.
    #[test]
    fn gives_cookies_and_takes_them() {
        // The same applies if the answers are SYN cookies.
        for entries in [0, 2] {
            let mut node = Node::new(entries);
            let mine = node.ask(&request()).expect("a cookie");
            assert_eq!(mine.as_bytes().len(), 8);
            for bad in [&b"a cookie"[..], &mine.as_bytes()[..6], &[0; 16]] {
                let new = node.ask(&with(&cookie(bad)));
                assert_eq!(new, Some(mine), "a valid one instead of a bad one");
            }
            assert!(node.opens(&inward(), &with(&mine)));
            assert!(
                node.opens(&inward(), &with(&mine).data(b"")),
                "§4.2.2, step 3: the cookie counts, not the data"
            );
            // RFC 7413 §4.1.1: a client gets no cookie without a request.
            assert_eq!(node.ask(&Record::new().flags(SYN).mss(MSS)), None);
        }
    }

    /// RFC 7413 §4.1.2: the cookie is valid for one address, one server, and a limited time.
    #[test]
    fn accepts_a_cookie_only_from_its_address() {
        let mut node = Node::new(2);
        let mine = node.ask(&request()).unwrap();
        let other = IpMeta {
            src: redpoll_base::Addr([0x0c; 16]),
            ..inward()
        };
        assert!(!node.opens(&other, &with(&mine)));
        node.cache.forget(LOCAL.port);
        node.now += Duration::from_secs(2 * 68_720);
        assert!(!node.opens(&inward(), &with(&mine)));
        node.cache.forget(LOCAL.port);
        let new = node.ask(&with(&mine)).unwrap();
        assert!(new != mine && node.opens(&inward(), &with(&new)));
    }

    /// RFC 7413 §4.2: "When this flag is off, the server ... MUST ignore all cookie options."
    #[test]
    fn ignores_fast_open_when_it_is_off() {
        let mut node = Node::new(2);
        let mine = node.ask(&request()).unwrap();
        node.fast_open = false;
        assert_eq!(node.ask(&request()), None);
        assert_eq!(node.ask(&with(&mine)), None);
    }

    /// RFC 7413 §4.1.1: an option of an invalid length is ignored.
    #[test]
    fn ignores_options_of_bad_length() {
        for len in [3usize, 4, 5, 7, 19, 20] {
            let mut bytes = [7u8; 20];
            (bytes[0], bytes[1]) = (34, len as u8);
            let options = redpoll_tcp::Options::parse(OptionList(&bytes[..len]));
            assert_eq!(options, redpoll_tcp::Options::default(), "{len}");
        }
    }

    /// RFC 7413 §4.2.2: "If the SYN-ACK timer fires, the server SHOULD retransmit a SYN-ACK segment
    /// with neither data nor Fast Open options".
    #[test]
    fn repeats_its_answer_without_the_cookie() {
        let mut node = Node::new(1);
        let Answer::Reply(first) = node.input(&inward(), &request()) else {
            panic!("no answer")
        };
        assert!(read(&first).is_some());
        node.now += Duration::from_secs(1);
        node.cache.on_timeout(node.now, &node.config);
        let terms = Terms {
            config: &node.config,
            isn: &node.isn,
            window: 1_848,
            fast_open: true,
        };
        let again = node
            .cache
            .poll_segment(node.now, &terms, |_, _| Some(LOCAL.addr));
        assert_eq!(read(&again.unwrap().header), None);
    }

    /// Accepts a Fast Open at the server; the SYN with ACK is not sent yet.
    fn opened(rx: usize, data: &[u8]) -> Host {
        let syn = request().fo(COOKIE).data(data);
        let mut t = Host::accept(&config(), 4096, rx, syn.clone());
        let bytes = from_peer(&syn);
        t.conn
            .take_syn_data(&Segment::parse(&inward(), &bytes).unwrap());
        t
    }

    /// RFC 7413 §4.2.2: the data are available at once, and acknowledged with the SYN. §5.2: the
    /// application's answer waits for the end of the handshake.
    #[test]
    fn has_the_data_before_the_handshake_is_complete() {
        let mut t = opened(1024, b"data");
        assert_eq!(t.events(), [Event::Connected, Event::Readable]);
        assert_eq!(t.read(9), b"data");
        t.write(b"answer");
        let syn_ack = recv!(t, flags SYN_ACK, seq 0, ack 5, mss 1220);
        assert_eq!(syn_ack.fast_open(), None);
        recv_nothing!(t, until 900);
        send!(t, seq 5, ack 1, data b"more");
        assert_eq!(t.conn.state(), State::Established);
        assert_eq!(t.events(), [Event::Readable], "connected only once");
        recv!(t, seq 1, ack 9, data b"answer");
        assert_eq!(t.read(9), b"more");
    }

    /// The peer repeats the SYN, with the data or, as it should, without.
    #[test]
    fn answers_a_repeated_syn_as_before() {
        for data in [&b"data"[..], b""] {
            let mut t = opened(1024, b"data");
            recv!(t, flags SYN_ACK, seq 0, ack 5, mss 1220);
            send!(t, flags SYN, seq 0, mss MSS, data data);
            recv!(t, flags SYN_ACK, seq 0, ack 5, mss 1220);
            assert_eq!(t.read(99), b"data", "once");
            t.run_until(1_000);
            recv!(t, flags SYN_ACK, seq 0, ack 5, mss 1220);
            send!(t, seq 5, ack 1);
            assert_eq!(t.conn.state(), State::Established);
        }
    }

    #[test]
    fn takes_no_more_than_it_has_room_for() {
        let mut t = opened(6, b"0123456789");
        recv!(t, flags SYN_ACK, seq 0, ack 7, win 0, mss 1220);
        assert_eq!(t.read(99), b"012345");
        // The data are read before the end of the handshake: the window must not stay closed.
        send!(t, seq 7, ack 1);
        recv!(t, seq 1, ack 7, win 6);
        send!(t, seq 7, ack 1, data b"6789");
        assert_eq!(t.read(99), b"6789");
    }

    #[test]
    fn ends_when_the_peer_resets_or_never_answers() {
        let mut t = opened(1024, b"data");
        t.sent();
        t.events();
        send!(t, flags RST_ACK, seq 5, ack 1);
        assert!(t.conn.is_closed());
        let mut t = opened(1024, b"data");
        t.run_until(600_000);
        assert!(t.conn.is_closed());
        assert_eq!(t.conn.recv_queue(), 0);
    }
}
