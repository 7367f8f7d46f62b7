//! RFC 9293 §3.6: closing and resetting a connection, segment by segment.

use redpoll_tcp::{Config, Error, Event, RecvError, Segment, SendError, State};
use redpoll_testkit::{
    FIN_ACK, Host, RST, RST_ACK, Record, SYN, from_peer, inward, ms, recv, recv_nothing, send,
};

fn plain() -> Config {
    Config {
        timestamps: false,
        min_rto: ms(1_000),
        mss: 462,
        ..Config::default()
    }
}

fn established() -> Host {
    Host::established(&plain(), 462, 4096)
}

/// Returns a host in `state`, reached by segments, whose output queue is empty. The next sequence
/// number of each stream is 1, or 2 after its FIN.
fn host_in(state: State) -> Host {
    let mut t = match state {
        State::SynSent => Host::connect(&plain(), 2048, 2048),
        State::SynReceived => {
            Host::accept(&plain(), 2048, 2048, Record::new().flags(SYN).win(4096))
        }
        _ => established(),
    };
    t.sent();
    let (ours, theirs) = match state {
        State::SynSent | State::SynReceived | State::Established => ("", ""),
        State::FinWait1 => ("fin", ""),
        State::FinWait2 => ("fin acked", ""),
        State::CloseWait => ("", "fin"),
        State::Closing => ("fin", "fin"),
        State::LastAck => ("fin later", "fin"),
        State::TimeWait => ("fin acked", "fin"),
        State::Closed => unreachable!(),
    };
    if ours == "fin" || ours == "fin acked" {
        t.close();
        t.sent();
    }
    if ours == "fin acked" {
        send!(t, seq 1, ack 2);
    }
    if theirs == "fin" {
        let acked = if ours == "fin acked" { 2 } else { 1 };
        send!(t, flags FIN_ACK, seq 1, ack acked);
    }
    if ours == "fin later" {
        t.sent();
        t.close();
    }
    t.sent();
    t.events();
    assert_eq!(t.conn.state(), state);
    t
}

const ALL: [State; 9] = [
    State::SynSent,
    State::SynReceived,
    State::Established,
    State::FinWait1,
    State::FinWait2,
    State::CloseWait,
    State::Closing,
    State::LastAck,
    State::TimeWait,
];

fn peer_seq(state: State) -> u32 {
    match state {
        State::CloseWait | State::Closing | State::LastAck | State::TimeWait => 2,
        _ => 1,
    }
}

/// RFC 9293 §3.6, figure 12, left side; and half-close in between.
#[test]
fn active_close_with_data_from_the_peer_afterwards() {
    let mut t = established();
    t.write(b"last words");
    t.close();
    assert_eq!(t.conn.state(), State::FinWait1);
    recv!(t, flags FIN_ACK, seq 1, ack 1, data b"last words");
    send!(t, seq 1, ack 12);
    assert_eq!(t.conn.state(), State::FinWait2);
    send!(t, seq 1, ack 12, data b"not yet done");
    assert_eq!(t.read(99), b"not yet done");
    send!(t, flags FIN_ACK, seq 13, ack 12);
    assert_eq!(t.conn.state(), State::TimeWait);
    recv!(t, seq 12, ack 14);
    assert_eq!(t.events(), [Event::Readable, Event::PeerClosed]);
    assert_eq!(t.conn.recv(t.now(), &mut [0; 9]), Ok(0));
    t.run_until(59_999);
    assert_eq!(t.conn.state(), State::TimeWait);
    t.run_until(60_000);
    assert_eq!(t.events(), [Event::Closed]);
    assert_eq!(t.conn.poll_at(), None);
}

/// RFC 9293 §3.6, figure 12, right side; and half-close in between.
#[test]
fn passive_close_with_data_to_the_peer_afterwards() {
    let mut t = established();
    send!(t, flags FIN_ACK, seq 1, ack 1, data b"over");
    assert_eq!(t.conn.state(), State::CloseWait);
    recv!(t, seq 1, ack 6);
    assert_eq!(t.events(), [Event::Readable, Event::PeerClosed]);
    assert_eq!(t.read(9), b"over");
    t.write(b"reply");
    recv!(t, seq 1, ack 6, data b"reply");
    t.close();
    assert_eq!(t.conn.state(), State::LastAck);
    recv!(t, flags FIN_ACK, seq 6, ack 6);
    send!(t, seq 6, ack 6);
    assert_eq!(t.conn.state(), State::LastAck);
    send!(t, seq 6, ack 7);
    assert_eq!(t.conn.state(), State::Closed);
    assert_eq!(t.events(), [Event::Closed]);
}

