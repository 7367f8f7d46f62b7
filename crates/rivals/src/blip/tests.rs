//! BLIP's defects, each without and with its correction.

use std::vec::Vec;

use redpoll_tcp::{Error, Options};

use super::*;

struct Peer {
    blip: Blip,
    control: Control,
    body: Body<Vec<u8>>,
}

fn segment(flags: Flags, seq: u32, ack: SeqNum, payload: &[u8]) -> Segment<'_> {
    Segment {
        flags,
        src_port: 1,
        dst_port: 2,
        window: 400,
        seq: SeqNum(FIRST + seq),
        ack,
        payload,
        options: Options::default(),
    }
}

/// The peer's first sequence number. The original treats a number nearer to zero as far away,
/// because its comparison does not wrap.
const FIRST: u32 = 5_000;

/// Sequence number of the first byte that BLIP sends.
const BASE: SeqNum = SeqNum(ISS_ACTIVE + 1);

impl Peer {
    fn connecting(corrections: Corrections) -> Peer {
        let config = BlipConfig {
            corrections,
            ..BlipConfig::default()
        };
        let mut blip = Blip::new(config, Rng::new(1));
        let control = blip.connect(Instant::ZERO);
        let body = Body::new(std::vec![0; 600], std::vec![0; 200]);
        Peer {
            blip,
            control,
            body,
        }
    }

    fn connected(corrections: Corrections) -> Peer {
        let mut peer = Peer::connecting(corrections);
        assert_eq!(peer.said(), [(SYN_FLAGS, 0, 0)]);
        let answer = segment(Flags::SYN.with(Flags::ACK), 99, BASE, &[]);
        assert_eq!(peer.input(&answer), [(Flags::ACK, 1, 0)]);
        peer
    }

    /// Returns flags, position relative to the ISN, and length of the sent segments.
    fn said(&mut self) -> Vec<(Flags, u32, usize)> {
        let (c, body) = (&mut self.control, &mut self.body);
        let outs = core::iter::from_fn(|| {
            let out = self.blip.poll_segment(Instant::ZERO, c, body)?;
            // Records the sequence number, as the table of connections does after each segment.
            body.sent_up_to = Some(out.fields.seq);
            Some(out)
        });
        outs.map(|out| (out.fields.flags, out.fields.seq.0 - ISS_ACTIVE, out.len))
            .collect()
    }

    fn input(&mut self, seg: &Segment<'_>) -> Vec<(Flags, u32, usize)> {
        self.blip
            .input(Instant::ZERO, &mut self.control, &mut self.body, seg);
        self.said()
    }

    fn write(&mut self, len: usize) {
        self.body.write(&std::vec![1; len], usize::MAX);
        self.blip
            .on_write(Instant::ZERO, &mut self.control, &mut self.body);
    }

    fn tick(&mut self) -> Vec<(Flags, u32, usize)> {
        self.blip
            .on_timeout(Instant::ZERO, &mut self.control, &mut self.body);
        self.said()
    }

    fn ticks(&mut self, count: usize) -> Vec<(Flags, u32, usize)> {
        (0..count).flat_map(|_| self.tick()).collect()
    }
}

const SYN_FLAGS: Flags = Flags::SYN;

fn only(set: impl FnOnce(&mut Corrections)) -> Corrections {
    let mut corrections = Corrections::NONE;
    set(&mut corrections);
    corrections
}

#[test]
fn a_repeated_syn_has_the_wrong_number() {
    for (corrections, place) in [(Corrections::NONE, 1), (only(|c| c.syn = true), 0)] {
        let mut peer = Peer::connecting(corrections);
        assert_eq!(peer.said(), [(SYN_FLAGS, 0, 0)]);
        assert_eq!(peer.ticks(6), [(SYN_FLAGS, place, 0)]);
    }
}

#[test]
fn written_data_leaves_with_the_next_tick() {
    let mut peer = Peer::connected(Corrections::NONE);
    peer.write(38);
    assert_eq!(peer.said(), []);
    assert_eq!(peer.tick(), [(Flags::ACK, 1, 38)]);
    assert_eq!(peer.ticks(5), []);
    assert_eq!(peer.tick(), [(Flags::ACK, 1, 38)], "six ticks later again");
}

#[test]
fn a_connection_ends_with_the_seventh_send_acknowledged_or_not() {
    let sends = |corrections| {
        let mut peer = Peer::connected(corrections);
        for send in 1..=20 {
            peer.write(10);
            let sent: usize = peer.tick().iter().map(|(.., len)| len).sum();
            assert_eq!(sent, 10);
            if peer.control.state != State::Established {
                return send;
            }
            peer.input(&segment(Flags::ACK, 100, BASE + 10 * send, &[]));
        }
        0
    };
    assert_eq!(sends(Corrections::NONE), 7);
    assert_eq!(sends(Corrections::KIM2015), 0, "it lives");
}

