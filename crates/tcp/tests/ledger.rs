//! Tests the claims of `docs/rfc` that are not tested in a file for one RFC.

use redpoll_tcp::{
    Config, Error, Event, Fields, Header, Keepalive, Options, Segment, State, reset_reply,
};
use redpoll_testkit::{
    FIN_ACK, Host, LOCAL, REMOTE, RST, RST_ACK, Record, SYN, SYN_ACK, from_peer, inward, ms,
    outward, recv, recv_nothing, send,
};
use redpoll_wire::tcp::Flags;
use redpoll_wire::tcp::OptionList;

fn plain() -> Config {
    Config {
        timestamps: false,
        min_rto: ms(1_000),
        mss: 462,
        ..Config::default()
    }
}

/// Establishes a connection with full-sized segments of 100 bytes and a window of 4096.
fn established() -> Host {
    Host::established(&plain(), 100, 4096)
}

/// Returns a connection in each synchronised state, with its RCV.NXT and SND.NXT.
fn synchronised() -> Vec<(State, Host, u32, u32)> {
    let fin = |t: &mut Host, seq, ack| send!(t, flags FIN_ACK, seq seq, ack ack);
    let closed = || {
        let mut t = established();
        t.close();
        t
    };
    let fin_wait_2 = || {
        let mut t = closed();
        t.drain();
        send!(t, seq 1, ack 2);
        t
    };
    let mut all = Vec::new();
    all.push((established(), 1, 1));
    all.push((closed(), 1, 2));
    all.push((fin_wait_2(), 1, 2));
    let mut t = established();
    fin(&mut t, 1, 1);
    all.push((t, 2, 1));
    let mut t = closed();
    t.drain();
    fin(&mut t, 1, 1);
    all.push((t, 2, 2));
    let mut t = established();
    fin(&mut t, 1, 1);
    t.close();
    all.push((t, 2, 2));
    let mut t = fin_wait_2();
    fin(&mut t, 1, 2);
    all.push((t, 2, 2));
    let states = [
        State::Established,
        State::FinWait1,
        State::FinWait2,
        State::CloseWait,
        State::Closing,
        State::LastAck,
        State::TimeWait,
    ];
    let told = |((mut t, rcv, snd), state): ((Host, u32, u32), State)| {
        t.sent();
        t.events();
        assert_eq!(t.conn.state(), state);
        (state, t, rcv, snd)
    };
    all.into_iter().zip(states).map(told).collect()
}

// RFC 9293.

/// RFC 9293 §3.1: reserved bits are sent as 0 and ignored on receipt.
#[test]
fn reserved_bits_are_zero_and_ignored() {
    let fields = Fields {
        flags: Flags::ACK,
        ..Fields::default()
    };
    let header = Header::encode(&fields, &REMOTE, &LOCAL, [&[], &[]]);
    let mut bytes = header.as_bytes().to_vec();
    assert_eq!(bytes[12] & 0x0f, 0);
    bytes[12] |= 0x0f;
    // The checksum is a sum of 16-bit words: one word increases as the other decreases.
    let sum = u16::from_be_bytes([bytes[16], bytes[17]]);
    let sum = sum.checked_sub(0x0f00).unwrap_or(sum.wrapping_sub(0x0f01));
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    let seg = Segment::parse(&inward(), &bytes).unwrap();
    assert_eq!(seg.flags, Flags::ACK);
}

/// RFC 9293 §3.4, MUST-66.
#[test]
fn a_reset_is_accepted_at_a_closed_window() {
    let mut t = Host::established_with(&plain(), 100, 4096, 64, 100);
    send!(t, seq 1, ack 1, len 100);
    recv!(t, at 200, seq 1, ack 101, win 0);
    send!(t, flags RST, seq 102);
    assert_eq!(t.conn.state(), State::Established);
    send!(t, flags RST, seq 101);
    assert_eq!(t.events().last(), Some(&Event::Failed(Error::Reset)));
}

/// RFC 9293 §3.4, MUST-66, and §3.8.5: urgency is not reported, and the data of an urgent segment
/// are normal data.
#[test]
fn urgent_data_is_data() {
    let mut t = established();
    send!(t, flags Flags::ACK.with(Flags::URG), seq 1, ack 1, data b"urgent");
    assert_eq!(t.read(9), b"urgent");
    assert_eq!(t.events(), [Event::Readable]);
}

