//! RFC 5927: effects of ICMP errors, and limits for the effects of blindly forged ones.

use redpoll_base::Instant;
use redpoll_tcp::{Config, Error, Event, IcmpKind, SeqNum, State, Trouble};
#[cfg(feature = "large-windows")]
use redpoll_testkit::recv;
use redpoll_testkit::{FIN_ACK, Host, ISS, Record, SYN, send};

const KINDS: [IcmpKind; 6] = [
    IcmpKind::NoRoute,
    IcmpKind::Prohibited,
    IcmpKind::AddressUnreachable,
    IcmpKind::PortUnreachable,
    IcmpKind::TimeExceeded,
    IcmpKind::ParameterProblem,
];

fn plain() -> Config {
    Config {
        timestamps: false,
        sack: false,
        mss: 1400,
        ..Config::default()
    }
}

fn icmp(t: &mut Host, kind: IcmpKind, quoted: SeqNum) {
    let now: Instant = t.now();
    t.conn.on_icmp(now, kind, quoted);
}

/// Returns connections in each synchronised state that can have outstanding data, with 100 bytes
/// outstanding from sequence number 1 on if the application may still write.
fn with_data_out() -> Vec<Host> {
    let established = || {
        let mut t = Host::established(&plain(), 1400, 4096);
        t.write(&[1; 100]);
        t.sent();
        t
    };
    let mut fin_wait_1 = established();
    fin_wait_1.close();
    let mut close_wait = established();
    send!(close_wait, flags FIN_ACK, seq 1, ack 1);
    let mut last_ack = established();
    send!(last_ack, flags FIN_ACK, seq 1, ack 1);
    last_ack.close();
    let mut closing = established();
    closing.close();
    closing.sent();
    send!(closing, flags FIN_ACK, seq 1, ack 1);
    vec![established(), fin_wait_1, close_wait, last_ack, closing]
}

/// RFC 5927 §5.2: a connection in any of the synchronized states treats ICMP errors that indicate
/// hard errors as soft errors.
#[test]
fn hard_errors_are_soft_in_every_synchronised_state() {
    for kind in KINDS {
        for mut t in with_data_out() {
            let state = t.conn.state();
            t.events();
            icmp(&mut t, kind, ISS + 1);
            assert_eq!(t.conn.state(), state, "{kind:?}");
            assert_eq!(t.events(), [Event::Trouble(Trouble::Icmp)]);
        }
    }
}

/// RFC 5927 §4.1: an error is ignored unless SND.UNA =< SEG.SEQ < SND.NXT.
#[test]
fn a_number_that_is_not_out_is_ignored() {
    for kind in KINDS {
        let mut t = Host::established(&plain(), 1400, 4096);
        t.write(&[1; 100]);
        t.sent();
        send!(t, seq 1, ack 51);
        t.events();
        for wrong in [ISS, ISS + 1, ISS + 50, ISS + 101, ISS + (1 << 31)] {
            icmp(&mut t, kind, wrong);
            assert_eq!(t.events(), [], "{kind:?} {wrong:?}");
        }
        icmp(&mut t, kind, ISS + 51);
        icmp(&mut t, kind, ISS + 100);
        assert_eq!(t.events(), [Event::Trouble(Trouble::Icmp)], "once");
    }
}

/// ICMP hard errors end an attempt to connect, and soft errors do not. The quoted sequence number
/// must be that of the SYN.
#[test]
fn an_attempt_to_connect_ends_by_hard_errors_only() {
    let syn = Record::new().flags(SYN).mss(462);
    for kind in KINDS {
        for mut t in [
            Host::connect(&plain(), 1024, 1024),
            Host::accept(&plain(), 1024, 1024, syn.clone()),
        ] {
            t.sent();
            icmp(&mut t, kind, ISS + 1);
            icmp(&mut t, kind, ISS - 1);
            assert!(!t.conn.is_closed(), "not ours");
            icmp(&mut t, kind, ISS);
            // RFC 9293 §3.9.2.2: these two are hard errors.
            let is_hard = matches!(kind, IcmpKind::Prohibited | IcmpKind::PortUnreachable);
            assert_eq!(t.conn.is_closed(), is_hard, "{kind:?}");
        }
    }
    let mut t = Host::connect(&plain(), 1024, 1024);
    t.sent();
    icmp(&mut t, IcmpKind::PortUnreachable, ISS);
    assert_eq!(t.conn.error(), Some(Error::Refused));
}

