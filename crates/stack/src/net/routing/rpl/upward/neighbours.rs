//! The candidate neighbours (RFC 6550 §8.2.1): contents of their DIOs, and the ETX of their links.

use core::cmp::Reverse;

use redpoll_base::{Instant, divide_long, least};
use redpoll_wire::rpl::{INFINITE_RANK, Sequence};

use crate::net::routing::Peer;
use crate::rules::Candidate;

/// One transmission, as ETX is counted (RFC 6551 §4.3.2: multiplied by 128).
pub(super) const ETX: u16 = Candidate::TRANSMISSION;
/// Number of samples after which an estimate changes slowly.
const YOUNG: u8 = 4;
/// The largest sample of ETX of a frame that was acknowledged: one transmission more than
/// MAX_LINK_METRIC (RFC 6719 §5). A link that always needs more attempts becomes ineligible; a
/// single frame in a crowded channel does not make it so.
const SAMPLE_MAX: u16 = 5 * ETX;
/// The largest sample of ETX of a frame that was given up. Without a limit, nodes in a crowded
/// channel change parents because of collisions.
const FAILURE_MAX: u16 = 10 * ETX;
/// Consecutive frames without an acknowledgement after which a neighbour counts as gone.
const FAILURES_MAX: u8 = 4;

/// An entry for a candidate neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RplNeighbour {
    pub(super) link: Peer,
    /// The rank in the neighbour's last DIO.
    pub(super) rank: u16,
    /// ETX of the link to the neighbour, in 128ths.
    pub(super) etx: u16,
    pub(super) version: Sequence,
    pub(super) dtsn: Sequence,
    /// Frames sent to the neighbour, saturating.
    samples: u8,
    /// The number of frames since the last one that the neighbour acknowledged.
    failures: u8,
    /// Whether the neighbour's last DIO has the O flag (RFC 6551 §3.1).
    pub(super) overloaded: bool,
    /// Whether the neighbour has rejected a DAO because its table was full.
    pub(super) full: bool,
    /// The time of the last measurement of the link, in seconds, wrapping.
    measured_s: u16,
}

impl RplNeighbour {
    fn new(now: Instant, link: Peer, unknown: u16) -> Self {
        RplNeighbour {
            link,
            rank: INFINITE_RANK,
            etx: unknown,
            version: Sequence::FIRST,
            dtsn: Sequence::FIRST,
            samples: 0,
            failures: 0,
            overloaded: false,
            full: false,
            measured_s: seconds(now),
        }
    }

    /// Returns whether the neighbour no longer acknowledges frames.
    pub(super) fn is_gone(&self) -> bool {
        self.failures >= FAILURES_MAX
    }

    /// Returns whether the neighbour has acknowledged a frame and is not gone.
    pub(super) fn answers(&self) -> bool {
        self.samples > self.failures && !self.is_gone()
    }

    /// Seconds since the last measurement of the link, up to 18 hours.
    pub(super) fn unmeasured_s(&self, now: Instant) -> u16 {
        seconds(now).wrapping_sub(self.measured_s)
    }

    /// Returns whether no frame was sent to the neighbour yet.
    pub(super) fn is_unknown(&self) -> bool {
        self.samples == 0
    }

    /// Updates the ETX after a frame that took `attempts` attempts.
    pub(super) fn on_frame(&mut self, now: Instant, attempts: u8, ok: bool) {
        self.measured_s = seconds(now);
        // Attempts are independent. A frame that was given up would therefore have needed the
        // expected attempts of a new frame in addition.
        let sample = u16::from(attempts.max(1)).saturating_mul(ETX);
        let sample = match ok {
            true => sample.min(SAMPLE_MAX),
            false => sample.saturating_add(self.etx).min(FAILURE_MAX),
        };
        self.failures = if ok {
            0
        } else {
            self.failures.saturating_add(1)
        };
        // The first sample has a weight of a half: in a crowded channel, a node would otherwise
        // leave its parent for any neighbour whose first frame needs one attempt. The next
        // samples have a weight of a quarter, later ones of a sixteenth, because a loaded link is
        // bad at times. A failure has a weight of an eighth.
        self.etx = match self.samples {
            0 => average(self.etx, sample, 1),
            1..YOUNG => average(self.etx, sample, 2),
            _ if !ok => average(self.etx, sample, 3),
            _ => average(self.etx, sample, 4),
        };
        self.samples = self.samples.saturating_add(1);
    }

    /// Sets the ETX that the objective function has estimated after a frame.
    pub(super) fn on_estimate(&mut self, now: Instant, etx: u16) {
        self.measured_s = seconds(now);
        self.etx = etx;
        self.samples = self.samples.saturating_add(1);
    }

    /// Returns the values that an objective function compares.
    pub(super) fn candidate(&self) -> Candidate {
        Candidate {
            rank: self.rank,
            etx: self.etx,
        }
    }