/// RFC 9293 §3.1, MUST-5; §3.2, MUST-65: options are parsed in every segment, and the MSS is valid
/// only on a SYN.
#[test]
fn an_mss_option_behind_the_handshake_changes_nothing() {
    let mut t = established();
    send!(t, seq 1, ack 1, mss 64, data b"x");
    assert_eq!(t.read(9), b"x");
    assert_eq!(t.conn.info().eff_snd_mss, 100);
}

/// RFC 9293 §3.5, MUST-11: a reset of a simultaneous open refuses the connection.
#[test]
fn a_reset_in_syn_received_after_an_active_open_refuses() {
    let mut t = Host::connect(&plain(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462);
    send!(t, flags SYN, seq 0);
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    send!(t, flags RST_ACK, seq 1, ack 1);
    assert_eq!(t.events(), [Event::Failed(Error::Refused)]);
}

/// RFC 9293 §3.5.2 and §3.10.7.1: a reset that answers a segment without ACK has the sequence
/// number 0 and acknowledges the whole segment.
#[test]
fn a_reset_without_a_connection_matches_the_segment_that_it_answers() {
    for (flags, len, seq, ack, answer) in [
        (SYN, 0, 0, 8, RST_ACK),
        (SYN.with(Flags::FIN), 3, 0, 12, RST_ACK),
        (SYN_ACK, 0, 99, 0, RST),
    ] {
        let fields = Fields {
            seq: redpoll_tcp::SeqNum(7),
            ack: redpoll_tcp::SeqNum(99),
            flags,
            ..Fields::default()
        };
        let payload = vec![b'x'; len];
        let header = Header::encode(&fields, &REMOTE, &LOCAL, [&payload, &[]]);
        let bytes = [header.as_bytes(), &payload].concat();
        let reply = reset_reply(&inward(), &Segment::parse(&inward(), &bytes).unwrap()).unwrap();
        let reply = Segment::parse(&outward(), reply.as_bytes()).unwrap();
        assert_eq!((reply.seq.0, reply.ack.0), (seq, ack));
        assert_eq!(reply.flags, answer);
    }
}

/// RFC 9293 §3.5.3, SHLD-2.
#[test]
fn a_reset_may_carry_data() {
    let mut t = established();
    send!(t, flags RST, seq 1, data b"out of memory");
    assert_eq!(t.events(), [Event::Failed(Error::Reset)]);
}

/// RFC 9293 §3.6.1, SHLD-4: with timestamps, a later timestamp suffices, whatever the sequence
/// number.
#[test]
fn time_wait_yields_by_timestamp() {
    let mut t = Host::connect(&Config::default(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 1220);
    send!(t, flags SYN_ACK, seq 0, ack 1, ts (500, 1_000));
    t.close();
    t.drain();
    send!(t, flags FIN_ACK, seq 1, ack 2, ts (501, 1_000));
    assert_eq!(t.conn.state(), State::TimeWait);
    let yields = |record: Record| {
        let bytes = from_peer(&record.flags(SYN));
        t.conn
            .yields_to(&Segment::parse(&inward(), &bytes).unwrap())
    };
    assert!(yields(Record::new().seq(0).ts((502, 0))));
    assert!(!yields(Record::new().seq(9).ts((501, 0))));
    assert!(!yields(Record::new().seq(9).ts((400, 0))));
}

/// RFC 9293 §3.8.3: R2 also applies to the states at the end of a connection.
#[test]
fn closing_states_end_without_an_answer() {
    for (state, mut t, ..) in synchronised() {
        if matches!(state, State::FinWait1 | State::Closing | State::LastAck) {
            t.run_until(1_000_000);
            assert_eq!(t.conn.error(), Some(Error::TimedOut), "{state}");
        }
    }
}

fn with_keepalive(count: u8) -> Host {
    let keepalive = Keepalive {
        idle: ms(10_000),
        interval: ms(1_000),
        count,
    };
    let config = Config {
        keepalive: Some(keepalive),
        ..plain()
    };
    Host::established(&config, 100, 4096)
}

/// RFC 9293 §3.8.4, MUST-28.
#[test]
fn by_default_keepalive_waits_for_two_hours() {
    let config = Config {
        keepalive: Some(Keepalive::default()),
        ..plain()
    };
    let mut t = Host::established(&config, 100, 4096);
    recv!(t, at 7_200_000, seq 0, ack 1);
}

/// RFC 9293 §3.8.4, MUST-26: no keep-alive probes are sent while data are outstanding.
#[test]
fn keepalive_leaves_outstanding_data_to_its_timer() {
    let mut t = with_keepalive(3);
    t.run_until(9_500);
    t.write(b"x");
    recv!(t, seq 1, ack 1, data b"x");
    for at in [10_500, 12_500, 16_500] {
        recv!(t, at at, seq 1, ack 1, data b"x");
    }
    send!(t, seq 1, ack 2);
    recv!(t, at 26_500, seq 1, ack 1);
}

/// RFC 9293 §3.8.4, MUST-29: one unanswered probe does not end the connection, whatever the
/// configuration.
#[test]
fn a_single_lost_probe_does_not_end_a_connection() {
    let mut t = with_keepalive(1);
    recv!(t, at 10_000, seq 0, ack 1);
    recv!(t, at 11_000, seq 0, ack 1);
    send!(t, seq 1, ack 1);
    assert_eq!(t.conn.state(), State::Established);
}

/// RFC 9293 §3.8.6, SHLD-16: outstanding data inside a window that shrank are retransmitted
/// normally.
#[test]
fn old_data_within_a_shrunken_window_is_sent_again() {
    let mut t = Host::established(&plain(), 100, 400);
    t.write(&[b'x'; 400]);
    t.sent();
    send!(t, seq 1, ack 1, win 150);
    recv!(t, at 1000, seq 1, ack 1, len 100);
    send!(t, seq 1, ack 101, win 150);
    recv!(t, seq 101, ack 1, len 100);
}

/// RFC 9293 §3.8.6, MAY-7: a segment is not cut at the edge of a window that shrank.
#[test]
fn old_data_may_go_beyond_a_shrunken_window() {
    let mut t = Host::established(&plain(), 100, 400);
    t.write(&[b'x'; 400]);
    t.sent();
    send!(t, seq 1, ack 1, win 50);
    recv!(t, at 1000, seq 1, ack 1, len 100);
}

/// RFC 9293 §3.8.6.3, MUST-40, and RFC 5681 §4.2: an ACK waits for less than half a second,
/// whatever the configuration.
#[test]
fn an_acknowledgment_never_waits_for_half_a_second() {
    let config = Config {
        delayed_ack: ms(10_000),
        ..plain()
    };
    let mut t = Host::established(&config, 100, 4096);
    send!(t, seq 1, ack 1, data b"x");
    let wake = t.conn.poll_at().unwrap();
    assert!(wake.at + wake.slack < t.now() + ms(500));
    recv!(t, at 479, seq 1, ack 2);
}

/// RFC 9293 §3.10.7.4, fifth step (SYN-RECEIVED) and eighth step: a FIN on the final ACK is
/// accepted.
#[test]
fn the_final_ack_may_carry_a_fin() {
    let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SYN));
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    send!(t, flags FIN_ACK, seq 1, ack 1, data b"bye");
    assert_eq!(t.conn.state(), State::CloseWait);
    assert_eq!(
        t.events(),
        [Event::Connected, Event::Readable, Event::PeerClosed]
    );
    recv!(t, seq 1, ack 5);
}

