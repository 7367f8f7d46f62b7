//! uIP's answers, segment by segment.

use std::vec::Vec;

use redpoll_tcp::Options;

use super::*;

struct Peer {
    uip: Uip,
    control: Control,
    body: Body<Vec<u8>>,
    base: SeqNum,
}

fn segment(flags: Flags, seq: u32, ack: SeqNum, payload: &[u8]) -> Segment<'_> {
    Segment {
        flags,
        src_port: 1,
        dst_port: 2,
        window: 500,
        seq: SeqNum(seq),
        ack,
        payload,
        options: Options::default(),
    }
}

impl Peer {
    /// A connection that the peer has opened, whose next byte is 100.
    fn accepted() -> Peer {
        let mut uip = Uip::new(UipConfig::default(), Rng::new(1));
        let syn = segment(Flags::SYN, 99, SeqNum(0), &[]);
        let mut control = uip.accept(Instant::ZERO, &syn).unwrap();
        let mut body = Body::new(std::vec![0; 96], std::vec![0; 48]);
        let out = uip
            .poll_segment(Instant::ZERO, &mut control, &mut body)
            .unwrap();
        assert_eq!(out.fields.options.mss, Some(48));
        let base = out.fields.seq + 1;
        let mut peer = Peer {
            uip,
            control,
            body,
            base,
        };
        assert_eq!(peer.input(&segment(Flags::ACK, 100, base, &[])), []);
        assert_eq!(peer.control.state, State::Established);
        peer
    }

    /// What it says to this: acknowledgment, place and length of each segment.
    fn input(&mut self, seg: &Segment<'_>) -> Vec<(u32, u32, usize)> {
        self.uip
            .input(Instant::ZERO, &mut self.control, &mut self.body, seg);
        self.said()
    }

    fn said(&mut self) -> Vec<(u32, u32, usize)> {
        let (c, body) = (&mut self.control, &mut self.body);
        let outs = core::iter::from_fn(|| self.uip.poll_segment(Instant::ZERO, c, body));
        let base = self.base;
        outs.map(|out| (out.fields.ack.0, out.fields.seq - base, out.len))
            .collect()
    }

    fn write(&mut self, len: usize) {
        self.body.write(&std::vec![1; len], usize::MAX);
        self.uip
            .on_write(Instant::ZERO, &mut self.control, &mut self.body);
    }
}

#[test]
fn each_segment_in_order_is_acknowledged_at_once_and_no_other_is_kept() {
    let mut peer = Peer::accepted();
    let base = peer.base;
    let late = segment(Flags::ACK, 110, base, b"later");
    assert_eq!(peer.input(&late), [(100, 0, 0)], "dropped");
    let next = segment(Flags::ACK, 100, base, b"0123456789");
    assert_eq!(peer.input(&next), [(110, 0, 0)]);
    let mut out = [0; 48];
    assert_eq!(peer.body.read(&mut out), 10);
    assert_eq!(peer.input(&next), [(110, 0, 0)], "old news");
    assert_eq!(peer.body.read(&mut out), 0);
}

#[test]
fn one_segment_is_outstanding_and_only_all_of_it_counts() {
    let mut peer = Peer::accepted();
    peer.write(90);
    assert_eq!(peer.said(), [(100, 0, 48)]);
    let part = segment(Flags::ACK, 100, peer.base + 20, &[]);
    assert_eq!(peer.input(&part), [], "less than all of it");
    let all = segment(Flags::ACK, 100, peer.base + 48, &[]);
    assert_eq!(peer.input(&all), [(100, 48, 42)], "the next one");
}

#[test]
fn a_closed_window_is_probed_by_the_segment_itself() {
    let mut peer = Peer::accepted();
    let closed = Segment {
        window: 0,
        ..segment(Flags::ACK, 100, peer.base, b"x")
    };
    peer.input(&closed);
    peer.write(90);
    assert_eq!(peer.said(), [(101, 0, 48)]);
}

#[test]
fn a_window_that_the_application_does_not_read_closes_and_opens_again() {
    let mut peer = Peer::accepted();
    let (base, text) = (peer.base, [7; 48]);
    let full = segment(Flags::ACK, 100, base, &text);
    peer.uip
        .input(Instant::ZERO, &mut peer.control, &mut peer.body, &full);
    let (c, body) = (&mut peer.control, &mut peer.body);
    let out = peer.uip.poll_segment(Instant::ZERO, c, body).unwrap();
    assert_eq!((out.fields.ack.0, out.fields.window), (148, 0));
    peer.body.read(&mut [0; 48]);
    peer.uip
        .on_read(Instant::ZERO, &mut peer.control, &mut peer.body);
    let (c, body) = (&mut peer.control, &mut peer.body);
    let out = peer.uip.poll_segment(Instant::ZERO, c, body).unwrap();
    assert_eq!((out.fields.ack.0, out.fields.window), (148, 48));
}

#[test]
fn a_reset_is_believed_wherever_it_is() {
    let mut peer = Peer::accepted();
    let base = peer.base;
    peer.input(&segment(Flags::RST, 5_000_000, base, &[]));
    assert_eq!(peer.control.state, State::Closed);
}

#[test]
fn nobody_answers_for_122_and_a_half_seconds_and_the_connection_is_reset() {
    let mut peer = Peer::accepted();
    peer.write(10);
    assert_eq!(peer.said(), [(100, 0, 10)]);
    let mut sent = Vec::new();
    let mut now = Instant::ZERO;
    while peer.control.state != State::Closed {
        now = peer.uip.next_tick().unwrap();
        peer.uip.on_timeout(now, &mut peer.control, &mut peer.body);
        peer.uip.on_tick(1);
        if peer.said() == [(100, 0, 10)] {
            sent.push(now);
        }
    }
    assert_eq!(sent.len(), 8);
    assert_eq!(now.since(sent[0]), Duration::from_millis(122_500));
    assert_eq!(peer.body.error, Some(Error::TimedOut));
}
