//! The link's service of segments: one at a time, as a radio does.

use redpoll_base::Duration;
use redpoll_tcp::{Segment, SegmentDesc};

use super::{Pair, What, meta_from};

pub(super) struct InService {
    pub(super) number: u32,
    pub(super) desc: SegmentDesc,
    pub(super) bytes: Vec<u8>,
    pub(super) gone: bool,
}

impl Pair {
    pub(super) fn serves(&self, side: usize, number: u32) -> bool {
        let serving = self.sides[side].serving.as_ref();
        serving.is_some_and(|serving| serving.number == number)
    }

    pub(super) fn start_service(&mut self, side: usize) {
        let now = self.now;
        let this = &mut self.sides[side];
        if this.serving.is_some() {
            return;
        }
        let Some(desc) = this
            .conn
            .as_mut()
            .and_then(|conn| conn.poll_segment(now, 1240))
        else {
            return;
        };
        let len = desc.header.as_bytes().len() + usize::from(desc.payload_len);
        let time = this
            .link
            .per_byte
            .times(len as u64)
            .max(Duration::from_micros(1));
        let number = this.taken;
        this.taken += 1;
        this.serving = Some(InService {
            number,
            desc,
            bytes: Vec::new(),
            gone: false,
        });
        self.schedule(now + time.divided_by(2), What::Half(side, number));
        self.schedule(now + time, What::Served(side, number));
    }

    /// Reads half of the payload that is being sent; part 1 is the second half.
    pub(super) fn read_half(&mut self, side: usize, part: usize) {
        let this = &mut self.sides[side];
        let (Some(serving), Some(conn)) = (&mut this.serving, &this.conn) else {
            return;
        };
        let len = usize::from(serving.desc.payload_len);
        let (from, to) = if part == 0 {
            (0, len / 2)
        } else {
            (len / 2, len)
        };
        let mut piece = vec![0; to - from];
        match conn.read(serving.desc.token, from, &mut piece) {
            Ok(count) => {
                assert_eq!(count, piece.len(), "a pinned range is readable as a whole");
                serving.bytes.extend(piece);
            }
            Err(_) => serving.gone = true,
        }
    }

    pub(super) fn on_served(&mut self, side: usize) {
        self.read_half(side, 1);
        let now = self.now;
        let this = &mut self.sides[side];
        let (Some(serving), Some(conn)) = (this.serving.take(), this.conn.as_mut()) else {
            return;
        };
        let token = serving.desc.token;
        let number = this.served;
        this.served += 1;
        let mut draw = |per_thousand: u32| self.rng.below(1000) < per_thousand;
        if draw(this.link.give_up) || serving.gone {
            conn.on_segment_lost(token, now);
            return;
        }
        conn.on_segment_sent(token, now);
        let lost = draw(this.link.loss) || this.link.lose.contains(&number);
        let copies = if draw(this.link.duplicate) { 2 } else { 1 };
        let held_up = draw(this.link.reorder);
        let (latency, hold) = (this.link.latency, this.link.reorder_by);
        let bytes = [serving.desc.header.as_bytes(), &serving.bytes].concat();
        if self.verbose {
            let meta = meta_from(side);
            let seg = Segment::parse(&meta, &bytes).expect("a segment of ours");
            eprintln!(
                "{:?} {side}{} {:?} seq {:?} ack {:?} win {} len {}",
                now,
                if lost { " LOST" } else { "" },
                seg.flags,
                seg.seq,
                seg.ack,
                seg.window,
                seg.payload.len()
            );
        }
        if lost {
            return;
        }
        for _ in 0..copies {
            let extra = if held_up {
                self.rng.below_u64(hold.as_micros())
            } else {
                0
            };
            let at = now + latency + Duration::from_micros(extra);
            self.packets.push(bytes.clone());
            self.schedule(at, What::Arrive(1 - side, self.packets.len() - 1));
        }
    }
}
