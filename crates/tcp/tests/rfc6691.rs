//! RFC 6691 and RFC 9293 §3.7.1, §3.7.2: the maximum segment size.

use redpoll_tcp::Config;
#[cfg(feature = "large-windows")]
use redpoll_testkit::recv_nothing;
use redpoll_testkit::{Host, Record, SYN, SYN_ACK, recv, send};

fn config(mss: u16, timestamps: bool) -> Config {
    Config {
        mss,
        timestamps,
        ..Config::default()
    }
}

/// RFC 6691 §2: the MSS option does not account for other options; the sender subtracts its own.
#[test]
fn the_option_says_the_size_without_options() {
    let mut t = Host::connect(&config(474, true), 2000, 64);
    recv!(t, flags SYN, seq 0, mss 474);
    send!(t, flags SYN_ACK, seq 0, ack 1, mss 1440, ts (1, 1_000));
    t.write(&[b'x'; 1000]);
    recv!(t, seq 1, ack 1, len 462);
}

#[test]
fn the_smaller_of_the_two_counts() {
    for (own, theirs, size) in [(474, 300, 300), (300, 474, 300), (474, 474, 474)] {
        let mut t = Host::established_with(&config(own, false), theirs, 4096, 2000, 64);
        t.write(&[b'x'; 1000]);
        recv!(t, seq 1, ack 1, len size);
    }
}

/// RFC 9293 §3.7.1, MUST-15: without an option the MSS is 1220, for IPv6.
#[test]
fn without_an_option_the_mss_is_1220() {
    let mut t = Host::accept(&config(1400, false), 2000, 64, Record::new().flags(SYN));
    t.max_len = 1500;
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 1400);
    send!(t, seq 1, ack 1);
    t.write(&[b'x'; 2000]);
    recv!(t, seq 1, ack 1, len 1220);
}

#[test]
fn an_absurd_option_does_not_stop_the_connection() {
    for absurd in [0, 1, 12, 63] {
        let syn = Record::new().flags(SYN).mss(absurd).ts((1, 0));
        let mut t = Host::accept(&config(474, true), 2000, 64, syn);
        t.sent();
        send!(t, seq 1, ack 1, ts (2, 1_000));
        t.write(&[b'x'; 100]);
        recv!(t, seq 1, ack 1, len 52);
    }
}

#[test]
fn a_link_that_takes_less_gets_less() {
    let mut t = Host::established(&config(474, false), 474, 4096);
    t.max_len = 20 + 200;
    t.write(&[b'x'; 400]);
    recv!(t, seq 1, ack 1, len 200);
    recv!(t, seq 201, ack 1, len 200);
}

/// RFC 9293 §3.7.2: a smaller path MTU reduces the segment size and, by RFC 5681 §3.1, cwnd.
/// Outstanding data are retransmitted in smaller segments.
#[test]
#[cfg(feature = "large-windows")]
fn a_smaller_path_mtu_makes_smaller_segments() {
    let mut t = Host::established(&config(474, false), 400, 4096);
    t.write(&[b'x'; 1600]);
    assert_eq!(t.sent().len(), 4);
    let now = t.now();
    t.conn.on_path_mtu(now, 40 + 20 + 200);
    assert_eq!(t.conn.info().cwnd, 800);
    for seq in [1, 201, 401, 601] {
        recv!(t, seq seq, ack 1, len 200);
    }
    recv_nothing!(t);
    assert_eq!(t.conn.stats().retransmissions.path_mtu, 4);
    assert_eq!(t.conn.info().ssthresh, 65_535, "not a sign of congestion");
    // A larger MTU has no effect.
    t.conn.on_path_mtu(now, 1280);
    assert_eq!(t.conn.info().eff_snd_mss, 200);
}