/// RFC 9293 §3.10.7.4, fourth step: a SYN in the window ends a listener's half-open connection. A
/// SYN outside the window is challenged (RFC 5961 §4.2).
#[test]
fn another_syn_ends_a_passive_half_open_connection() {
    let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SYN));
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    send!(t, flags SYN, seq 9_000);
    recv!(t, seq 1, ack 1);
    assert_eq!(t.conn.state(), State::SynReceived);
    send!(t, flags SYN, seq 5);
    assert_eq!(t.conn.state(), State::Closed);
    recv_nothing!(t);
}

/// RFC 9293 §3.10.7.4, fifth step: a segment without ACK is dropped.
#[test]
fn a_segment_without_ack_is_dropped() {
    for (state, mut t, rcv, _) in synchronised() {
        let queued = t.conn.recv_queue();
        send!(t, flags Flags::NONE, seq rcv, data b"x");
        assert_eq!(t.conn.recv_queue(), queued, "{state}");
        assert_eq!(t.conn.state(), state);
    }
}

/// RFC 9293 §3.10.7.4, seventh step: text is accepted until the peer has closed.
#[test]
fn text_counts_until_the_peers_fin() {
    for (state, mut t, rcv, snd) in synchronised() {
        let taken = matches!(
            state,
            State::Established | State::FinWait1 | State::FinWait2
        );
        send!(t, seq rcv, ack snd, data b"text");
        assert_eq!(t.conn.recv_queue() == 4, taken, "{state}");
    }
}