#[test]
fn without_an_answer_it_ends_with_the_seventh_send() {
    let mut peer = Peer::connected(Corrections::KIM2015);
    peer.write(10);
    let sent = peer.ticks(60);
    assert_eq!(sent, [(Flags::ACK, 1, 10); 7], "and no reset");
    assert_eq!(peer.body.error, Some(Error::TimedOut));
}

#[test]
fn a_write_retransmits_the_data_in_flight() {
    for (corrections, place, len) in [
        (Corrections::NONE, 1, 30),
        (only(|c| c.write = true), 11, 20),
    ] {
        let mut peer = Peer::connected(corrections);
        peer.write(10);
        assert_eq!(peer.tick(), [(Flags::ACK, 1, 10)]);
        peer.write(20);
        assert_eq!(peer.tick(), [(Flags::ACK, place, len)]);
    }
}

#[test]
fn only_the_first_segment_of_a_burst_is_held_against_a_window() {
    for (corrections, lengths) in [
        (Corrections::NONE, std::vec![150, 200, 150]),
        (only(|c| c.window = true), std::vec![150]),
    ] {
        let mut peer = Peer::connected(corrections);
        let narrow = Segment {
            window: 150,
            ..segment(Flags::ACK, 100, BASE, &[])
        };
        peer.input(&narrow);
        peer.write(500);
        let sent: Vec<usize> = peer.tick().iter().map(|(.., len)| *len).collect();
        assert_eq!(sent, lengths);
    }
}

#[test]
fn data_of_the_peer_count_as_duplicates() {
    for (corrections, again) in [
        (Corrections::NONE, true),
        (only(|c| c.duplicates = true), false),
    ] {
        let mut peer = Peer::connected(corrections);
        peer.write(10);
        peer.tick();
        peer.input(&segment(Flags::ACK, 100, BASE, b"a"));
        peer.body.read(&mut [0; 8]);
        let said = peer.input(&segment(Flags::ACK, 101, BASE, b"b"));
        assert_eq!(said.contains(&(Flags::ACK, 1, 10)), again);
    }
}

#[test]
fn stock_blip_accepts_acknowledgments_of_unsent_data() {
    for (corrections, left) in [
        (Corrections::NONE, 0),
        (only(|c| c.acknowledgments = true), 10),
    ] {
        let mut peer = Peer::connected(corrections);
        peer.write(10);
        peer.tick();
        peer.input(&segment(Flags::ACK, 100, BASE + 5_000, &[]));
        assert_eq!(peer.body.tx.len(), left);
    }
}

#[test]
fn stock_blip_resets_segments_outside_the_window() {
    let reset = Flags::RST.with(Flags::ACK);
    for (corrections, flags) in [
        (Corrections::NONE, reset),
        (only(|c| c.old = true), Flags::ACK),
    ] {
        let mut peer = Peer::connected(corrections);
        let said = peer.input(&segment(Flags::ACK, 900, BASE, &[]));
        assert_eq!(said, [(flags, 1, 0)]);
        assert_eq!(
            peer.control.state,
            State::Established,
            "its own state stays"
        );
    }
}

#[test]
fn a_closed_window_ends_the_connection() {
    for (corrections, ends) in [
        (only(|c| c.counter = true), true),
        (only(|c| (c.counter, c.probe) = (true, true)), false),
    ] {
        let mut peer = Peer::connected(corrections);
        let closed = Segment {
            window: 0,
            ..segment(Flags::ACK, 100, BASE, &[])
        };
        peer.input(&closed);
        peer.write(10);
        for _ in 0..60 {
            if peer.tick().iter().any(|(.., len)| *len > 0) {
                peer.input(&closed);
            }
        }
        assert_eq!(peer.control.state != State::Established, ends);
    }
}

#[test]
fn a_syn_ack_is_not_repeated() {
    for (corrections, count) in [(Corrections::NONE, 0), (only(|c| c.handshake = true), 1)] {
        let mut peer = Peer::connecting(corrections);
        let syn = segment(Flags::SYN, 99, SeqNum(0), &[]);
        peer.control = peer.blip.accept(Instant::ZERO, &syn).unwrap();
        assert_eq!(peer.said().len(), 1);
        assert_eq!(peer.ticks(6).len(), count);
    }
}

