//! Freezing and restoring a connection: what the peer observes, and which errors occur.

use redpoll_base::{Addr, Duration, Instant};
use redpoll_tcp::{Config, Connection, Error, FreezeError, SendRing, SeqNum, State, ThawError};
use redpoll_testkit::{LOCAL, Link, Outcome, Pair, Plan, REMOTE, ms};

/// Bytes of a frozen connection in addition to its data.
const OVERHEAD: usize = 100;

/// Runs a transfer in which the first end is frozen repeatedly, and returns how often.
fn run(freeze: u32, sleep: Duration) -> u32 {
    let plan = |send| Plan {
        send,
        freeze,
        sleep,
        ..Plan::default()
    };
    let plans = [plan(30_000), plan(2_000)];
    let link = Link {
        loss: 20,
        ..Link::default()
    };
    let mut pair = Pair::new(3, &Config::default(), [link.clone(), link], plans);
    let report = pair.run(Duration::from_secs(10_000));
    assert_eq!(report.outcome, Outcome::Done, "{report:#?}");
    assert_eq!(report.read, [2_000, 30_000]);
    pair.freezes(0)
}

#[test]
fn a_transfer_survives_any_number_of_freezes() {
    let freezes = run(100, Duration::ZERO);
    assert!(freezes > 20, "{freezes}");
    let freezes = run(30, Duration::from_secs(5));
    assert!(freezes > 5, "{freezes}");
    assert_eq!(run(0, Duration::ZERO), 0);
}

struct Two {
    here: Connection<Vec<u8>>,
    there: Connection<Vec<u8>>,
    now: Instant,
}

/// Returns the next segment of a connection as its peer receives it, and its timestamp.
fn next(from: &mut Connection<Vec<u8>>, now: Instant) -> Option<(Vec<u8>, Option<u32>)> {
    let desc = from.poll_segment(now, 1_240)?;
    let mut bytes = desc.header.as_bytes().to_vec();
    let mut payload = vec![0; usize::from(desc.payload_len)];
    from.read(desc.token, 0, &mut payload).unwrap();
    from.on_segment_sent(desc.token, now);
    bytes.extend(payload);
    let meta = meta(LOCAL.addr, REMOTE.addr);
    let parsed = redpoll_tcp::Segment::parse(&meta, &bytes).ok();
    let value = parsed.and_then(|seg| Some(seg.options.timestamps?.value));
    Some((bytes, value))
}

fn meta(src: Addr, dst: Addr) -> redpoll_tcp::IpMeta {
    redpoll_tcp::IpMeta {
        src,
        dst,
        ecn: redpoll_base::Ecn::NotEct,
        hop_limit: 64,
    }
}

impl Two {
    fn new(config: &Config) -> Two {
        let now = Instant::from_millis(5_000);
        let buffer = || vec![0; 1_848];
        let iss = SeqNum(u32::MAX - 100);
        let mut here = Connection::connect(
            now,
            config,
            LOCAL,
            REMOTE,
            iss,
            SendRing::new(buffer()),
            buffer(),
        );
        let (syn, _) = next(&mut here, now).unwrap();
        let there = meta(LOCAL.addr, REMOTE.addr);
        let seg = redpoll_tcp::Segment::parse(&there, &syn).unwrap();
        let listener = redpoll_tcp::Listener::new(REMOTE);
        let redpoll_tcp::Action::Accept(request) = listener.input(&there, &seg) else {
            panic!("no request");
        };
        let iss = SeqNum(70);
        let there =
            Connection::accept(now, config, request, iss, SendRing::new(buffer()), buffer());
        let mut two = Two { here, there, now };
        two.settle();
        assert_eq!(two.here.state(), State::Established);
        two
    }

    fn settle(&mut self) {
        loop {
            let mut any = false;
            while let Some((bytes, _)) = next(&mut self.here, self.now) {
                self.give_there(&bytes);
                any = true;
            }
            while let Some((bytes, _)) = next(&mut self.there, self.now) {
                self.give_here(&bytes);
                any = true;
            }
            if !any {
                return;
            }
        }
    }

    fn pass(&mut self) {
        for _ in 0..50 {
            self.settle();
            self.now += ms(100);
            self.here.on_timeout(self.now);
            self.there.on_timeout(self.now);
        }
    }

    fn give_there(&mut self, bytes: &[u8]) {
        let meta = meta(LOCAL.addr, REMOTE.addr);
        let seg = redpoll_tcp::Segment::parse(&meta, bytes).unwrap();
        self.there.input(self.now, &meta, &seg);
    }

    fn give_here(&mut self, bytes: &[u8]) {
        let meta = meta(REMOTE.addr, LOCAL.addr);
        let seg = redpoll_tcp::Segment::parse(&meta, bytes).unwrap();
        self.here.input(self.now, &meta, &seg);
    }

