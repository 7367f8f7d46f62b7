//! An ear on a unit disk, or at links that are given: no powers.

use redpoll_base::{Instant, Rng};

use super::{Reception, Start, TxId};
use crate::medium::Link;

/// What reaches one receiver. All of them are looked at all the time, so that
/// they are kept small.
#[derive(Clone, Copy, Debug)]
pub struct DiskEar {
    /// When energy was found first since [`DiskEar::watch`]; in the far future if
    /// none was.
    busy_since: Instant,
    followed: Option<Followed>,
    /// Transmissions that disturb.
    audible: u16,
    /// Transmissions that make the channel busy.
    sensed: u16,
    /// Interferers on the air.
    foreign: u16,
}

/// A frame that a receiver follows.
#[derive(Clone, Copy, Debug)]
struct Followed {
    tx: TxId,
    /// Another frame disturbed it.
    spoilt: bool,
    /// An interferer was on the air meanwhile.
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

    /// A transmission begins.
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

    /// A transmission ends. Says how the reception went if the receiver followed
    /// it.
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

    /// An interferer begins or ends.
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