/// RFC 9293 §3.6, figure 13.
#[test]
fn simultaneous_close() {
    let mut t = established();
    t.close();
    recv!(t, flags FIN_ACK, seq 1, ack 1);
    send!(t, flags FIN_ACK, seq 1, ack 1);
    assert_eq!(t.conn.state(), State::Closing);
    recv!(t, seq 2, ack 2);
    send!(t, seq 2, ack 2);
    assert_eq!(t.conn.state(), State::TimeWait);
    recv_nothing!(t, until 59_999);
}

#[test]
fn a_fin_that_acknowledges_ours_leads_straight_to_time_wait() {
    let mut t = host_in(State::FinWait1);
    send!(t, flags FIN_ACK, seq 1, ack 2);
    assert_eq!(t.conn.state(), State::TimeWait);
    recv!(t, seq 2, ack 2);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut t = established();
    t.close();
    recv!(t, flags FIN_ACK, seq 1, ack 1);
    recv!(t, at 1000, flags FIN_ACK, seq 1, ack 1);
    recv!(t, at 3000, flags FIN_ACK, seq 1, ack 1);
    send!(t, seq 1, ack 2);
    assert_eq!(t.conn.state(), State::FinWait2);
}

#[test]
fn data_and_fin_are_sent_again_together() {
    let mut t = established();
    t.write(b"tail");
    t.close();
    recv!(t, flags FIN_ACK, seq 1, ack 1, data b"tail");
    recv!(t, at 1000, flags FIN_ACK, seq 1, ack 1, data b"tail");
    send!(t, seq 1, ack 5);
    assert_eq!(t.conn.state(), State::FinWait1);
    recv!(t, at 3000, flags FIN_ACK, seq 5, ack 1);
}

/// RFC 9293 §3.10.7.4, seventh and eighth step: text after a FIN is ignored. If a FIN lies before
/// text received beyond a gap, one of the two is wrong; the stream ends at the FIN.
#[test]
fn a_fin_before_stored_text_ends_the_stream_there() {
    let answer = || Record::new().mss(462).sack_ok(true);
    // The FIN is next.
    let mut t = Host::established_by(&plain(), answer(), 0);
    send!(t, seq 11, ack 1, len 10);
    recv!(t, seq 1, ack 1, sack [(11, 21)]);
    send!(t, flags FIN_ACK, seq 1, ack 1, len 4);
    recv!(t, seq 1, ack 6, sack []);
    assert_eq!(t.read(99).len(), 4);
    assert_eq!(t.conn.state(), State::CloseWait);
    // The FIN lies beyond the gap as well, in the middle of the stored text.
    let mut t = Host::established_by(&plain(), answer(), 0);
    send!(t, seq 11, ack 1, len 10);
    send!(t, flags FIN_ACK, seq 15, ack 1);
    t.sent();
    send!(t, seq 1, ack 1, len 10);
    recv!(t, seq 1, ack 11, sack []);
    send!(t, seq 11, ack 1, len 10);
    recv!(t, seq 1, ack 16);
    assert_eq!(t.read(99).len(), 14);
    assert_eq!(t.conn.state(), State::CloseWait);
    assert!(t.events().contains(&Event::PeerClosed));
}

#[test]
fn a_fin_beyond_a_gap_is_remembered() {
    let mut t = established();
    send!(t, flags FIN_ACK, seq 4, ack 1, data b"def");
    recv!(t, seq 1, ack 1);
    assert_eq!(t.conn.state(), State::Established);
    send!(t, seq 1, ack 1, data b"abc");
    recv!(t, seq 1, ack 8);
    assert_eq!(t.conn.state(), State::CloseWait);
    assert_eq!(t.read(9), b"abcdef");
}

#[test]
fn data_behind_a_fin_is_not_data() {
    let mut t = established();
    send!(t, flags FIN_ACK, seq 1, ack 1, data b"abc");
    recv!(t, seq 1, ack 5);
    send!(t, seq 5, ack 1, data b"xyz");
    assert_eq!(t.read(99), b"abc");
    assert_eq!(t.conn.recv(t.now(), &mut [0; 9]), Ok(0));
}

