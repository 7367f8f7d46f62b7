//! RFC 8201: path MTU discovery, for an MSS that not every path carries.
#![cfg(feature = "large-windows")]

use redpoll_tcp::Config;
use redpoll_testkit::{Host, ISS, Record, recv, recv_nothing, send};

fn config() -> Config {
    Config {
        timestamps: false,
        mss: 1440,
        ..Config::default()
    }
}

/// Establishes a connection on a path of 100 ms over Ethernet, to a peer with SACK or without.
fn host(config: &Config, sack: bool) -> Host {
    let answer = Record::new().mss(1440).win(16_000).sack_ok(sack);
    let mut t = Host::established_by(config, answer, 100);
    t.max_len = 1460;
    t
}

/// RFC 8201 §4 and §5.2: "it must reduce its estimate of the PMTU". Segments that were too large
/// are retransmitted at once in smaller segments, and the remaining segments are not retransmitted.
#[test]
fn segments_that_were_too_large_are_retransmitted_at_once() {
    for sack in [false, true] {
        let mut t = host(&config(), sack);
        t.write(&[b'x'; 1440]);
        recv!(t, seq 1, ack 1, len 1440);
        t.write(b"small");
        recv!(t, seq 1441, ack 1, data b"small");
        t.wait(20);
        t.conn.on_packet_too_big(t.now(), 1400, ISS + 1);
        recv!(t, seq 1, ack 1, len 1340);
        recv!(t, seq 1341, ack 1, len 100);
        recv_nothing!(t);
        // A repeated message has no effect; one about the retransmission reduces the MTU again.
        t.conn.on_packet_too_big(t.now(), 1400, ISS + 1);
        recv_nothing!(t);
        t.conn.on_packet_too_big(t.now(), 1300, ISS + 1);
        recv!(t, seq 1, ack 1, len 1240);
        recv!(t, seq 1241, ack 1, len 100);
        recv_nothing!(t);
        send!(t, seq 1, ack 1446);
        assert_eq!(t.conn.stats().rtos, 0);
        assert_eq!(t.conn.stats().retransmissions.fast, 0);
        assert_eq!(t.conn.info().ssthresh, 65_535, "not a sign of congestion");
    }
}

/// Sends 20,000 bytes over a path that carries packets of `mtu` bytes and reports larger packets if
/// `reports`, or drops them silently. Returns the duration in milliseconds.
fn transfer(t: &mut Host, mtu: usize, reports: bool) -> u64 {
    let headers = if t.conn.info().eff_snd_mss == 1440 {
        60
    } else {
        72
    };
    let (mut left, mut acked) = (20_000usize, 1u32);
    let mut arrived = std::collections::BTreeMap::new();
    while left > 0 || t.conn.unacked() > 0 {
        assert!(t.ms() < 60_000, "{left} {}", t.conn.unacked());
        let room = t.conn.send_room().min(left);
        t.write(&vec![b'x'; room]);
        left -= room;
        let sent = t.sent();
        t.wait(100);
        for record in sent {
            let (seq, len) = (record.seq_number(), record.payload().len());
            if len + headers <= mtu {
                arrived.insert(seq, seq + len as u32);
                while let Some(end) = arrived.range(..=acked).next_back().map(|it| *it.1)
                    && end > acked
                {
                    acked = end;
                }
                send!(t, seq 1, ack acked, win 16_000);
            } else if reports {
                t.conn.on_packet_too_big(t.now(), mtu as u16, ISS + seq);
            }
        }
    }
    t.ms()
}