    fn freeze(&mut self) -> Vec<u8> {
        let mut frozen = vec![0; self.here.frozen_len()];
        let len = self.here.freeze(self.now, &mut frozen).unwrap();
        assert_eq!(len, frozen.len());
        frozen
    }
}

fn thaw(
    now: Instant,
    config: &Config,
    slept: Duration,
    frozen: &[u8],
    room: usize,
) -> Result<Connection<Vec<u8>>, ThawError> {
    let mut bytes = frozen.to_vec();
    let made = Connection::thaw(now, config, slept, &mut bytes, vec![0; room], vec![0; room]);
    let again = Connection::<Vec<u8>>::frozen_ends(slept, &bytes).err();
    match &made {
        Ok(_) => assert_eq!(again, Some(ThawError::Spent)),
        Err(_) => assert_eq!(bytes, frozen, "as they were"),
    }
    made.map_err(|(error, tx, rx)| {
        assert_eq!((tx.len(), rx.len()), (room, room), "the buffers come back");
        error
    })
}

/// A sensor freezes its connection, loses its power and its clock, and continues. In the meantime
/// the peer has answered, and answers are lost.
#[test]
fn the_peer_does_not_notice() {
    let config = Config::default();
    let mut two = Two::new(&config);
    two.here.send(two.now, b"twenty-one").unwrap();
    two.pass();
    assert_eq!(two.here.frozen_len(), OVERHEAD);
    // The data are sent, and the acknowledgment is lost.
    two.here.send(two.now, b"twenty-two").unwrap();
    let (segment, Some(before)) = next(&mut two.here, two.now).unwrap() else {
        panic!("no timestamp");
    };
    two.give_there(&segment);
    let frozen = two.freeze();
    assert_eq!(frozen.len(), OVERHEAD + 10);
    while next(&mut two.there, two.now).is_some() {}

    two.now += Duration::from_secs(3_600);
    let own = Instant::from_millis(3);
    two.here = thaw(own, &config, Duration::from_secs(3_600), &frozen, 1_848).unwrap();
    assert_eq!(two.here.state(), State::Established);
    let (again, Some(after)) = next(&mut two.here, own).unwrap() else {
        panic!("no timestamp");
    };
    let passed = after.wrapping_sub(before);
    assert!((3_600_000..3_600_010).contains(&passed), "{passed} ms");
    two.give_there(&again);
    let (ack, _) = next(&mut two.there, two.now).unwrap();
    two.now = own;
    two.give_here(&ack);
    assert_eq!(two.here.unacked(), 0, "the peer had it already");
    let mut read = [0; 100];
    let len = two
        .there
        .recv(Instant::from_millis(3_605_000), &mut read)
        .unwrap();
    assert_eq!(&read[..len], b"twenty-onetwenty-two");
}

#[test]
fn unread_data_survives_a_freeze() {
    let config = Config::default();
    let mut two = Two::new(&config);
    two.there.send(two.now, &[7; 1_000]).unwrap();
    two.settle();
    let frozen = two.freeze();
    assert_eq!(frozen.len(), OVERHEAD + 1_000);
    two.here = thaw(two.now, &config, Duration::ZERO, &frozen, 1_848).unwrap();
    let mut read = [0; 1_100];
    assert_eq!(two.here.recv(two.now, &mut read), Ok(1_000));
    assert_eq!(read[..1_000], [7; 1_000]);
    two.there.send(two.now, &[8; 1_500]).unwrap();
    two.pass();
    let mut read = [0; 2_000];
    assert_eq!(two.here.recv(two.now, &mut read), Ok(1_500));
}

#[test]
fn damaged_short_and_foreign_bytes_are_refused() {
    let config = Config::default();
    let mut two = Two::new(&config);
    two.here.send(two.now, b"something").unwrap();
    let frozen = two.freeze();
    let again = |bytes: &[u8]| thaw(two.now, &config, Duration::ZERO, bytes, 1_848).err();
    assert_eq!(again(&frozen), None);
    for bit in 0..8 * frozen.len() {
        let mut damaged = frozen.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let expected = if bit < 8 {
            ThawError::Version
        } else {
            ThawError::Damaged
        };
        assert_eq!(again(&damaged), Some(expected), "bit {bit}");
    }
    for len in 0..frozen.len() {
        assert_eq!(
            again(&frozen[..len]),
            Some(ThawError::Damaged),
            "{len} bytes"
        );
    }
}