/// A FIN needs no buffer: it is accepted exactly at the edge of the window.
#[test]
fn a_fin_fits_behind_a_full_window() {
    let mut t = Host::established_with(&plain(), 462, 4096, 64, 8);
    send!(t, flags FIN_ACK, seq 1, ack 1, data b"12345678");
    recv!(t, seq 1, ack 10, win 0);
    assert_eq!(t.conn.state(), State::CloseWait);
}

/// Eighth step, TIME-WAIT: the FIN arrives again because our ACK was lost.
#[test]
fn time_wait_answers_the_fin_and_restarts() {
    let mut t = host_in(State::TimeWait);
    t.run_until(50_000);
    send!(t, flags FIN_ACK, seq 1, ack 2);
    recv!(t, seq 2, ack 2);
    t.run_until(109_999);
    assert_eq!(t.conn.state(), State::TimeWait);
    t.run_until(110_000);
    assert_eq!(t.conn.state(), State::Closed);
}

/// RFC 9293 §3.10.7.4, eighth step: a FIN in the window is acknowledged, even one beyond the FIN
/// that ended the peer's stream. The end of the stream does not move.
#[test]
fn a_second_fin_is_acknowledged_and_changes_nothing() {
    for state in [
        State::CloseWait,
        State::Closing,
        State::LastAck,
        State::TimeWait,
    ] {
        let mut t = host_in(state);
        let ours = match state {
            State::CloseWait => 1,
            _ => 2,
        };
        let acked = if state == State::TimeWait { 2 } else { 1 };
        for seq in [2, 500] {
            send!(t, flags FIN_ACK, seq seq, ack acked);
            recv!(t, seq ours, ack 2);
            recv_nothing!(t);
            assert_eq!(t.conn.state(), state);
        }
    }
}

/// RFC 9293 §3.10.7.4, table 6: in TIME-WAIT an empty segment next to the window is acknowledged,
/// and one inside it is not.
#[test]
fn time_wait_answers_empty_segments_beside_the_window() {
    for beyond in [-2, -1, 0, 1, 2] {
        let mut t = host_in(State::TimeWait);
        let edge = 2 + 4096 - 1;
        send!(t, seq (edge + beyond) as u32, ack 2);
        if beyond >= 0 {
            recv!(t, seq 2, ack 2);
        }
        recv_nothing!(t);
        assert_eq!(t.conn.state(), State::TimeWait);
    }
    let mut t = host_in(State::TimeWait);
    send!(t, seq 1, ack 2);
    recv!(t, seq 2, ack 2);
    let mut t = host_in(State::TimeWait);
    send!(t, seq 2, ack 2);
    recv_nothing!(t);
}

/// RFC 9293 §3.6.1, MAY-2.
#[test]
fn time_wait_yields_to_a_newer_syn_only() {
    let yields = |t: &Host, record: Record| {
        let bytes = from_peer(&record);
        t.conn
            .yields_to(&Segment::parse(&inward(), &bytes).unwrap())
    };
    let syn = Record::new().flags(SYN);
    let t = host_in(State::TimeWait);
    assert!(yields(&t, syn.clone().seq(3)));
    assert!(!yields(&t, syn.clone().seq(2)));
    assert!(!yields(&t, syn.clone().seq(0)));
    assert!(!yields(&t, Record::new().seq(3)));
    assert!(!yields(&host_in(State::CloseWait), syn.seq(3)));
}

/// RFC 9293 §3.6: a user that has closed "may continue to RECEIVE until the TCP receiver is told
/// that the remote peer has CLOSED also", however long the peer is silent.
#[test]
fn a_half_closed_connection_receives_after_hours_of_silence() {
    let mut t = host_in(State::FinWait2);
    assert_eq!(t.conn.poll_at(), None);
    t.run_until(24 * 3_600_000);
    assert_eq!(t.conn.state(), State::FinWait2);
    send!(t, seq 1, ack 2, data b"the result");
    assert_eq!(t.read(99), b"the result");
    recv!(t, at 24 * 3_600_000 + 200, seq 2, ack 11);
    t.wait(24 * 3_600_000);
    send!(t, flags FIN_ACK, seq 11, ack 2);
    recv!(t, seq 2, ack 12);
    assert_eq!(t.conn.recv(t.now(), &mut [0; 9]), Ok(0));
    assert_eq!(t.conn.state(), State::TimeWait);
}