/// RFC 8201 §4 in every state with outstanding data, with each option: no later segment is larger,
/// and the peer gets every byte and the FIN.
#[test]
fn every_state_with_data_out_follows_the_path_mtu() {
    use redpoll_tcp::State;
    use redpoll_testkit::FIN_ACK;
    let states = [
        State::Established,
        State::CloseWait,
        State::FinWait1,
        State::LastAck,
        State::Closing,
    ];
    for state in states {
        for (sack, timestamps) in [(false, false), (false, true), (true, false), (true, true)] {
            let config = Config {
                timestamps,
                ..config()
            };
            let answer = Record::new().mss(1440).win(16_000).sack_ok(sack);
            let answer = answer.ts((1_000, 0));
            let mut t = Host::established_by(&config, answer, 100);
            t.max_len = 1460;
            t.write(&[b'x'; 4_000]);
            let closes = matches!(state, State::FinWait1 | State::LastAck | State::Closing);
            let stamp = |t: &Host, record: Record| record.ts((1_000 + t.ms() as u32, 0));
            if matches!(state, State::CloseWait | State::LastAck) {
                t.send(stamp(
                    &t,
                    Record::new().flags(FIN_ACK).seq(1).ack(1).win(16_000),
                ));
            }
            if closes {
                t.close();
            }
            let mut sent = t.sent();
            if state == State::Closing {
                t.send(stamp(
                    &t,
                    Record::new().flags(FIN_ACK).seq(1).ack(1).win(16_000),
                ));
                sent.extend(t.sent());
            }
            assert_eq!(t.conn.state(), state);
            let what = format!("{state}, sack {sack}, timestamps {timestamps}");
            t.conn.on_packet_too_big(t.now(), 1_300, ISS + 1);
            let payload = 1_300 - 60 - if timestamps { 12 } else { 0 };
            assert_eq!(t.conn.info().eff_snd_mss, payload, "{what}");
            let theirs = 1 + u32::from(state != State::Established && state != State::FinWait1);
            let end = 4_001 + u32::from(closes);
            let (mut acked, mut arrived) = (1, std::collections::BTreeMap::new());
            // The path drops the packets that are too large.
            sent.retain(|record| record.payload().len() as u32 <= payload);
            for _ in 0..200 {
                for record in sent.drain(..).chain(t.sent()) {
                    let len = record.payload().len() as u32;
                    assert!(len <= payload, "{what}: {record:?}");
                    let fin = u32::from(record.control().fin());
                    arrived.insert(record.seq_number(), record.seq_number() + len + fin);
                }
                while let Some(next) = arrived.range(..=acked).map(|it| *it.1).max()
                    && next > acked
                {
                    acked = next;
                }
                t.send(stamp(&t, Record::new().seq(theirs).ack(acked).win(16_000)));
                if acked == end {
                    break;
                }
                t.wait(100);
            }
            assert_eq!(acked, end, "{what}");
            assert_eq!(t.conn.unacked(), 0, "{what}");
            assert_eq!(t.conn.stats().rtos, 0, "{what}");
        }
    }
}

/// RFC 8201 §4: a path that reports large packets causes no timeout.
#[test]
fn a_path_that_reports_costs_no_timeout() {
    for (mtu, sack) in [(1280, false), (1280, true), (1400, false), (1400, true)] {
        let mut t = host(&config(), sack);
        transfer(&mut t, mtu, true);
        assert_eq!(t.conn.stats().rtos, 0);
        assert_eq!(t.conn.info().eff_snd_mss as usize, mtu - 60);
    }
}

/// RFC 9293 §3.7.2: two timeouts detect that large packets vanish, and the transfer continues.
#[test]
fn a_silent_path_is_found_by_two_timeouts() {
    for sack in [false, true] {
        let mut t = host(&config(), sack);
        let ms = transfer(&mut t, 1280, false);
        assert_eq!(t.conn.info().eff_snd_mss, 1220);
        assert!(t.conn.stats().rtos <= 2, "{:?}", t.conn.stats());
        assert!(ms < 5_000, "{ms}");
    }
    let config = Config {
        timestamps: true,
        ..config()
    };
    let answer = Record::new().mss(1440).win(16_000).ts((1, 1_000));
    let mut t = Host::established_by(&config, answer, 100);
    t.max_len = 1460;
    t.write(&[b'x'; 1428]);
    recv!(t, seq 1, ack 1, len 1428);
    t.run_until(5_000);
    assert_eq!(t.sent().last().unwrap().payload().len(), 1208);
}

/// Checks that timeouts of small segments do not reduce the MSS: they do not indicate a small MTU.
#[test]
fn an_outage_with_small_segments_does_not_shrink_them() {
    let mut t = host(&config(), true);
    t.write(&[b'x'; 1000]);
    t.run_until(20_000);
    assert!(t.conn.stats().rtos > 3);
    assert_eq!(t.conn.info().eff_snd_mss, 1440);
}

/// RFC 8201 §4: "A node must not increase its estimate of the Path MTU in response to the contents
/// of a Packet Too Big message", nor after a timeout.
#[test]
fn segments_never_grow_again() {
    let mut t = host(&config(), true);
    t.write(&[b'x'; 4000]);
    t.sent();
    t.conn.on_packet_too_big(t.now(), 1300, ISS + 1);
    for mtu in [1301, 1500, u16::MAX] {
        t.conn.on_packet_too_big(t.now(), mtu, ISS + 1);
        t.conn.on_path_mtu(t.now(), mtu);
        assert_eq!(t.conn.info().eff_snd_mss, 1240);
    }
    t.run_until(30_000);
    assert_eq!(t.conn.info().eff_snd_mss, 1220);
}
