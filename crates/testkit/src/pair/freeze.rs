//! Freezes connections, and thaws them from the stored bytes.

use redpoll_base::{Duration, Rng};
use redpoll_tcp::Connection;

use super::{Pair, What};

/// Largest number of times that a side is frozen. A connection that is frozen again before an
/// answer can arrive would never end.
const FREEZES_MAX: u32 = 100;

/// Largest size of a frozen connection in bytes, without its unacknowledged and unread data.
const FROZEN_MAX: usize = 300;

impl Pair {
    /// Freezes the connection of a side at random, or at the event that the plan names. The link
    /// loses the segment that it is sending for this side.
    pub(super) fn freeze(&mut self, side: usize) {
        let (now, this) = (self.now, &mut self.sides[side]);
        let is_asked = this.plan.freeze_at == Some(self.events);
        let drawn = |rng: &mut Rng, often| often > 0 && rng.below(1000) < often;
        if !is_asked && !drawn(&mut self.rng, this.plan.freeze) {
            return;
        }
        if this.freezes >= FREEZES_MAX {
            return;
        }
        let Some(conn) = &mut this.conn else {
            return;
        };
        let mut frozen = vec![0; conn.frozen_len()];
        if conn.freeze(now, &mut frozen) != Ok(frozen.len()) {
            return;
        }
        let waiting = conn.unacked() + conn.recv_queue();
        assert!(frozen.len() <= FROZEN_MAX + waiting, "{}", frozen.len());
        this.freezes += 1;
        this.conn = None;
        this.serving = None;
        this.frozen = Some((now, frozen));
        let sleep = this.plan.sleep.as_micros();
        let sleep = Duration::from_micros(self.rng.below_u64(sleep.max(1)));
        self.schedule(now + sleep, What::Thaw(side));
    }

    pub(super) fn thaw(&mut self, side: usize) {
        let (now, this) = (self.now, &mut self.sides[side]);
        let Some((since, mut frozen)) = this.frozen.take() else {
            return;
        };
        let (tx, rx) = this.plan.buffers;
        let (tx, rx) = (vec![0; tx], vec![0; rx]);
        let conn = Connection::thaw(now, &self.config, now.since(since), &mut frozen, tx, rx);
        let conn = conn.map_err(|(error, ..)| error);
        this.conn = Some(conn.expect("frozen bytes can be thawed if they have not changed"));
    }

    /// Returns the number of times that the connection of a side was frozen.
    pub fn freezes(&self, side: usize) -> u32 {
        self.sides[side].freezes
    }
}
