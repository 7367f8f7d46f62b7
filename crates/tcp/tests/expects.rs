//! The traffic for which a connection waits. A sleepy node polls its parent often while it expects
//! a packet.

use redpoll_tcp::{Config, Expect, State};
use redpoll_testkit::{Host, SYN_ACK, send};

fn plain() -> Config {
    Config {
        timestamps: false,
        sack: false,
        mss: 462,
        ..Config::default()
    }
}

#[test]
fn an_acknowledgment_is_expected_until_everything_is_acknowledged() {
    let mut t = Host::connect(&plain(), 4096, 4096);
    assert_eq!(t.conn.expects(), Expect::Ack, "the SYN is about to leave");
    t.sent();
    assert_eq!(t.conn.expects(), Expect::Ack);
    send!(t, flags SYN_ACK, seq 0, ack 1, mss 100);
    t.sent();
    assert_eq!(t.conn.expects(), Expect::Nothing);
    t.write(&[1; 200]);
    t.sent();
    for (ack, expected) in [(101, Expect::Ack), (201, Expect::Nothing)] {
        send!(t, seq 1, ack ack);
        assert_eq!(t.conn.expects(), expected, "{ack}");
    }
    t.close();
    t.sent();
    assert_eq!(t.conn.expects(), Expect::Ack, "of the FIN");
    send!(t, seq 1, ack 202);
    assert_eq!(t.conn.state(), State::FinWait2);
    assert_eq!(t.conn.expects(), Expect::Data, "the peer's FIN");
}

#[test]
fn data_is_expected_during_a_transfer_and_behind_a_gap() {
    let mut t = Host::established(&plain(), 100, 4096);
    assert_eq!(t.conn.expects(), Expect::Nothing);
    for (seq, at_once, later) in [
        // The acknowledgment waits for a second segment.
        (1, Expect::Data, Expect::Nothing),
        (21, Expect::Data, Expect::Data),
        (11, Expect::Nothing, Expect::Nothing),
    ] {
        send!(t, seq seq, ack 1, len 10);
        t.drain();
        assert_eq!(t.conn.expects(), at_once, "{seq}");
        t.wait(300);
        t.drain();
        assert_eq!(t.conn.expects(), later, "{seq}");
    }
}