    /// Forgets the measurements, so that the neighbour is probed again.
    pub(super) fn forgive(&mut self, unknown: u16) {
        self.failures = 0;
        self.samples = 0;
        self.etx = unknown;
        self.full = false;
    }
}

/// Moves `old` towards `new` by the difference divided by 2 to the power of `shift`.
fn average(old: u16, new: u16, shift: u32) -> u16 {
    let (old, new) = (u32::from(old), u32::from(new));
    let rest = old.saturating_sub(old >> shift);
    rest.saturating_add(new >> shift).min(u32::from(u16::MAX)) as u16
}

fn seconds(now: Instant) -> u16 {
    divide_long(now.as_micros(), 1_000_000) as u16
}

/// A neighbour that needs an entry in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    pub(super) now: Instant,
    /// The ETX of a link before the first frame.
    pub(super) initial_etx: u16,
    pub(super) link: Peer,
    pub(super) rank: u16,
    /// The version in which a neighbour can be a parent.
    pub(super) version: Sequence,
    /// The neighbour that must not be replaced: the parent.
    pub(super) keep: Option<Peer>,
}

/// Added to the cost of a neighbour that does not acknowledge frames ([`RplNeighbour::answers`]),
/// to replace this neighbour before all others: a cost has 16 bits.
const UNPROVEN_ORDER: u32 = 1 << 16;

pub(super) struct Candidates<T> {
    table: T,
}

