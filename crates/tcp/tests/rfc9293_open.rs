//! RFC 9293 §3.5 and §3.10.7.1 to §3.10.7.3: opening a connection, segment by segment.

use redpoll_tcp::{
    Action, Config, Connection, Endpoint, Error, Event, IpMeta, Listener, Segment, SendError,
    SendRing, SeqNum, State, reset_reply,
};
use redpoll_testkit::{
    FIN_ACK, Host, LOCAL, RST, RST_ACK, Record, SYN, SYN_ACK, from_peer, inward, ms, recv,
    recv_nothing, send,
};

fn plain() -> Config {
    Config {
        timestamps: false,
        mss: 462,
        ..Config::default()
    }
}

fn passive() -> Host {
    Host::accept(
        &plain(),
        2048,
        2048,
        Record::new().flags(SYN).win(1000).mss(300),
    )
}

#[test]
fn active_open() {
    let mut t = Host::connect(&plain(), 2048, 1848);
    recv!(t, flags SYN, seq 0, win 1848, mss 462);
    recv_nothing!(t);
    assert_eq!(t.conn.state(), State::SynSent);
    send!(t, flags SYN_ACK, seq 0, ack 1, win 1000, mss 300);
    recv!(t, seq 1, ack 1, win 1848);
    recv_nothing!(t);
    assert_eq!(t.conn.state(), State::Established);
    assert_eq!(t.events(), [Event::Connected]);
}

#[test]
fn passive_open() {
    let mut t = passive();
    recv!(t, flags SYN_ACK, seq 0, ack 1, win 2048, mss 462);
    assert_eq!(t.conn.state(), State::SynReceived);
    assert_eq!(t.events(), []);
    send!(t, seq 1, ack 1);
    assert_eq!(t.conn.state(), State::Established);
    assert_eq!(t.events(), [Event::Connected]);
    recv_nothing!(t);
}

#[test]
fn data_may_be_given_before_the_handshake_and_follows_it() {
    let mut t = Host::connect(&plain(), 2048, 2048);
    t.write(b"early");
    recv!(t, flags SYN, seq 0, mss 462);
    recv_nothing!(t);
    send!(t, flags SYN_ACK, seq 0, ack 1);
    recv!(t, seq 1, ack 1, data b"early");
}

#[test]
fn the_final_ack_may_carry_data() {
    let mut t = passive();
    t.drain();
    t.sent();
    send!(t, seq 1, ack 1, data b"hello");
    assert_eq!(t.conn.state(), State::Established);
    assert_eq!(t.read(99), b"hello");
}

#[test]
fn data_on_the_syn_ack_is_taken() {
    let mut t = Host::connect(&plain(), 2048, 2048);
    recv!(t, flags SYN, seq 0, mss 462);
    send!(t, flags SYN_ACK, seq 0, ack 1, data b"hi");
    recv!(t, seq 1, ack 3);
    assert_eq!(t.read(9), b"hi");
}

/// RFC 9293 §3.5, figure 7.
#[test]
fn simultaneous_open() {
    let mut t = Host::connect(&plain(), 2048, 2048);
    recv!(t, flags SYN, seq 0, mss 462);
    send!(t, flags SYN, seq 0, mss 300);
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    assert_eq!(t.conn.state(), State::SynReceived);
    send!(t, flags SYN_ACK, seq 0, ack 1);
    assert_eq!(t.conn.state(), State::Established);
    assert_eq!(t.events(), [Event::Connected]);
    recv_nothing!(t);
}

/// RFC 9293 §3.10.7.3: "If there are other controls or text in the segment, queue them for
/// processing after the ESTABLISHED state has been reached". The text is not read earlier, and only
/// once, whether the peer retransmits it or not.
#[test]
fn text_on_a_crossing_syn_is_queued() {
    for again in 0..3 {
        let mut t = Host::connect(&plain(), 2048, 2048);
        recv!(t, flags SYN, seq 0, mss 462);
        send!(t, flags SYN, seq 0, mss 300, data b"early");
        recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
        assert_eq!(t.events(), []);
        assert_eq!(t.conn.recv_queue(), 0);
        // The SYN arrives again, with its data.
        t.wait(500);
        send!(t, flags SYN, seq 0, mss 300, data b"early");
        recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
        match again {
            0 => send!(t, flags SYN_ACK, seq 0, ack 1, data b"early"),
            1 => send!(t, seq 1, ack 1, data b"early and more"),
            _ => send!(t, flags SYN_ACK, seq 0, ack 1),
        }
        assert_eq!(t.conn.state(), State::Established);
        assert_eq!(t.events(), [Event::Connected, Event::Readable]);
        let text = if again == 1 {
            &b"early and more"[..]
        } else {
            b"early"
        };
        recv!(t, seq 1, ack 1 + text.len() as u32);
        recv_nothing!(t, until 1_000);
        assert_eq!(t.read(100), text);
        t.write(b"answer");
        recv!(t, seq 1, ack 1 + text.len() as u32, data b"answer");
    }
}