#[test]
fn an_idle_connection_ignores_icmp_errors() {
    for kind in KINDS {
        let mut t = Host::established(&plain(), 1400, 4096);
        for offset in 0..3 {
            icmp(&mut t, kind, ISS + offset);
        }
        assert_eq!((t.events(), t.conn.state()), (vec![], State::Established));
    }
}

#[cfg(feature = "large-windows")]
fn large() -> Host {
    let mut t = Host::established(&plain(), 1400, 4096);
    t.max_len = 1500;
    t.write(&[1; 1400]);
    recv!(t, seq 1, ack 1, len 1400);
    t
}

#[cfg(feature = "large-windows")]
fn too_big(t: &mut Host, mtu: u16, quoted: SeqNum) -> u32 {
    let now = t.now();
    t.conn.on_packet_too_big(now, mtu, quoted);
    t.conn.info().eff_snd_mss
}

/// RFC 5927 §7.2: a message is accepted at once if no segment of this size was acknowledged, and
/// later only after the quoted segment has timed out.
#[test]
#[cfg(feature = "large-windows")]
fn packet_too_big_is_ignored_while_there_is_progress() {
    let mut t = large();
    send!(t, seq 1, ack 1401);
    t.write(&[1; 2800]);
    recv!(t, seq 1401, ack 1, len 1400);
    for quoted in [1401, 2000, 2800] {
        assert_eq!(too_big(&mut t, 1300, ISS + quoted), 1400, "not yet");
    }
    t.sent();
    t.run_until(400);
    assert_eq!(t.conn.stats().rtos, 1);
    t.sent();
    assert_eq!(too_big(&mut t, 1300, ISS + 1401), 1240);
    // The data are retransmitted at once, in pieces that fit.
    recv!(t, seq 1401, ack 1, len 1240);
    // After progress, the next message is ignored.
    send!(t, seq 1, ack 2641);
    t.sent();
    assert_eq!(too_big(&mut t, 1280, ISS + 2641), 1240);
}

/// RFC 5927 §7.2: acknowledged segments that are smaller prove nothing about large ones.
#[test]
#[cfg(feature = "large-windows")]
fn small_segments_that_arrived_do_not_refute_packet_too_big() {
    let mut t = Host::established(&plain(), 1400, 4096);
    t.max_len = 1500;
    t.write(&[1; 1399]);
    recv!(t, seq 1, ack 1, len 1399);
    send!(t, seq 1, ack 1400);
    t.write(&[1; 1400]);
    recv!(t, seq 1400, ack 1, len 1400);
    assert_eq!(too_big(&mut t, 1300, ISS + 1400), 1240);
}

/// RFC 8201 §4: the path MTU never falls below the minimum MTU of IPv6 and never increases. RFC
/// 5927 §4.1: a message about a number that is not outstanding has no effect.
#[test]
#[cfg(feature = "large-windows")]
fn absurd_path_mtus_are_ignored() {
    for timed_out in [false, true] {
        let mut t = large();
        if timed_out {
            t.run_until(400);
            t.sent();
        }
        for mtu in [0, 1, 68, 576, 1279] {
            assert_eq!(too_big(&mut t, mtu, ISS + 1), 1400, "{mtu}");
        }
        for wrong in [ISS, ISS + 1401, ISS + (1 << 31)] {
            assert_eq!(too_big(&mut t, 1280, wrong), 1400, "{wrong:?}");
        }
        assert_eq!(too_big(&mut t, u16::MAX, ISS + 1), 1400);
        assert_eq!(too_big(&mut t, 1280, ISS + 1), 1220);
        assert_eq!(too_big(&mut t, 1400, ISS + 1), 1220);
        assert_eq!(too_big(&mut t, 1460, ISS + 1), 1220);
    }
}
