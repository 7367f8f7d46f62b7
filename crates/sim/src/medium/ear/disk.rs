//! Receiver in a medium without signal powers: a unit disk, or listed links.

use redpoll_base::{Instant, Rng};

use super::{Reception, Start, TxId};
use crate::medium::Link;

/// Signals at one receiver. Every transmission visits many receivers, so the struct is small.
#[derive(Clone, Copy, Debug)]
pub struct DiskEar {
    /// Time of the first signal since [`DiskEar::watch`]; in the far future if there was none.
    busy_since: Instant,
    followed: Option<Followed>,
    /// Number of current transmissions that can destroy a frame here.
    audible: u16,
    /// Number of current transmissions that make the channel busy for an assessment.
    sensed: u16,
    /// Number of interferers on the air that reach this receiver.
    foreign: u16,
}

#[derive(Clone, Copy, Debug)]
struct Followed {
    tx: TxId,
    /// Whether another frame disturbed this one.
    spoilt: bool,
    /// Whether an interferer transmitted during this frame.
    foreign: bool,
}

impl Default for DiskEar {
    fn default() -> Self {
        DiskEar {
            busy_since: Instant::FAR_FUTURE,
            followed: None,
            audible: 0,
            sensed: 0,
            foreign: 0,
        }
    }
}

impl DiskEar {
    pub fn followed(&self) -> Option<TxId> {
        self.followed.map(|followed| followed.tx)
    }

    pub fn abandon(&mut self) -> Option<TxId> {
        self.followed.take().map(|followed| followed.tx)
    }

    pub fn is_busy(&self) -> bool {
        self.sensed > 0 || self.foreign > 0
    }

    pub fn watch(&mut self, now: Instant) {
        self.busy_since = if self.is_busy() {
            now
        } else {
            Instant::FAR_FUTURE
        };
    }

    pub fn was_busy(&self, now: Instant) -> bool {
        self.busy_since < now
    }

    pub fn start(
        &mut self,
        now: Instant,
        tx: TxId,
        link: &Link,
        ready: bool,
        rng: &mut Rng,
    ) -> Start {
        if link.senses {
            self.sensed += 1;
            self.busy_since = self.busy_since.min(now);
        }
        if !link.disturbs {
            return Start::Lost(Reception::OutOfRange);
        }
        self.audible += 1;
        if let Some(followed) = &mut self.followed {
            followed.spoilt = true;
        }
        if !link.receives {
            return Start::Lost(Reception::OutOfRange);
        }
        if !ready {
            return Start::NotReady;
        }
        if self.audible > 1 {
            return Start::Lost(Reception::Collision);
        }
        if self.foreign > 0 {
            return Start::Lost(Reception::Interference);
        }
        if link.loses(rng) {
            return Start::Lost(Reception::RandomLoss);
        }
        self.followed = Some(Followed {
            tx,
            spoilt: false,
            foreign: false,
        });
        Start::Followed
    }

    pub fn end(&mut self, tx: TxId, link: &Link) -> Option<Reception> {
        self.sensed -= u16::from(link.senses);
        self.audible -= u16::from(link.disturbs);
        let followed = self.followed.take_if(|followed| followed.tx == tx)?;
        Some(if followed.spoilt {
            Reception::Collision
        } else if followed.foreign {
            Reception::Interference
        } else {
            Reception::Intact
        })
    }

    pub fn interfere(&mut self, now: Instant, on: bool) {
        if !on {
            self.foreign -= 1;
            return;
        }
        self.foreign += 1;
        self.busy_since = self.busy_since.min(now);
        if let Some(followed) = &mut self.followed {
            followed.foreign = true;
        }
    }
}