/// Half-closes a connection in one of several ways; returns its SND.NXT.
const WAYS_TO_FIN_WAIT_2: [fn(&mut Host) -> u32; 5] = [
    |t| {
        t.close();
        t.sent();
        2
    },
    |t| {
        t.write(b"request");
        t.close();
        t.sent();
        9
    },
    // The FIN leaves after the data were acknowledged, and is lost twice.
    |t| {
        t.write(b"request");
        t.sent();
        acknowledge(t, 8, 4096);
        t.close();
        t.wait(5_000);
        t.sent();
        9
    },
    // The window closes before the data leave.
    |t| {
        acknowledge(t, 1, 0);
        t.write(b"request");
        t.close();
        t.wait(10_000);
        acknowledge(t, 1, 4096);
        t.wait(10_000);
        t.sent();
        9
    },
    // The peer sends data while the FIN is outstanding.
    |t| {
        t.close();
        t.sent();
        acknowledge(t, 1, 4096);
        2
    },
];

/// The peer acknowledges everything before `ack`. Its timestamps advance with the time.
fn acknowledge(t: &mut Host, ack: u32, window: u16) {
    t.send(stamped(t, Record::new().seq(1).ack(ack).win(window)));
}

fn stamped(t: &Host, record: Record) -> Record {
    record.ts((1_000 + t.ms() as u32, 0))
}

/// RFC 9293 §3.6, "may continue to RECEIVE", for each way to FIN-WAIT-2 and with each option: the
/// peer is silent for two days, sends data, and closes.
#[test]
fn every_half_closed_connection_receives_after_days_of_silence() {
    const DAYS: u64 = 48 * 3_600_000;
    for (at, way) in WAYS_TO_FIN_WAIT_2.iter().enumerate() {
        for options in 0..8 {
            let has = |bit: u32| options >> bit & 1 == 1;
            let config = Config {
                timestamps: has(0),
                sack: has(1),
                user_timeout: has(2).then_some(ms(60_000)),
                ..plain()
            };
            let answer = Record::new().mss(462).sack_ok(true).ts((1_000, 0));
            let mut t = Host::established_by(&config, answer, 0);
            let end = way(&mut t);
            acknowledge(&mut t, end, 4096);
            let what = format!("way {at}, options {options}");
            assert_eq!(t.conn.state(), State::FinWait2, "{what}");
            t.sent();
            t.wait(DAYS);
            assert_eq!(t.conn.state(), State::FinWait2, "{what}");
            assert_eq!(t.sent(), [], "{what}");
            for (seq, word) in [(1, b"the "), (5, b"rest")] {
                let record = Record::new().seq(seq).ack(end).data(word);
                t.send(stamped(&t, record));
                t.wait(DAYS);
                assert_eq!(t.read(99), word, "{what}");
            }
            t.sent();
            let fin = Record::new().flags(FIN_ACK).seq(9).ack(end);
            t.send(stamped(&t, fin));
            assert_eq!(t.conn.state(), State::TimeWait, "{what}");
            assert_eq!(t.sent().pop().unwrap().ack_number(), 10, "{what}");
        }
    }
}

/// RFC 9293 §3.6, case 2: after the peer's FIN the user may send "whatever it has left to send",
/// however late.
#[test]
fn a_connection_that_the_peer_has_half_closed_sends_after_days() {
    let mut t = host_in(State::CloseWait);
    t.wait(48 * 3_600_000);
    t.write(b"the result");
    recv!(t, seq 1, ack 2, data b"the result");
    send!(t, seq 2, ack 11);
    t.wait(48 * 3_600_000);
    t.close();
    recv!(t, flags FIN_ACK, seq 11, ack 2);
    send!(t, seq 2, ack 12);
    assert_eq!((t.conn.state(), t.conn.error()), (State::Closed, None));
}