/// RFC 9293 §3.10.7.3: a FIN on a crossing SYN is queued as well.
#[test]
fn a_fin_on_a_crossing_syn_is_queued() {
    for text in [&b""[..], b"all of it"] {
        let both = SYN.with(redpoll_wire::tcp::Flags::FIN);
        let mut t = Host::connect(&plain(), 2048, 2048);
        recv!(t, flags SYN, seq 0, mss 462);
        t.send(Record::new().flags(both).mss(300).data(text));
        recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
        assert_eq!(t.conn.state(), State::SynReceived);
        let end = 2 + text.len() as u32;
        send!(t, flags SYN_ACK, seq 0, ack 1);
        assert_eq!(t.conn.state(), State::CloseWait);
        assert_eq!(t.sent().last().unwrap().ack_number(), end);
        assert_eq!(t.read(64), text);
    }
}

/// Text on a crossing SYN that exceeds the buffer is dropped, and the peer retransmits the text.
#[test]
fn text_on_a_crossing_syn_without_room_comes_again() {
    let mut t = Host::connect(&plain(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462);
    send!(t, flags SYN, seq 0, mss 300, len 65);
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    send!(t, flags SYN_ACK, seq 0, ack 1);
    assert_eq!(t.conn.state(), State::Established);
    assert_eq!(t.conn.recv_queue(), 0);
    send!(t, seq 1, ack 1, len 64);
    assert_eq!(t.read(100).len(), 64);
}

#[test]
fn simultaneous_open_when_the_peers_syn_ack_is_lost() {
    let mut t = Host::connect(&plain(), 2048, 2048);
    recv!(t, flags SYN, seq 0, mss 462);
    send!(t, flags SYN, seq 0);
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    // Our first SYN,ACK establishes the peer's connection, and the peer answers our second one.
    recv!(t, at 1000, flags SYN_ACK, seq 0, ack 1, mss 462);
    send!(t, seq 1, ack 1);
    assert_eq!(t.conn.state(), State::Established);
}

#[test]
fn the_syn_is_repeated_and_then_given_up() {
    let mut t = Host::connect(
        &Config {
            syn_retries: 3,
            ..plain()
        },
        64,
        64,
    );
    recv!(t, flags SYN, seq 0, mss 462);
    for at in [1000, 3000, 7000] {
        recv!(t, at at, flags SYN, seq 0, mss 462);
    }
    recv_nothing!(t, until 14_999);
    assert_eq!(t.conn.state(), State::SynSent);
    recv_nothing!(t, until 15_000);
    assert_eq!(t.conn.state(), State::Closed);
    assert_eq!(t.events().last(), Some(&Event::Failed(Error::TimedOut)));
}

/// RFC 9293 §3.8.3, MUST-23: by default, a SYN is retransmitted for at least three minutes.
#[test]
fn by_default_a_syn_is_tried_for_three_minutes() {
    let mut t = Host::connect(&plain(), 64, 64);
    t.run_until(180_000);
    assert_eq!(t.conn.state(), State::SynSent);
    t.run_until(200_000);
    assert_eq!(t.conn.error(), Some(Error::TimedOut));
}

/// RFC 9293 §3.10.7.3, first step: an unacceptable ACK is answered with a reset, and the connection
/// stays in SYN-SENT.
#[test]
fn a_wrong_ack_in_syn_sent_is_reset() {
    for bad in [0, 2, 1 << 20] {
        let mut t = Host::connect(&plain(), 64, 64);
        recv!(t, flags SYN, seq 0, mss 462);
        send!(t, flags SYN_ACK, seq 0, ack bad);
        recv!(t, flags RST, seq bad);
        assert_eq!(t.conn.state(), State::SynSent);
        send!(t, flags RST_ACK, seq 0, ack bad);
        recv_nothing!(t);
        assert_eq!(t.conn.state(), State::SynSent);
    }
}

/// RFC 9293 §3.10.7.3, second step; RFC 5961 §3.2.
#[test]
fn a_reset_in_syn_sent_needs_the_right_ack() {
    let mut t = Host::connect(&plain(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462);
    send!(t, flags RST, seq 0);
    send!(t, flags RST, seq 1);
    assert_eq!(t.conn.state(), State::SynSent);
    send!(t, flags RST_ACK, seq 0, ack 1);
    assert_eq!(t.conn.state(), State::Closed);
    assert_eq!(t.events(), [Event::Failed(Error::Refused)]);
    recv_nothing!(t);
}

/// RFC 9293 §3.10.7.3, fifth step.
#[test]
fn an_ack_without_syn_in_syn_sent_is_dropped() {
    let mut t = Host::connect(&plain(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462);
    send!(t, seq 1, ack 1, data b"x");
    send!(t, flags FIN_ACK, seq 1, ack 1);
    recv_nothing!(t);
    assert_eq!(t.conn.state(), State::SynSent);
}

/// RFC 9293 §3.10.7.4, fifth step, in SYN-RECEIVED.
#[test]
fn a_wrong_ack_in_syn_received_is_reset() {
    for bad in [0, 2] {
        let mut t = passive();
        recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
        send!(t, seq 1, ack bad);
        recv!(t, flags RST, seq bad);
        assert_eq!(t.conn.state(), State::SynReceived);
    }
}

#[test]
fn a_repeated_syn_brings_the_syn_ack_again() {
    let mut t = passive();
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    send!(t, flags SYN, seq 0, win 1000, mss 300);
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    recv_nothing!(t);
    send!(t, seq 1, ack 1);
    assert_eq!(t.conn.state(), State::Established);
}

#[test]
fn the_syn_ack_is_repeated_by_timer() {
    let mut t = passive();
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    recv!(t, at 1000, flags SYN_ACK, seq 0, ack 1, mss 462);
    recv!(t, at 3000, flags SYN_ACK, seq 0, ack 1, mss 462);
}

/// RFC 9293 §3.10.4: CLOSE in SYN-RECEIVED is deferred until ESTABLISHED.
#[test]
fn close_in_syn_received() {
    let mut t = passive();
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    t.write(b"bye");
    t.close();
    assert_eq!(t.conn.send(t.now(), b"more"), Err(SendError::Closing));
    recv_nothing!(t);
    send!(t, seq 1, ack 1);
    recv!(t, flags FIN_ACK, seq 1, ack 1, data b"bye");
    assert_eq!(t.conn.state(), State::FinWait1);
}

#[test]
fn close_in_syn_sent() {
    let mut t = Host::connect(&plain(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462);
    t.close();
    assert_eq!(t.events(), [Event::Closed]);
    assert_eq!(t.conn.poll_at(), None);
    recv_nothing!(t);
    // The answer to the SYN belongs to no connection now.
    send!(t, flags SYN_ACK, seq 0, ack 1);
    recv!(t, flags RST, seq 1);
}

fn listen(record: Record) -> Action {
    let bytes = from_peer(&record);
    let seg = Segment::parse(&inward(), &bytes).unwrap();
    let listener = Listener::new(LOCAL);
    assert!(listener.matches(&inward(), &seg));
    listener.input(&inward(), &seg)
}

/// RFC 9293 §3.10.7.2.
#[test]
fn listen_ignores_resets_and_resets_acks() {
    assert!(matches!(listen(Record::new().flags(RST)), Action::Drop));
    assert!(matches!(listen(Record::new().flags(RST_ACK)), Action::Drop));
    assert!(matches!(
        listen(Record::new().flags(redpoll_wire::tcp::Flags::NONE)),
        Action::Drop
    ));
    assert!(matches!(
        listen(Record::new().flags(SYN_ACK)),
        Action::Reply(_)
    ));
    assert!(matches!(listen(Record::new()), Action::Reply(_)));
    assert!(matches!(
        listen(Record::new().flags(SYN)),
        Action::Accept(_)
    ));
}

/// RFC 9293 §3.10.7.2: with a SYN "any other control or text should be queued for processing
/// later", and the SYN is answered. In this implementation the peer retransmits the data that the
/// answer does not acknowledge.
#[test]
fn a_request_with_a_fin_and_text_is_answered() {
    let both = SYN.with(redpoll_wire::tcp::Flags::FIN);
    for text in [&b""[..], b"all of it"] {
        let len = text.len() as u32;
        let syn = Record::new().flags(both).mss(462).data(text);
        assert!(matches!(listen(syn.clone()), Action::Accept(_)));
        let mut t = Host::accept(&plain(), 64, 64, syn.clone());
        recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
        t.wait(500);
        t.send(syn);
        recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
        send!(t, flags FIN_ACK, seq 1, ack 1, data text);
        recv!(t, seq 1, ack 2 + len);
        assert_eq!(t.conn.state(), State::CloseWait);
        assert_eq!(t.read(64), text);
    }
}

/// RFC 9293 §3.10.7.4, first step, in SYN-RECEIVED: a SYN that is retransmitted with text has the
/// same answer as one without.
#[test]
fn a_repeated_syn_with_text_brings_the_syn_ack_again() {
    let mut t = passive();
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    t.wait(500);
    send!(t, flags SYN, seq 0, mss 300, data b"text");
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    recv_nothing!(t);
    assert_eq!(t.conn.state(), State::SynReceived);
}

/// RFC 9293 §3.10.7.2 for all 256 combinations of flags, with and without text: a reset is ignored,
/// an ACK is reset, and a SYN is a request whatever its other controls are. The rest is dropped.
#[test]
fn only_reset_ack_and_syn_decide_in_listen() {
    use redpoll_wire::tcp::Flags;
    for bits in 0..=u8::MAX {
        for text in [&b""[..], b"text"] {
            let flags = Flags(bits);
            let action = listen(Record::new().flags(flags).mss(462).data(text));
            let is_as_expected = match action {
                Action::Reply(_) => !flags.rst() && flags.ack(),
                Action::Accept(_) => !flags.rst() && !flags.ack() && flags.syn(),
                Action::Drop => flags.rst() || !flags.ack() && !flags.syn(),
            };
            assert!(is_as_expected, "{flags:?}: {action:?}");
        }
    }
}

/// RFC 9293 §3.10.7.3: a crossing SYN may have any other controls. Its text and FIN arrive once,
/// whether the peer repeats them on its SYN,ACK, after it, or not at all.
#[test]
fn controls_and_text_of_a_crossing_syn_arrive_once() {
    use redpoll_wire::tcp::Flags;
    let others = [Flags::FIN, Flags::PSH, Flags::URG];
    for bits in 0..8 {
        let of_bits = others
            .iter()
            .enumerate()
            .filter(|(bit, _)| bits >> bit & 1 == 1);
        let more = of_bits.fold(Flags::NONE, |all, (_, flag)| all.with(*flag));
        for text in [&b""[..], b"all of it"] {
            for again in 0..3 {
                let what = format!("{more:?}, {} bytes, again {again}", text.len());
                let mut t = Host::connect(&plain(), 2048, 2048);
                recv!(t, flags SYN, seq 0, mss 462);
                t.send(Record::new().flags(SYN.with(more)).mss(300).data(text));
                recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
                assert_eq!(t.conn.recv_queue(), 0, "{what}");
                match again {
                    0 => send!(t, flags SYN_ACK.with(more), seq 0, ack 1, data text),
                    1 => send!(t, flags Flags::ACK.with(more), seq 1, ack 1, data text),
                    _ => send!(t, flags SYN_ACK, seq 0, ack 1),
                }
                let has_fin = more.fin();
                let state = match has_fin {
                    true => State::CloseWait,
                    false => State::Established,
                };
                assert_eq!(t.conn.state(), state, "{what}");
                t.wait(500);
                let end = 1 + text.len() as u32 + u32::from(has_fin);
                let last = t.sent().pop().map_or(1, |record| record.ack_number());
                assert_eq!(last, end, "{what}");
                assert_eq!(t.read(64), text, "{what}");
                t.write(b"answer");
                recv!(t, seq 1, ack end, data b"answer");
            }
        }
    }
}

/// RFC 9293 §3.9.2.3, MUST-57 and MUST-63.
#[test]
fn segments_to_or_from_multicast_are_not_answered() {
    let group = redpoll_base::Addr([0xff; 16]);
    for (src, dst) in [(inward().src, group), (group, inward().dst)] {
        let meta = IpMeta {
            src,
            dst,
            ..inward()
        };
        for flags in [SYN, SYN_ACK] {
            let fields = redpoll_tcp::Fields {
                flags,
                ..Default::default()
            };
            let (from, to) = (Endpoint::new(src, 1), Endpoint::new(dst, LOCAL.port));
            let header = redpoll_tcp::Header::encode(&fields, &from, &to, [&[], &[]]);
            let seg = Segment::parse(&meta, header.as_bytes()).unwrap();
            let any = Listener::new(Endpoint {
                addr: Default::default(),
                ..LOCAL
            });
            assert!(any.matches(&meta, &seg));
            let action = any.input(&meta, &seg);
            assert!(matches!(action, Action::Drop));
            assert!(reset_reply(&meta, &seg).is_none());
        }
    }
}

#[test]
fn a_connection_claims_only_its_own_segments() {
    let conn = Connection::connect(
        redpoll_base::Instant::ZERO,
        &plain(),
        LOCAL,
        Endpoint {
            port: 81,
            ..redpoll_testkit::REMOTE
        },
        SeqNum(0),
        SendRing::new(vec![0; 16]),
        vec![0; 16],
    );
    let bytes = from_peer(&Record::new());
    assert!(!conn.matches(&inward(), &Segment::parse(&inward(), &bytes).unwrap()));
    assert_eq!(ms(1).as_millis(), 1);
}