#[test]
fn data_frozen_beyond_the_user_timeout_is_refused() {
    let config = Config {
        user_timeout: Some(Duration::from_secs(300)),
        ..Config::default()
    };
    let mut two = Two::new(&config);
    let idle = two.freeze();
    let after = |frozen: &[u8], secs| {
        let slept = Duration::from_secs(secs);
        thaw(two.now, &config, slept, frozen, 1_848).err()
    };
    assert_eq!(after(&idle, 86_400), None);
    assert_eq!(after(&idle, 60 * 86_400), None, "nothing is outstanding");
    let mut two = Two::new(&config);
    two.here.send(two.now, b"out").unwrap();
    let _ = next(&mut two.here, two.now);
    let frozen = two.freeze();
    assert_eq!(after(&frozen, 300), None);
    assert_eq!(after(&frozen, 301), Some(ThawError::TooOld));
}

#[test]
fn smaller_buffers_are_refused() {
    let config = Config::default();
    let mut two = Two::new(&config);
    two.here.send(two.now, &[1; 500]).unwrap();
    let frozen = two.freeze();
    let into = |room| thaw(two.now, &config, Duration::ZERO, &frozen, room).err();
    assert_eq!(into(499), Some(ThawError::NoRoom));
    // The window announced to the peer was 1,848 bytes.
    assert_eq!(into(1_847), Some(ThawError::NoRoom));
    assert_eq!(into(1_848), None);
}

#[test]
fn only_synchronised_connections_are_frozen() {
    let (config, now) = (Config::default(), Instant::ZERO);
    let mut out = [0; 300];
    let iss = SeqNum(1);
    let mut opening = Connection::connect(
        now,
        &config,
        LOCAL,
        REMOTE,
        iss,
        SendRing::new(vec![0; 100]),
        vec![0; 100],
    );
    assert_eq!(opening.freeze(now, &mut out), Err(FreezeError::State));
    let mut two = Two::new(&config);
    let short = two.here.frozen_len() - 1;
    assert_eq!(
        two.here.freeze(two.now, &mut out[..short]),
        Err(FreezeError::NoRoom)
    );
    two.here.abort(two.now);
    assert_eq!(two.here.freeze(two.now, &mut out), Err(FreezeError::State));
}

/// RFC 7323 §5.5: a TS.Recent older than 24 days is invalid, however many times 24 days the
/// connection was frozen.
#[test]
fn ts_recent_expires_while_frozen() {
    let config = Config::default();
    for (awake, asleep) in [(25, 0), (2, 23), (0, 25), (23, 30), (1, 1)] {
        let mut two = Two::new(&config);
        two.here.send(two.now, b"x").unwrap();
        two.pass();
        two.now += Duration::from_secs(awake * 86_400);
        let frozen = two.freeze();
        let slept = Duration::from_secs(asleep * 86_400);
        two.now += slept;
        two.here = thaw(two.now, &config, slept, &frozen, 1_848).unwrap();
        two.there.send(two.now, b"hello").unwrap();
        two.pass();
        let answer = two.here.recv(two.now, &mut [0; 10]);
        assert_eq!(answer, Ok(5), "{awake} days awake, {asleep} asleep");
    }
}

/// RFC 5482: the timeout that the peer requested is not in the configuration, so the frozen bytes
/// contain it.
#[cfg(feature = "more-options")]
#[test]
fn negotiated_options_survive_a_freeze() {
    let option = redpoll_tcp::UserTimeoutOption {
        advertise: Duration::from_secs(7_200),
        most: Duration::from_secs(100_000),
    };
    let config = Config {
        user_timeout_option: Some(option),
        ..Config::default()
    };
    let mut two = Two::new(&config);
    two.here.send(two.now, b"x").unwrap();
    two.pass();
    let before = two.here.user_timeout();
    assert_eq!(before, Some(Duration::from_secs(7_200)));
    let frozen = two.freeze();
    two.here = thaw(two.now, &config, Duration::ZERO, &frozen, 1_848).unwrap();
    assert_eq!(two.here.user_timeout(), before);
}

/// Data wait behind a closed window. The peer opens the window, and the window update is lost.
#[test]
fn a_closed_window_is_probed_after_it() {
    let config = Config::default();
    let mut two = Two::new(&config);
    two.here.send(two.now, &[1; 1_848]).unwrap();
    (0..10).for_each(|_| two.pass());
    two.here.send(two.now, &[2; 700]).unwrap();
    two.pass();
    for closes in [false, true] {
        if closes {
            two.here.close(two.now);
            two.pass();
        }
        let frozen = two.freeze();
        two.here = thaw(two.now, &config, Duration::ZERO, &frozen, 1_848).unwrap();
        (0..30).for_each(|_| two.pass());
        assert!(two.here.poll_at().is_some());
    }
    let mut out = vec![0; 3_000];
    assert_eq!(two.there.recv(two.now, &mut out), Ok(1_848));
    while next(&mut two.there, two.now).is_some() {}
    (0..60).for_each(|_| two.pass());
    assert_eq!(two.there.recv(two.now, &mut out), Ok(700));
}