#[test]
fn an_acknowledgment_alone_opens_a_connection() {
    for (corrections, state) in [
        (Corrections::NONE, State::Established),
        (only(|c| c.handshake = true), State::SynSent),
    ] {
        let mut peer = Peer::connecting(corrections);
        peer.said();
        peer.input(&segment(Flags::ACK, 5, SeqNum(77), &[]));
        assert_eq!(peer.control.state, state);
    }
}

#[test]
fn a_fin_with_data_is_not_seen() {
    for (corrections, seen) in [(Corrections::NONE, false), (only(|c| c.fin = true), true)] {
        let mut peer = Peer::connected(corrections);
        peer.input(&segment(Flags::ACK.with(Flags::FIN), 100, BASE, b"last"));
        assert_eq!(peer.body.ended, seen);
    }
}

#[test]
fn ports_and_numbers_are_constants() {
    let mut peer = Peer::connecting(Corrections::NONE);
    assert_eq!(peer.blip.port(&mut Rng::new(1), |_| true), Some(PORT));
    let mut peer = Peer::connecting(only(|c| c.numbers = true));
    assert_ne!(peer.blip.port(&mut Rng::new(1), |_| true), Some(PORT));
    assert_ne!(peer.control.seqno, BASE);
    assert!(!peer.blip.verifies());
    assert!(
        Peer::connecting(only(|c| c.checksum = true))
            .blip
            .verifies()
    );
}

/// Behaviour of the original, compared in `docs/rivals-checked.md`.
mod beside_the_original {
    use redpoll_base::Addr;

    use super::*;

    const RESET: Flags = Flags::RST.with(Flags::ACK);
    const FIN: Flags = Flags::FIN.with(Flags::ACK);

    impl Peer {
        fn answers(&mut self, seg: &Segment<'_>) -> Vec<(Flags, u32, u16)> {
            self.blip
                .input(Instant::ZERO, &mut self.control, &mut self.body, seg);
            let (c, body) = (&mut self.control, &mut self.body);
            let outs = core::iter::from_fn(|| self.blip.poll_segment(Instant::ZERO, c, body));
            outs.map(|out| {
                (
                    out.fields.flags,
                    out.fields.ack.0 - FIRST,
                    out.fields.window,
                )
            })
            .collect()
        }

        fn close(&mut self) -> Vec<(Flags, u32, usize)> {
            self.body.closing = true;
            self.blip
                .on_close(Instant::ZERO, &mut self.control, &mut self.body);
            self.said()
        }
    }