#[test]
fn fin_wait_2_of_an_orphan_does_not_last_for_ever() {
    for before in [true, false] {
        let mut t = established();
        t.close();
        t.sent();
        t.wait(500);
        if before {
            t.conn.orphan(t.now(), ms(180_000));
        }
        send!(t, seq 1, ack 2);
        if !before {
            t.conn.orphan(t.now(), ms(180_000));
        }
        t.run_until(180_499);
        assert_eq!(t.conn.state(), State::FinWait2);
        t.run_until(180_500);
        assert_eq!(t.conn.error(), Some(Error::TimedOut));
    }
}

/// RFC 9293 §3.5.3 in every state.
#[test]
fn a_reset_at_rcv_nxt_ends_every_state() {
    for state in ALL {
        let mut t = host_in(state);
        if state == State::SynSent {
            send!(t, flags RST_ACK, seq 0, ack 1);
        } else {
            send!(t, flags RST, seq peer_seq(state));
        }
        assert_eq!(t.conn.state(), State::Closed, "{state}");
        let expected = match state {
            State::SynSent => Event::Failed(Error::Refused),
            State::TimeWait => Event::Closed,
            _ => Event::Failed(Error::Reset),
        };
        assert_eq!(t.events(), [expected], "{state}");
        recv_nothing!(t);
        assert_eq!(t.conn.poll_at(), None);
    }
}

#[test]
fn after_a_reset_no_state_is_left() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"unread");
    t.write(b"unsent");
    send!(t, flags RST, seq 7);
    assert_eq!(
        t.conn.recv(t.now(), &mut [0; 9]),
        Err(RecvError::Failed(Error::Reset))
    );
    assert_eq!(
        t.conn.send(t.now(), b"x"),
        Err(SendError::Closed(Some(Error::Reset)))
    );
}

/// RFC 9293 §3.10.5.
#[test]
fn abort_sends_a_reset_in_synchronised_states() {
    for state in ALL {
        let mut t = host_in(state);
        t.abort();
        assert_eq!(t.conn.error(), Some(Error::Aborted));
        let seq = t.conn.stats().segments_sent; // evaluated before the reset
        match state {
            State::SynSent | State::Closing | State::LastAck | State::TimeWait => {
                recv_nothing!(t);
            }
            _ => {
                let ours = matches!(state, State::FinWait1 | State::FinWait2);
                recv!(t, flags RST, seq 1 + u32::from(ours));
                assert_eq!(t.conn.stats().segments_sent, seq + 1);
                recv_nothing!(t);
            }
        }
    }
}

/// RFC 9293 §3.10.7.1.
#[test]
fn a_closed_connection_resets_later_segments() {
    let mut t = established();
    t.abort();
    recv!(t, flags RST, seq 1);
    send!(t, seq 1, ack 1, data b"late");
    recv!(t, flags RST, seq 1);
    send!(t, flags RST, seq 1);
    recv_nothing!(t);
}

#[test]
fn received_data_outlives_the_connection() {
    let mut t = established();
    send!(t, flags FIN_ACK, seq 1, ack 1, data b"keep");
    t.close();
    t.sent();
    send!(t, seq 6, ack 2);
    assert_eq!(t.conn.state(), State::Closed);
    assert_eq!(t.read(9), b"keep");
    assert_eq!(t.conn.recv(t.now(), &mut [0; 9]), Ok(0));
}

#[test]
fn closing_twice_sends_one_fin() {
    let mut t = established();
    t.close();
    t.close();
    recv!(t, flags FIN_ACK, seq 1, ack 1);
    send!(t, seq 1, ack 2);
    t.close();
    recv_nothing!(t);
    assert_eq!(t.conn.send(t.now(), b"x"), Err(SendError::Closing));
}

/// RFC 9293 §3.10.7.4: the FIN that leads to TIME-WAIT is acknowledged. Until then the connection
/// reports the owed ACK, and its slot must not be reused; otherwise, the peer would stay in
/// LAST-ACK.
#[test]
fn time_wait_reports_the_owed_ack_until_it_is_sent() {
    let config = Config {
        timestamps: false,
        ..Config::default()
    };
    let mut t = Host::established(&config, 462, 4096);
    t.close();
    t.sent();
    send!(t, flags FIN_ACK, seq 1, ack 2);
    assert_eq!(t.conn.state(), State::TimeWait);
    assert!(t.conn.info().owes_acknowledgment);
    recv!(t, seq 2, ack 2);
    assert!(!t.conn.info().owes_acknowledgment);
}
