//! Tests of small windows with recorded segments of Linux 6.18 (`docs/rivals.md` describes the
//! recording). The peer has a constant window, and acknowledges each segment
//! after a given number of milliseconds.

use std::vec::Vec;

use redpoll_tcp::{Fields, Options};

use super::*;

/// Writes: the time in milliseconds, and the number of bytes.
type Writes = Vec<(u64, usize)>;

/// Returns time, position and length of the segments that are sent to a peer with this window. The
/// peer announces no segment size and acknowledges after `delay_ms`.
fn sent(window: u16, writes: &Writes, delay_ms: u64, nagle: bool) -> Vec<(u64, u32, usize)> {
    let config = LinuxConfig {
        nagle,
        ..LinuxConfig::default()
    };
    sent_by(config, window, writes, delay_ms)
}

fn sent_by(
    config: LinuxConfig,
    window: u16,
    writes: &Writes,
    delay_ms: u64,
) -> Vec<(u64, u32, usize)> {
    let mut linux = Linux::new(config, Rng::new(1));
    let mut body = Body::new(std::vec![0; 8_192], std::vec![0; 1_024]);
    let segment = |flags, seq, ack| Segment {
        flags,
        src_port: 1,
        dst_port: 2,
        window,
        seq: SeqNum(seq),
        ack,
        payload: &[],
        options: Options::default(),
    };
    let start = Instant::ZERO;
    let mut c = linux
        .accept(start, &segment(Flags::SYN, 99, SeqNum(0)))
        .unwrap();
    let syn: Fields = linux.poll_segment(start, &mut c, &mut body).unwrap().fields;
    let base = syn.seq + 1;
    linux.input(start, &mut c, &mut body, &segment(Flags::ACK, 100, base));
    assert_eq!(c.state, State::Established);
    let mut acks: Vec<(u64, SeqNum)> = Vec::new();
    let (mut seen, mut received) = (Vec::new(), base);
    for ms in 0..10_000 {
        let now = Instant::from_millis(ms);
        for (_, len) in writes.iter().filter(|(at, _)| *at == ms) {
            assert_eq!(body.write(&std::vec![7; *len], usize::MAX), *len);
            linux.on_write(now, &mut c, &mut body);
        }
        acks.retain(|(at, ack)| {
            if *at == ms {
                linux.input(now, &mut c, &mut body, &segment(Flags::ACK, 100, *ack));
            }
            *at != ms
        });
        if linux.timer(&c).is_some_and(|at| at <= now) {
            linux.on_timeout(now, &mut c, &mut body);
        }
        while let Some(out) = linux.poll_segment(now, &mut c, &mut body) {
            if out.len == 0 {
                continue;
            }
            seen.push((ms, out.fields.seq - base, out.len));
            if out.fields.seq <= received {
                received = received.max(out.fields.seq + out.len as u32);
            }
            acks.push((ms + delay_ms, received));
        }
    }
    assert_eq!(body.tx.len(), 0, "all is acknowledged");
    seen
}

/// Returns the positions and lengths of segments.
fn pieces(sent: &[(u64, u32, usize)]) -> Vec<(u32, usize)> {
    sent.iter().map(|(_, seq, len)| (*seq, *len)).collect()
}

#[test]
fn a_window_of_200_bytes_is_one_segment() {
    let sent = sent(200, &std::vec![(0, 1_000)], 20, true);
    let expected = [(0, 200), (200, 200), (400, 200), (600, 200), (800, 200)];
    assert_eq!(pieces(&sent), expected);
}

/// A window of up to 536 bytes is one segment; a larger window is two segments.
#[test]
fn beyond_536_bytes_a_segment_is_half_the_window() {
    let writes = std::vec![(0, 1_200)];
    assert_eq!(pieces(&sent(536, &writes, 20, true))[0], (0, 536));
    assert_eq!(pieces(&sent(512, &writes, 20, true))[0], (0, 512));
    let halves = sent(600, &writes, 20, true);
    assert_eq!(
        pieces(&halves),
        [(0, 300), (300, 300), (600, 300), (900, 300)]
    );
    let halves = sent(537, &writes, 20, true);
    assert_eq!(pieces(&halves)[..2], [(0, 268), (268, 268)]);
}

/// Reproduces the segments of 8 bytes of Kim et al. 2015: a segment has at least 48 bytes, a window
/// of 40 is too small for it, and the rest is a segment too.
#[test]
fn a_window_of_40_bytes_makes_segments_of_8() {
    let writes = (0..4).map(|write| (500 * write, 48)).collect();
    let sent = sent(40, &writes, 100, false);
    let expected = [(0, 40), (40, 8), (48, 40), (88, 8)];
    assert_eq!(pieces(&sent)[..4], expected);
    let (first, rest) = (sent[0].0, sent[1].0);
    assert!(
        (200..=260).contains(&first),
        "cut by the probe timer, at {first} ms"
    );
    assert_eq!(rest - first, 100, "the rest leaves with the acknowledgment");
}

/// If the application has more data, each segment is cut at the window's edge, and its remaining
/// part joins the following data.
#[test]
fn a_stream_over_a_window_of_40_bytes_is_cut_at_its_edge_each_time() {
    let sent = sent(40, &std::vec![(0, 200)], 100, true);
    assert_eq!(pieces(&sent)[..4], [(0, 40), (40, 40), (80, 40), (120, 40)]);
    let gap = sent[1].0 - sent[0].0;
    assert!((300..=420).contains(&gap), "{gap} ms");
}

/// Before GSO a piece is one segment: the remaining part of a cut piece does not grow if other
/// pieces follow it.
#[test]
fn pieces_of_one_segment_leave_8_bytes_each_time() {
    let config = LinuxConfig {
        gso: false,
        ..LinuxConfig::default()
    };
    let sent = sent_by(config, 40, &std::vec![(0, 200)], 100);
    let expected = [
        (0, 40),
        (40, 8),
        (48, 40),
        (88, 8),
        (96, 40),
        (136, 8),
        (144, 40),
        (184, 8),
        (192, 8),
    ];
    assert_eq!(pieces(&sent), expected);
    assert_eq!(sent[1].0 - sent[0].0, 100, "with the acknowledgment");
}

/// A write is a segment of its own if the previous segment is acknowledged before the write.
#[test]
fn writes_of_39_bytes_are_joined_only_when_acknowledgments_are_late() {
    let config = LinuxConfig {
        gso: false,
        ..LinuxConfig::default()
    };
    let writes: Writes = (0..6).map(|write| (500 * write, 39)).collect();
    let soon = sent_by(config.clone(), 40, &writes, 100);
    assert!(soon.iter().all(|(_, _, len)| *len == 39), "{soon:?}");
    let late = sent_by(config, 40, &writes, 700);
    assert!(late.iter().any(|(_, _, len)| *len == 8), "{late:?}");
}

#[test]
fn the_timeout_is_200_ms_over_the_round_trip() {
    let mut rtt = Rtt::new(Duration::from_millis(200));
    assert_eq!(rtt.timeout(0), Duration::from_secs(1));
    for _ in 0..50 {
        rtt.sample(Duration::from_millis(30));
    }
    let timeout = rtt.timeout(0).as_millis();
    assert!((229..=231).contains(&timeout), "{timeout} ms");
    assert_eq!(rtt.timeout(2).as_millis() / 4, timeout);
}