impl<T: AsRef<[Option<RplNeighbour>]> + AsMut<[Option<RplNeighbour>]>> Candidates<T> {
    pub(super) fn new(mut table: T) -> Self {
        table.as_mut().fill(None);
        Candidates { table }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &RplNeighbour> {
        self.table.as_ref().iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut RplNeighbour> {
        self.table.as_mut().iter_mut().flatten()
    }

    pub(super) fn get(&self, link: Peer) -> Option<&RplNeighbour> {
        self.iter().find(|neighbour| neighbour.link == link)
    }

    pub(super) fn get_mut(&mut self, link: Peer) -> Option<&mut RplNeighbour> {
        self.iter_mut().find(|neighbour| neighbour.link == link)
    }

    /// Returns the entry of a neighbour that has sent a DIO. In a full table, a new neighbour
    /// replaces the neighbour farthest from the root, if the new one is nearer. Neighbours that do
    /// not acknowledge frames ([`RplNeighbour::answers`]) are replaced first. A neighbour that
    /// does not acknowledge frames and cannot be a parent counts as infinitely far.
    pub(super) fn admit(&mut self, admission: &Admission) -> Option<&mut RplNeighbour> {
        let Admission {
            now,
            initial_etx: unknown,
            link,
            rank,
            version,
            keep,
        } = *admission;
        let places = self.table.as_mut();
        let limit = u32::from(rank.saturating_add(unknown));
        let candidates = places.iter().enumerate().map(|(at, place)| {
            // First choice: the neighbour's own place; then a free place; then that of another.
            let (order, is_worse) = match place {
                Some(it) if it.link == link => (u32::MAX, true),
                None => (u32::MAX - 1, true),
                Some(it) if Some(it.link) == keep => (0, false),
                Some(it) => {
                    let is_proven = it.answers();
                    let is_useless = it.is_gone() || it.version != version;
                    let cost = match is_useless && !is_proven {
                        true => INFINITE_RANK,
                        false => it.rank.saturating_add(it.etx),
                    };
                    let cost = u32::from(cost);
                    let unproven = if is_proven { 0 } else { UNPROVEN_ORDER };
                    (unproven | cost, cost > limit)
                }
            };
            (Reverse(order), is_worse.then_some(at))
        });
        let at = least(candidates)??;
        let place = places.get_mut(at)?;
        if place.is_none_or(|it| it.link != link) {
            *place = Some(RplNeighbour::new(now, link, unknown));
        }
        place.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use redpoll_wire::ieee802154::Address;

    use super::*;

    fn peer(short: u16) -> Peer {
        Peer::of(Address::Short(short)).expect("a short address identifies a neighbour")
    }

    const NOW: Instant = Instant::from_millis(5_000);

    #[test]
    fn etx_follows_the_attempts() {
        let mut it = RplNeighbour::new(NOW, peer(1), 2 * ETX);
        assert_eq!((it.etx, it.is_unknown()), (256, true));
        it.on_frame(NOW, 1, true);
        assert_eq!(
            it.etx, 192,
            "the mean of the initial estimate and the sample"
        );
        for _ in 0..90 {
            it.on_frame(NOW, 3, true);
        }
        assert!((360..=384).contains(&it.etx), "{}", it.etx);
        for failures in 1..=4 {
            it.on_frame(NOW, 10, false);
            assert_eq!(it.is_gone(), failures == 4);
        }
        assert!(it.etx > 512, "{}", it.etx);
        it.forgive(2 * ETX);
        assert!(!it.is_gone() && it.is_unknown());
    }

    /// A link is eligible up to MAX_LINK_METRIC, an ETX of 4 (RFC 6719 §5).
    #[test]
    fn one_frame_makes_no_link_ineligible_and_many_do() {
        for young in [0, 10] {
            let mut it = RplNeighbour::new(NOW, peer(1), 2 * ETX);
            for _ in 0..young {
                it.on_frame(NOW, 2, true);
            }
            it.on_frame(NOW, 16, true);
            assert!(it.etx <= 4 * ETX, "{}", it.etx);
            for _ in 0..30 {
                it.on_frame(NOW, 16, true);
            }
            assert!(it.etx > 4 * ETX, "{}", it.etx);
        }
    }

    #[test]
    fn a_frame_that_was_given_up_counts_for_at_most_ten_attempts() {
        let etx_after = |attempts, ok| {
            let mut it = RplNeighbour::new(NOW, peer(1), 2 * ETX);
            it.on_frame(NOW, attempts, ok);
            it.etx
        };
        assert_eq!(etx_after(16, true), (2 * ETX + 5 * ETX) / 2);
        assert_eq!(etx_after(16, false), (2 * ETX + 10 * ETX) / 2);
        assert_eq!(etx_after(3, false), (2 * ETX + (3 + 2) * ETX) / 2);
    }

    #[test]
    fn a_neighbour_whose_link_the_objective_estimates_is_never_gone() {
        let mut it = RplNeighbour::new(NOW, peer(1), ETX);
        for attempts in 1..=9 {
            it.on_estimate(NOW, attempts);
        }
        assert_eq!((it.etx, it.is_gone(), it.is_unknown()), (9, false, false));
    }

    #[test]
    fn a_full_table_keeps_the_neighbours_nearest_to_the_root() {
        let mut table = Candidates::new([None; 2]);
        for (link, rank) in [(1, 500), (2, 900)] {
            admit(&mut table, link, rank, None).unwrap();
        }
        assert!(admit(&mut table, 3, 1000, None).is_none(), "worse rank");
        assert!(admit(&mut table, 3, 300, Some(peer(2))).is_some());
        assert!(table.get(peer(1)).is_none() && table.get(peer(2)).is_some());
        assert!(admit(&mut table, 2, 2000, None).is_some(), "known");
    }

    fn admit(
        table: &mut Candidates<[Option<RplNeighbour>; 2]>,
        link: u16,
        rank: u16,
        keep: Option<Peer>,
    ) -> Option<&mut RplNeighbour> {
        let it = table.admit(&Admission {
            now: NOW,
            initial_etx: 2 * ETX,
            link: peer(link),
            rank,
            version: Sequence::FIRST,
            keep,
        })?;
        it.rank = rank;
        Some(it)
    }

    /// Any other neighbour replaces one that has never acknowledged a frame and cannot be the
    /// parent, because it is gone, has no rank, or is in another version.
    #[test]
    fn an_unusable_neighbour_is_replaced_by_any_other() {
        let spoil: [fn(&mut RplNeighbour); 3] = [
            |it| it.failures = FAILURES_MAX,
            |it| it.rank = INFINITE_RANK,
            |it| it.version = Sequence::FIRST.next(),
        ];
        for spoil in spoil {
            let mut table = Candidates::new([None; 2]);
            spoil(admit(&mut table, 1, 256, None).unwrap());
            admit(&mut table, 2, 256, None).unwrap();
            assert!(admit(&mut table, 3, 1000, None).is_some());
            assert!(table.get(peer(1)).is_none() && table.get(peer(2)).is_some());
            assert!(admit(&mut table, 4, 1001, None).is_none(), "worse rank");
        }
    }

    /// A neighbour that acknowledges frames keeps its place while another neighbour has never
    /// acknowledged one, whatever rank the other advertises.
    #[test]
    fn a_neighbour_that_acknowledges_is_replaced_last() {
        let mut table = Candidates::new([None; 2]);
        admit(&mut table, 1, 900, None)
            .unwrap()
            .on_frame(NOW, 1, true);
        for link in 2..20 {
            let _ = admit(&mut table, link, 600 - link, None);
        }
        assert!(table.get(peer(1)).is_some() && table.get(peer(19)).is_some());
        table.get_mut(peer(19)).unwrap().on_frame(NOW, 1, true);
        assert!(admit(&mut table, 20, 300, None).is_some());
        assert!(table.get(peer(1)).is_none() && table.get(peer(19)).is_some());
    }

    /// An entry takes 14 bytes, or 20 if it has an extended address.
    #[test]
    fn a_neighbour_is_small() {
        let more = if cfg!(feature = "rpl-eui64") { 6 } else { 0 };
        assert_eq!(size_of::<Option<RplNeighbour>>(), 14 + more);
    }
}
