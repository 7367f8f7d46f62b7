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
    /// Returns a connection that the peer has opened, whose next byte is 100.
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

    /// Returns the answer to this segment: acknowledgment, offset and length of each segment sent.
    fn input(&mut self, seg: &Segment<'_>) -> Vec<(u32, u32, usize)> {
        self.uip
            .input(Instant::ZERO, &mut self.control, &mut self.body, seg);
        self.said()
    }

    fn said(&mut self) -> Vec<(u32, u32, usize)> {
        let base = self.base;
        let outs = self.outs().into_iter();
        outs.map(|out| (out.fields.ack.0, out.fields.seq - base, out.len))
            .collect()
    }

    fn outs(&mut self) -> Vec<Out> {
        let (c, body) = (&mut self.control, &mut self.body);
        core::iter::from_fn(|| self.uip.poll_segment(Instant::ZERO, c, body)).collect()
    }

    /// Returns the flags, acknowledgments and windows of the answers to this segment.
    fn headers(&mut self, seg: &Segment<'_>) -> Vec<(Flags, u32, u16)> {
        self.uip
            .input(Instant::ZERO, &mut self.control, &mut self.body, seg);
        let fields = self.outs().into_iter().map(|out| out.fields);
        fields.map(|f| (f.flags, f.ack.0, f.window)).collect()
    }

    fn read(&mut self) {
        self.body.read(&mut [0; 48]);
        self.uip
            .on_read(Instant::ZERO, &mut self.control, &mut self.body);
    }

    fn ticks(&mut self, count: u32) {
        for _ in 0..count {
            let now = self.uip.next_tick().unwrap();
            self.uip.on_timeout(now, &mut self.control, &mut self.body);
            self.uip.on_tick(1);
        }
    }

    fn close(&mut self) {
        self.body.closing = true;
        self.uip
            .on_close(Instant::ZERO, &mut self.control, &mut self.body);
    }

    fn connecting(config: UipConfig) -> Peer {
        let mut uip = Uip::new(config, Rng::new(1));
        let control = uip.connect(Instant::ZERO);
        let body = Body::new(std::vec![0; 96], std::vec![0; 48]);
        let base = SeqNum(1);
        let mut peer = Peer {
            uip,
            control,
            body,
            base,
        };
        assert_eq!(peer.outs().len(), 1);
        peer
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
fn a_reset_with_any_sequence_number_closes_the_connection() {
    let mut peer = Peer::accepted();
    let base = peer.base;
    peer.input(&segment(Flags::RST, 5_000_000, base, &[]));
    assert_eq!(peer.control.state, State::Closed);
}

#[test]
fn without_an_answer_the_connection_is_reset_after_122_5_s() {
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

/// Behaviour of the originals, compared in `docs/rivals-checked.md`.
mod beside_the_originals {
    use redpoll_base::Addr;
    use redpoll_tcp::IpMeta;

    use super::*;

    const RESET: Flags = Flags::RST.with(Flags::ACK);

    #[test]
    fn a_segment_for_a_stopped_application_is_not_answered() {
        let mut peer = Peer::accepted();
        let base = peer.base;
        peer.input(&segment(Flags::ACK, 100, base, &[7; 48]));
        assert_eq!(peer.input(&segment(Flags::ACK, 148, base, b"more")), []);
        let fin = Flags::ACK.with(Flags::FIN);
        assert_eq!(peer.input(&segment(fin, 148, base, b"last")), []);
        assert_eq!(peer.input(&segment(fin, 148, base, &[])), []);
        // Only data that are not the next bytes are answered.
        let old = peer.input(&segment(Flags::ACK, 147, base, b"7"));
        assert_eq!(old, [(148, 0, 0)]);
        peer.read();
        assert_eq!(peer.said(), [(148, 0, 0)]);
        assert_eq!(
            peer.input(&segment(Flags::ACK, 148, base, b"more")),
            [(152, 0, 0)]
        );
    }

    /// The stack requests no data from the application before the outstanding segment is
    /// acknowledged or retransmitted.
    #[test]
    fn a_window_does_not_open_while_something_is_outstanding() {
        for by_timer in [false, true] {
            let mut peer = Peer::accepted();
            let base = peer.base;
            peer.write(30);
            assert_eq!(peer.said(), [(100, 0, 30)]);
            let full = segment(Flags::ACK, 100, base, &[7; 48]);
            assert_eq!(peer.headers(&full), [(Flags::ACK, 148, 0)]);
            peer.read();
            assert_eq!(peer.said(), []);
            if by_timer {
                peer.ticks(4);
                let outs = peer.outs();
                let windows: Vec<_> = outs
                    .iter()
                    .map(|out| (out.len, out.fields.window))
                    .collect();
                assert_eq!(windows, [(30, 48)]);
            } else {
                let all = segment(Flags::ACK, 148, base + 30, &[]);
                assert_eq!(peer.headers(&all), [(Flags::ACK, 148, 48)]);
            }
        }
    }

    #[test]
    fn a_window_is_open_again_once_there_is_a_fin() {
        let mut peer = Peer::accepted();
        let fin = Flags::ACK.with(Flags::FIN);
        let last = segment(fin, 100, peer.base, b"last");
        assert_eq!(peer.headers(&last), [(fin, 105, 48)]);
    }

    #[test]
    fn fin_wait_2_begins_where_the_timer_stands_and_time_wait_at_nought() {
        let mut peer = Peer::accepted();
        let base = peer.base;
        peer.close();
        assert_eq!(peer.outs().len(), 1);
        assert_eq!(peer.input(&segment(Flags::ACK, 100, base + 1, &[])), []);
        assert_eq!(peer.control.state, State::FinWait2);
        // The timeout is three ticks.
        peer.ticks(116);
        assert_eq!(peer.control.state, State::FinWait2);
        let fin = Flags::ACK.with(Flags::FIN);
        assert_eq!(
            peer.headers(&segment(fin, 100, base + 1, &[])),
            [(Flags::ACK, 101, 48)]
        );
        peer.ticks(119);
        assert_eq!(peer.control.state, State::TimeWait);
        peer.ticks(1);
        assert_eq!(peer.control.state, State::Closed);

        let mut peer = Peer::accepted();
        let base = peer.base;
        peer.close();
        peer.outs();
        peer.input(&segment(Flags::ACK, 100, base + 1, &[]));
        peer.ticks(117);
        assert_eq!(peer.control.state, State::Closed);
    }

    #[test]
    fn data_with_the_acknowledgment_of_a_fin_are_not_answered() {
        let mut peer = Peer::accepted();
        let base = peer.base;
        peer.close();
        assert_eq!(peer.outs().len(), 1);
        assert_eq!(peer.input(&segment(Flags::ACK, 100, base + 1, b"data")), []);
        assert_eq!(peer.control.state, State::FinWait2);
        // uIP counted these data: it accepts the next bytes, at 104, and acknowledges up to 108.
        let said = peer.input(&segment(Flags::ACK, 104, base + 1, b"more"));
        assert_eq!(said, [(108, 1, 0)]);
    }

    #[test]
    fn a_syn_at_the_next_byte_has_no_effect() {
        let mut peer = Peer::accepted();
        let base = peer.base;
        let with_data = |seq| segment(Flags::SYN, seq, base, b"data");
        assert_eq!(peer.input(&with_data(100)), [(104, 0, 0)]);
        peer.read();
        peer.close();
        peer.outs();
        let bare = segment(Flags::SYN, 104, base, &[]);
        assert_eq!(peer.input(&bare), []);
        assert_eq!(peer.input(&with_data(104)), [(108, 0, 0)]);
    }

    #[test]
    fn the_last_reset_announces_an_open_window() {
        let mut peer = Peer::accepted();
        peer.write(10);
        peer.outs();
        let full = segment(Flags::ACK, 100, peer.base, &[7; 48]);
        assert_eq!(peer.headers(&full), [(Flags::ACK, 148, 0)]);
        peer.ticks(300);
        let reset = peer.outs().last().unwrap().fields;
        assert_eq!((reset.flags, reset.window), (RESET, 48));
    }

    #[test]
    fn in_closing_only_the_acknowledgment_counts() {
        let mut peer = Peer::accepted();
        let base = peer.base;
        peer.close();
        peer.outs();
        let fin = Flags::ACK.with(Flags::FIN);
        assert_eq!(peer.input(&segment(fin, 100, base, &[])), [(101, 0, 0)]);
        assert_eq!(peer.control.state, State::Closing);
        assert_eq!(peer.input(&segment(fin, 101, base, b"more")), []);
        assert_eq!(peer.input(&segment(fin, 101, base + 1, b"more")), []);
        assert_eq!(peer.control.state, State::TimeWait);
        let said = peer.input(&segment(Flags::ACK, 101, base + 1, &[]));
        assert_eq!(said, [(101, 1, 0)]);
    }

    #[test]
    fn a_segment_that_does_not_answer_a_syn_is_reset_with_its_own_header() {
        let answer = Flags::SYN.with(Flags::ACK);
        for (flags, seq, ack) in [
            (answer, 700, 10),
            (answer.with(Flags::PSH), 700, 1),
            (Flags::ACK, 700, 1),
        ] {
            let mut peer = Peer::connecting(UipConfig::default());
            let said = peer.headers(&segment(flags, seq, SeqNum(ack), &[]));
            if flags == answer.with(Flags::PSH) {
                // The segment is out of order and has a SYN.
                assert_eq!(said, [(Flags::SYN, 0, 48)]);
                continue;
            }
            assert_eq!(said, [(RESET, seq + 1, 500)]);
            assert_eq!(peer.control.state, State::Closed);
        }
        let mut peer = Peer::connecting(UipConfig::default());
        let wrong = segment(answer, 700, SeqNum(10), &[]);
        peer.uip
            .input(Instant::ZERO, &mut peer.control, &mut peer.body, &wrong);
        assert_eq!(peer.outs()[0].fields.seq, SeqNum(10));
    }

    #[test]
    fn a_syn_out_of_place_is_answered_as_the_release_does() {
        let (syn, both) = (Flags::SYN, Flags::SYN.with(Flags::ACK));
        for answers_syn in [false, true] {
            let config = UipConfig {
                answers_syn,
                ..UipConfig::default()
            };
            let mut peer = Peer::connecting(config.clone());
            let said = peer.outs();
            assert_eq!(said, []);
            let said = peer.headers(&segment(syn, 700, SeqNum(0), &[]));
            let flags = if answers_syn { syn } else { Flags::ACK };
            assert_eq!(said, [(flags, 0, 48)]);
            let mut uip = Uip::new(config, Rng::new(1));
            let first = segment(syn, 99, SeqNum(0), &[]);
            let control = uip.accept(Instant::ZERO, &first).unwrap();
            let body = Body::new(std::vec![0; 96], std::vec![0; 48]);
            let base = SeqNum(1);
            let mut peer = Peer {
                uip,
                control,
                body,
                base,
            };
            peer.outs();
            for seq in [99, 700] {
                let said = peer.headers(&segment(syn, seq, SeqNum(0), &[]));
                assert_eq!(said, [(both, 100, 48)]);
            }
            let said = peer.headers(&segment(both, 700, SeqNum(0), &[]));
            let flags = if answers_syn { both } else { Flags::ACK };
            assert_eq!(said, [(flags, 100, 48)]);
            let mut peer = Peer::accepted();
            let said = peer.headers(&segment(syn, 99, SeqNum(0), &[]));
            assert_eq!(said, [(Flags::ACK, 100, 48)]);
        }
    }

    #[test]
    fn a_segment_without_a_connection_is_reset_with_its_own_header() {
        let uip = Uip::new(UipConfig::default(), Rng::new(1));
        let meta = IpMeta {
            src: Addr([2; 16]),
            dst: Addr([1; 16]),
            ecn: redpoll_base::Ecn::NotEct,
            hop_limit: 64,
        };
        let refused = |seg: &Segment<'_>, listens| {
            let header = uip.refuse(&meta, seg, listens)?;
            let header = header.as_bytes();
            let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
            let window = u16::from_be_bytes([header[14], header[15]]);
            Some((Flags(header[13]), word(4), word(8), window))
        };
        let data = segment(Flags::ACK, 900, SeqNum(77), b"data");
        assert_eq!(refused(&data, true), Some((RESET, 77, 901, 500)));
        let syn = segment(Flags::SYN, 900, SeqNum(77), &[]);
        assert_eq!(refused(&syn, false), Some((RESET, 77, 901, 500)));
        assert_eq!(refused(&syn, true), None, "there is no memory for it");
        let odd = segment(Flags::SYN.with(Flags::PSH), 900, SeqNum(77), &[]);
        assert_eq!(refused(&odd, true), Some((RESET, 77, 901, 500)));
        let reset = segment(Flags::RST, 900, SeqNum(77), &[]);
        assert_eq!(refused(&reset, true), None);
        let mut uip = Uip::new(UipConfig::default(), Rng::new(1));
        assert!(uip.accept(Instant::ZERO, &odd).is_none());
    }
}