    #[test]
    fn a_segment_without_a_connection_is_reset_with_a_closed_window() {
        let peer = Peer::connecting(Corrections::NONE);
        let meta = IpMeta {
            src: Addr([2; 16]),
            dst: Addr([1; 16]),
            ecn: redpoll_base::Ecn::NotEct,
            hop_limit: 64,
        };
        let refused = |seg: &Segment<'_>, listens| {
            let header = peer.blip.refuse(&meta, seg, listens)?;
            let header = header.as_bytes();
            let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
            let window = u16::from_be_bytes([header[14], header[15]]);
            Some((Flags(header[13]), word(4), word(8) - FIRST, window))
        };
        for payload in [&b""[..], b"data"] {
            let seg = segment(Flags::ACK, 900, SeqNum(77), payload);
            assert_eq!(refused(&seg, true), Some((RESET, 77, 901, 0)));
        }
        let reset = segment(Flags::RST, 900, SeqNum(77), &[]);
        assert_eq!(refused(&reset, false), Some((RESET, 77, 901, 0)));
        assert_eq!(refused(&reset, true), None, "it ends what listens");
    }

    #[test]
    fn the_first_acknowledgment_is_not_answered() {
        let mut peer = Peer::connected(Corrections::NONE);
        peer.write(10);
        peer.tick();
        assert_eq!(peer.answers(&segment(Flags::ACK, 100, BASE + 10, &[])), []);
    }

    #[test]
    fn a_far_segment_is_reset_with_its_own_numbers_and_acknowledged_data() {
        let mut peer = Peer::connected(Corrections::NONE);
        let far = segment(Flags::ACK, 900, BASE + 3, b"far");
        assert_eq!(
            peer.answers(&far),
            [(RESET, 901, 0), (Flags::ACK, 100, 200)]
        );
        let far = segment(Flags::ACK, 900, BASE, &[]);
        assert_eq!(peer.answers(&far), [(RESET, 901, 0)]);
        // In SYN-SENT a segment that is neither SYN nor acknowledgment is answered in the same way.
        let mut peer = Peer::connecting(Corrections::NONE);
        peer.said();
        let odd = segment(Flags::PSH, 900, BASE, &[]);
        assert_eq!(peer.answers(&odd), [(RESET, 901, 0)]);
        assert_eq!(peer.control.state, State::SynSent);
    }

    /// A peer that accepts this wrong acknowledgment never sends that byte again.
    #[test]
    fn a_fin_out_of_order_acknowledges_a_byte_that_never_came() {
        let late = segment(FIN, 130, BASE, &[]);
        let mut peer = Peer::connected(Corrections::NONE);
        let both = [(Flags::ACK, 100, 200), (Flags::ACK, 101, 200)];
        assert_eq!(peer.answers(&late), both);
        let mut peer = Peer::connected(only(|c| c.fin = true));
        assert!(peer.answers(&late).iter().all(|(_, ack, _)| *ack == 100));
    }

    #[test]
    fn data_that_count_as_duplicates_are_not_acknowledged() {
        let mut peer = Peer::connected(Corrections::NONE);
        peer.write(10);
        peer.tick();
        let first = segment(Flags::ACK, 100, BASE, b"a");
        assert_eq!(peer.answers(&first), [(Flags::ACK, 101, 200)]);
        let second = segment(Flags::ACK, 101, BASE, b"b");
        // A retransmission has the old number.
        assert_eq!(peer.answers(&second), [(Flags::ACK, 101, 200)]);
        assert_eq!(peer.control.ackno, SeqNum(FIRST + 102));
    }

    #[test]
    fn the_peer_s_fin_ends_both_directions_at_once() {
        let mut peer = Peer::connected(Corrections::NONE);
        peer.write(10);
        peer.tick();
        let fin = segment(FIN, 100, BASE, &[]);
        assert_eq!(
            peer.answers(&fin),
            [(Flags::ACK, 101, 200), (FIN, 101, 200)]
        );
        assert_eq!(peer.control.state, State::LastAck);
        // The peer repeats its FIN, and then acknowledges only the data.
        assert_eq!(peer.answers(&fin), [(Flags::ACK, 101, 200)]);
        assert_eq!(peer.answers(&segment(Flags::ACK, 101, BASE + 10, &[])), []);
        assert_eq!(peer.control.state, State::LastAck);
        assert_eq!(peer.ticks(6), [(FIN, 11, 0)]);
        peer.answers(&segment(Flags::ACK, 101, BASE + 11, &[]));
        assert_eq!(peer.control.state, State::Closed);
    }

    #[test]
    fn a_repeated_fin_acknowledges_one_more_and_not_more_each_time() {
        let mut peer = Peer::connected(Corrections::NONE);
        assert_eq!(peer.close(), [(FIN, 1, 0)]);
        for _ in 0..3 {
            for _ in 0..3 {
                assert_eq!(peer.tick(), []);
            }
            peer.blip
                .on_timeout(Instant::ZERO, &mut peer.control, &mut peer.body);
            let (c, body) = (&mut peer.control, &mut peer.body);
            let out = peer.blip.poll_segment(Instant::ZERO, c, body).unwrap();
            assert_eq!(out.fields.ack, SeqNum(FIRST + 101));
        }
    }

    #[test]
    fn segments_after_the_acknowledgment_of_its_fin_are_ignored() {
        // BLIP is in FIN-WAIT-2 when the data arrive.
        let mut peer = Peer::connected(Corrections::NONE);
        peer.close();
        assert_eq!(peer.answers(&segment(Flags::ACK, 100, BASE + 1, &[])), []);
        assert_eq!(peer.answers(&segment(Flags::ACK, 100, BASE + 1, b"x")), []);
        let fin = segment(FIN, 100, BASE + 1, &[]);
        assert_eq!(peer.answers(&fin), [(Flags::ACK, 100, 200)]);
        assert_eq!(peer.control.state, State::TimeWait);
        assert_eq!(peer.answers(&fin), [(Flags::ACK, 101, 200)]);
        // The data arrive with the acknowledgment and the peer's FIN.
        let mut peer = Peer::connected(Corrections::NONE);
        peer.close();
        let last = segment(FIN, 100, BASE + 1, b"last");
        assert_eq!(peer.answers(&last), [(Flags::ACK, 100, 200)]);
        assert_eq!(peer.control.state, State::TimeWait);
        // The FINs cross, and BLIP continues to wait.
        let mut peer = Peer::connected(Corrections::NONE);
        peer.close();
        let fin = segment(FIN, 100, BASE, &[]);
        assert_eq!(peer.answers(&fin), [(Flags::ACK, 101, 200)]);
        let behind = segment(Flags::ACK, 101, BASE, &[]);
        assert_eq!(peer.answers(&behind), [(Flags::ACK, 100, 200)]);
        assert_eq!(peer.control.state, State::FinWait1);
    }
}