#[test]
fn a_peer_that_has_forgotten_it_resets_it() {
    let config = Config::default();
    let mut two = Two::new(&config);
    let frozen = two.freeze();
    two.here = thaw(two.now, &config, Duration::ZERO, &frozen, 1_848).unwrap();
    two.here.send(two.now, b"twenty-one").unwrap();
    let (segment, _) = next(&mut two.here, two.now).unwrap();
    let there = meta(LOCAL.addr, REMOTE.addr);
    let seg = redpoll_tcp::Segment::parse(&there, &segment).unwrap();
    let reset = redpoll_tcp::reset_reply(&there, &seg).unwrap();
    two.give_here(reset.as_bytes());
    assert_eq!(two.here.error(), Some(Error::Reset));
}

/// Restores an old copy of a connection that has sent `said` since; the copy sends `again`.
fn a_copy_after(config: &Config, said: &[u8], again: &[u8]) -> Two {
    let mut two = Two::new(config);
    two.here.send(two.now, b"first").unwrap();
    two.pass();
    let frozen = two.freeze();
    two.here = thaw(two.now, config, Duration::ZERO, &frozen, 1_848).unwrap();
    two.here.send(two.now, said).unwrap();
    two.pass();
    assert_eq!(two.here.unacked(), 0);
    two.now += Duration::from_secs(600);
    two.here = thaw(two.now, config, Duration::from_secs(605), &frozen, 1_848).unwrap();
    two.here.send(two.now, again).unwrap();
    two
}

/// A copy older than the peer's state: the first acknowledgment covers bytes that were never sent.
/// The connection cannot continue, and both ends learn this at once.
#[test]
fn a_copy_from_which_the_peer_has_moved_on_is_reset_at_once() {
    for timestamps in [true, false] {
        let config = Config {
            timestamps,
            ..Config::default()
        };
        let mut two = a_copy_after(&config, &[2; 100], b"short");
        let (segment, _) = next(&mut two.here, two.now).unwrap();
        two.give_there(&segment);
        let (ack, _) = next(&mut two.there, two.now).unwrap();
        two.give_here(&ack);
        assert_eq!(two.here.error(), Some(Error::Reset));
        let (reset, _) = next(&mut two.here, two.now).expect("the peer is told");
        two.give_there(&reset);
        assert_eq!(two.there.error(), Some(Error::Reset));
        assert!(next(&mut two.here, two.now).is_none(), "and no more");
    }
}

/// Once a segment of the peer has arrived, a challenge ACK (RFC 5961 §5.2) answers an invalid ACK,
/// as on a connection that was never frozen.
#[test]
fn after_a_received_segment_an_invalid_ack_is_challenged() {
    let config = Config::default();
    let mut two = Two::new(&config);
    let frozen = two.freeze();
    two.here = thaw(two.now, &config, Duration::ZERO, &frozen, 1_848).unwrap();
    two.here.send(two.now, b"heard").unwrap();
    two.pass();
    assert_eq!(two.here.unacked(), 0);
    // A copy sends bytes that the connection itself has not sent, and the peer acknowledges these
    // bytes.
    let before = two.freeze();
    let mut copy = thaw(two.now, &config, Duration::ZERO, &before, 1_848).unwrap();
    copy.send(two.now, b"a twin").unwrap();
    let (twin, _) = next(&mut copy, two.now).unwrap();
    two.give_there(&twin);
    two.pass();
    assert_eq!(two.here.error(), None);
}

/// A frozen connection of each earlier version is restored and continues, or is refused because of
/// its version: a change of the format without a new version breaks the transfer.
#[test]
fn connections_frozen_by_earlier_versions_continue_or_are_refused() {
    let config = Config::default();
    let two = || {
        let mut two = Two::new(&config);
        two.here.send(two.now, b"twenty-one").unwrap();
        two.pass();
        two.here.send(two.now, b"twenty-two").unwrap();
        two
    };
    let present = two().freeze();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/written");
    if let Some(version) = std::env::var_os("REDPOLL_BLESS") {
        let path = std::path::Path::new(folder).join(format!("{}.frozen", version.display()));
        std::fs::write(path, &present).unwrap();
    }
    let mut versions = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let frozen = std::fs::read(&path).unwrap();
        versions += 1;
        let mut two = two();
        let restored = thaw(two.now, &config, Duration::ZERO, &frozen, 1_848);
        if frozen[0] != present[0] {
            assert_eq!(restored.err(), Some(ThawError::Version), "{path:?}");
            continue;
        }
        two.here = restored.unwrap();
        two.pass();
        let mut read = [0; 100];
        let len = two.there.recv(two.now, &mut read).unwrap();
        assert_eq!(&read[..len], b"twenty-onetwenty-two");
    }
    assert!(versions > 0);
}