// RFC 5681.

/// RFC 5681 §3.1: neither the SYN,ACK nor its acknowledgment enlarges the window.
#[test]
fn the_handshake_does_not_open_the_window() {
    let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SYN).mss(100));
    t.drain();
    send!(t, seq 1, ack 1);
    assert_eq!(t.conn.info().cwnd, 400);
    assert_eq!(established().conn.info().cwnd, 400);
}

/// RFC 5681 §4.3: the loss of a retransmission is a second sign of congestion.
#[test]
fn a_lost_retransmission_lowers_the_threshold_again() {
    let mut t = Host::established_with(&plain(), 100, 60_000, 60_000, 64);
    t.write(&[b'x'; 60_000]);
    let mut acked = 1;
    while t.conn.info().cwnd < 800 {
        t.drain();
        acked += 100;
        send!(t, seq 1, ack acked, win 60_000);
    }
    t.drain();
    for _ in 0..3 {
        send!(t, seq 1, ack acked, win 60_000);
    }
    t.sent();
    let once = t.conn.info().ssthresh;
    assert_eq!((once, t.conn.stats().retransmissions.fast), (400, 1));
    recv!(t, at 1000, seq acked, ack 1, len 100);
    assert!(t.conn.info().ssthresh < once);
    assert_eq!(t.conn.info().cwnd, 100);
}

// RFC 5961.

/// RFC 5961 §3.2, in every state: a reset exactly at RCV.NXT is accepted, elsewhere in the window
/// challenged, and outside dropped.
#[test]
fn resets_are_judged_alike_in_every_state() {
    for (state, mut t, rcv, snd) in synchronised() {
        send!(t, flags RST, seq rcv - 1);
        send!(t, flags RST, seq rcv + 9_000);
        recv_nothing!(t);
        send!(t, flags RST, seq rcv + 5);
        recv!(t, seq snd, ack rcv);
        assert_eq!(t.conn.state(), state);
        send!(t, flags RST, seq rcv);
        assert_eq!(t.conn.state(), State::Closed, "{state}");
    }
}

/// RFC 5961 §4.2, in every state: a SYN is challenged, whatever its sequence number.
#[test]
fn a_syn_is_challenged_in_every_state() {
    for (state, mut t, rcv, snd) in synchronised() {
        for seq in [0, rcv, rcv + 5, rcv + 9_000] {
            send!(t, flags SYN, seq seq);
            recv!(t, seq snd, ack rcv);
            assert_eq!(t.conn.state(), state, "{seq}");
        }
    }
}

/// RFC 5961 §5.2, in every state: text and FIN need a plausible ACK.
#[test]
fn an_implausible_ack_is_challenged_in_every_state() {
    for (state, mut t, rcv, snd) in synchronised() {
        for ack in [snd + 1, snd.wrapping_sub(5_000)] {
            send!(t, flags FIN_ACK, seq rcv, ack ack, data b"evil");
            recv!(t, seq snd, ack rcv);
            assert_eq!(t.conn.state(), state, "{ack}");
            assert_eq!(t.conn.recv_queue(), 0);
        }
    }
}

// RFC 6298.

/// RFC 6298 §5.3: an ACK for the first segment restarts the timer, so the second segment is not
/// retransmitted (§5.4) when the first segment's timer would have expired.
#[test]
fn a_later_segment_does_not_run_on_the_first_ones_timer() {
    let mut t = established();
    t.write(&[b'x'; 100]);
    recv!(t, seq 1, ack 1, len 100);
    t.run_until(600);
    t.write(&[b'x'; 100]);
    recv!(t, seq 101, ack 1, len 100);
    t.run_until(900);
    send!(t, seq 1, ack 101);
    recv_nothing!(t, until 1_899);
}

// RFC 7323.

