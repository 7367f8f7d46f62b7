//! RFC 3465: cwnd grows by the acknowledged bytes.

use redpoll_tcp::Config;
use redpoll_testkit::{Host, ms, send};

const MSS: u32 = 100;

/// Sends a window of four segments of 100 bytes, starting at 1. More data wait.
fn busy() -> Host {
    let config = Config {
        timestamps: false,
        min_rto: ms(1_000),
        ..Config::default()
    };
    let mut t = Host::established_with(&config, MSS as u16, 60_000, 60_000, 64);
    t.write(&[b'x'; 60_000]);
    t.drain();
    assert_eq!(t.conn.info().cwnd, 4 * MSS);
    t
}

/// RFC 3465 §2.2: cwnd grows by the bytes that an ACK covers, even if they are few; §2.3: by at
/// most two segments.
#[test]
fn slow_start_counts_bytes() {
    let mut t = busy();
    let mut cwnd = t.conn.info().cwnd;
    let mut ack = 1;
    for (bytes, growth) in [
        (1, 1),
        (49, 49),
        (50, 50),
        (200, 200),
        (100, 100),
        (300, 200),
    ] {
        ack += bytes;
        send!(t, seq 1, ack ack, win 60_000);
        t.drain();
        cwnd += growth;
        assert_eq!(t.conn.info().cwnd, cwnd, "for {bytes}");
    }
}

/// RFC 3465 §2.3: after a timeout cwnd grows by one segment per ACK, however much the ACK covers.
#[test]
fn a_limit_of_one_behind_a_timeout() {
    let mut t = busy();
    t.run_until(1_000);
    t.drain();
    assert_eq!((t.conn.info().cwnd, t.conn.stats().rtos), (MSS, 1));
    send!(t, seq 1, ack 401, win 60_000);
    assert_eq!(t.conn.info().cwnd, 2 * MSS);
}

/// RFC 3465 §2.1: above ssthresh, cwnd grows by one segment per window of bytes, whether an ACK
/// covers two segments, one segment, or a tenth of one.
#[test]
fn congestion_avoidance_counts_bytes() {
    for step in [200, 100, 10] {
        let mut t = busy();
        t.run_until(1_000);
        t.drain();
        let mut una = 401;
        send!(t, seq 1, ack una, win 60_000);
        t.drain();
        assert_eq!(t.conn.info().cwnd, t.conn.info().ssthresh);
        una += 100;
        send!(t, seq 1, ack una, win 60_000);
        t.drain();
        for segments in 3..6 {
            let window = segments * MSS;
            assert_eq!(t.conn.info().cwnd, window, "{step} an ACK");
            let end = una + window;
            while una < end {
                una = end.min(una + step);
                send!(t, seq 1, ack una, win 60_000);
                t.drain();
                let is_growing = una == end;
                assert_eq!(t.conn.info().cwnd > window, is_growing, "{step} an ACK");
            }
        }
    }
}