/// RFC 7323 §3.2: a simultaneous open uses the option if both SYNs contain it.
#[test]
fn crossing_syns_negotiate_timestamps() {
    for offered in [true, false] {
        let mut t = Host::connect(&Config::default(), 64, 64);
        recv!(t, flags SYN, seq 0, mss 1220, ts (1_000, 0));
        let syn = Record::new().flags(SYN);
        t.send(if offered { syn.ts((7, 0)) } else { syn });
        let answer = recv!(t, flags SYN_ACK, seq 0, ack 1, mss 1220);
        let expected = offered.then_some((1_000, 7));
        assert_eq!(answer.timestamps(), expected);
        let ack = Record::new().flags(SYN_ACK).seq(0).ack(1);
        t.send(if offered { ack.ts((8, 1_000)) } else { ack });
        assert_eq!(t.conn.state(), State::Established);
        t.write(b"x");
        let sent = recv!(t, seq 1, ack 1, data b"x");
        assert_eq!(sent.timestamps().is_some(), offered);
    }
}

/// RFC 7323 §3.2: an echo without ACK is meaningless; the echo in a SYN is not measured.
#[test]
fn the_echo_of_a_segment_without_ack_is_ignored() {
    let mut t = Host::connect(&Config::default(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 1220, ts (1_000, 0));
    t.wait(50);
    send!(t, flags SYN, seq 0, ts (7, 1_000));
    assert_eq!(t.conn.stats().rtt_samples, 0);
}

/// RFC 7323 §5.3: R1 precedes the other checks; R3: an unacceptable segment does not change
/// TS.Recent.
#[test]
fn a_timestamp_outside_the_window_is_not_remembered() {
    let mut t = with_timestamps();
    send!(t, seq 9_000, ack 1, ts (900, 1_000), data b"far");
    recv!(t, seq 1, ack 1, ts (1_000, 500));
    send!(t, seq 1, ack 1, ts (600, 1_000), data b"near");
    assert_eq!(t.conn.recv_queue(), 4);
}

/// Establishes a connection with timestamps; the peer's clock is at 500.
fn with_timestamps() -> Host {
    let mut t = Host::connect(&Config::default(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 1220);
    send!(t, flags SYN_ACK, seq 0, ack 1, ts (500, 1_000));
    recv!(t, seq 1, ack 1, ts (1_000, 500));
    t
}

/// RFC 5961 §4.2: a challenge ACK, at a limited rate, answers a peer that has lost the connection
/// and its timestamps.
#[test]
fn a_syn_is_challenged_with_any_timestamp() {
    for timestamp in [None, Some((400, 0)), Some((900, 0))] {
        let mut t = with_timestamps();
        let mut answers = 0;
        for _ in 0..100 {
            let syn = Record::new().flags(SYN).seq(70_000);
            t.send(match timestamp {
                Some(timestamp) => syn.ts(timestamp),
                None => syn,
            });
            answers += t.sent().len();
        }
        assert_eq!(answers, 10, "{timestamp:?}");
        assert_eq!(t.conn.state(), State::Established);
    }
}

/// RFC 7323 §5.3, R3, and RFC 5961: a challenged segment does not change TS.Recent. Otherwise, one
/// segment of a blind attacker would make those of the peer look old.
#[test]
fn a_challenged_segment_does_not_change_ts_recent() {
    for (flags, ack) in [(SYN, 1), (Flags::ACK, 2), (Flags::NONE, 1)] {
        let mut t = with_timestamps();
        send!(t, flags flags, seq 1, ack ack, ts (1 << 30, 1_000), data b"evil");
        t.sent();
        send!(t, seq 1, ack 1, ts (501, 1_000), data b"good");
        assert_eq!(t.read(9), b"good", "{flags:?}");
    }
}

/// RFC 7323 §5.2: a challenged reset does not change TS.Recent.
#[test]
fn a_resets_timestamp_is_not_remembered() {
    let mut t = with_timestamps();
    send!(t, flags RST, seq 2, ts (900, 1_000));
    recv!(t, seq 1, ack 1, ts (1_000, 500));
}

/// RFC 7323 §2.2: an offer of window scaling is declined, so neither end scales.
#[test]
fn an_offer_to_scale_windows_is_declined() {
    let options = Options::parse(OptionList(&[2, 4, 1, 206, 1, 3, 3, 7]));
    let expected = Options {
        mss: Some(462),
        ..Options::default()
    };
    assert_eq!(options, expected);
}
