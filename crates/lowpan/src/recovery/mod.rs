//! Selective fragment recovery (RFC 8931): the fragments of a datagram go from the node that makes
//! them to the node that reassembles them, through relays that only switch labels. Only lost
//! fragments are retransmitted.
//!
//! A node has three roles, each with a bounded table in the caller's memory: [`Outgoing`] datagrams
//! of this node (the *fragmenting endpoint*), [`Incoming`] ones (the *reassembling endpoint*), and
//! [`SwitchedPath`]s of forwarded datagrams. Without a free entry, a datagram of this node leaves
//! in plain fragments, an incoming one is refused, and one to forward is reassembled. An incoming
//! datagram keeps its slot until it is complete, aborted or timed out, because its sender may still
//! be waiting for an acknowledgment. Only if slots are needed, a stalled datagram is discarded,
//! preferably one with only a first fragment, which can be forged from any address.
//!
//! Not implemented: splitting a fragment after the MTU has shrunk (§6.2), other next hops for a
//! first fragment (§6.3), diverse paths (§6.4).

mod acks;
mod config;
mod incoming;
mod outgoing;
mod path;
mod ranges;
mod timeout;

use redpoll_base::{Duration, Instant, Memory, Wake, earliest, least};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::recoverable::Ack;

use crate::SlotId;
use crate::feature::recovery::{RecoveryRoom, room};
use crate::feature::{RECOVERS, Recovers};

pub use config::{RecoveryConfig, RecoveryCounters, RecoveryMemory};
pub use incoming::Incoming;
pub(crate) use incoming::{Arriving, Head, Outcome};
pub use outgoing::Outgoing;
pub(crate) use outgoing::{DatagramLengths, Phase, Sender, Shape, Source, Standing};
pub use path::SwitchedPath;
pub(crate) use path::{NewPath, Path};
use timeout::RoundTrip;

/// The state of fragment recovery, if there is memory for it. Empty without the feature `recovery`.
pub(crate) struct Recovering<M: Memory>(RecoveryRoom<Recovery<M>>);

impl<M: Memory> Recovering<M> {
    pub(crate) fn none() -> Self {
        Recovering(room(None))
    }

    #[allow(dead_code, reason = "called only with the feature `recovery`")]
    pub(crate) fn begin(
        &mut self,
        config: RecoveryConfig,
        memory: RecoveryMemory<M>,
        times: ReassemblyTimes,
        first_tag: u8,
    ) {
        self.0 = room(RECOVERS.map(|by| Recovery::new(by, config, memory, times, first_tag)));
    }

    pub(crate) fn get(&self) -> Option<&Recovery<M>> {
        self.0.as_ref()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut Recovery<M>> {
        self.0.as_mut()
    }
}

/// Number of slots that incoming datagrams with only a first fragment should leave to other
/// datagrams. If datagrams with only a first fragment occupy all slots but these, one that has
/// received no fragment for [`CROWDED`] may be evicted.
const RESERVE: usize = 2;
const CROWDED: Duration = Duration::from_millis(100);

const REFUSALS: usize = 4;

/// Time limits of reassembly, which also apply to recoverable datagrams.
#[derive(Clone, Copy)]
pub(crate) struct ReassemblyTimes {
    /// Longest time without a new fragment.
    pub(crate) timeout: Duration,
    pub(crate) limit: Duration,
    /// Time without progress after which a reassembly may be replaced.
    pub(crate) stall: Duration,
}

/// Longest time without a fragment and longest duration of an incoming or forwarded datagram, and
/// lifetime of its record afterwards.
#[derive(Clone, Copy)]
pub(crate) struct Waits {
    pub(crate) timeout: Duration,
    pub(crate) limit: Duration,
    pub(crate) linger: Duration,
}

/// Time for which a stalled datagram keeps a slot or an entry that another datagram needs.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// Time for which a datagram keeps its slot or entry if only its first fragment has arrived.
    pub(crate) first: Duration,
    /// Time for which a datagram keeps its slot or entry if more than its first fragment has
    /// arrived: its sender may be waiting for an acknowledgment.
    pub(crate) grown: Duration,
}

impl Patience {
    fn is_over(&self, now: Instant, grown: bool, progress: Instant) -> bool {
        let patience = if grown { self.grown } else { self.first };
        now.since(progress) >= patience
    }
}

pub(crate) struct Recovery<M: Memory> {
    pub(crate) by: Recovers,
    pub(crate) config: RecoveryConfig,
    pub(crate) waits: Waits,
    outgoing: M::Table<Outgoing>,
    incoming: M::Table<Incoming>,
    paths: M::Table<SwitchedPath>,
    refusals: [Option<(Address, u8)>; REFUSALS],
    /// The number of refusals that may leave now, and when the wait for the next one began.
    may_refuse: (u8, Instant),
    patience: Patience,
    leaving: Option<(Address, Ack)>,
    next_tag: u8,
    round_trip: RoundTrip,
    pub(crate) counters: RecoveryCounters,
}

impl<M: Memory> Recovery<M> {
    fn new(
        by: Recovers,
        config: RecoveryConfig,
        memory: RecoveryMemory<M>,
        times: ReassemblyTimes,
        first_tag: u8,
    ) -> Self {
        let waits = Waits {
            timeout: times.timeout,
            limit: times.limit,
            linger: config.linger,
        };
        let RecoveryMemory {
            mut outgoing,
            mut incoming,
            mut paths,
        } = memory;
        outgoing.as_mut().fill(Outgoing::EMPTY);
        incoming.as_mut().fill(Incoming::EMPTY);
        paths.as_mut().fill(SwitchedPath::EMPTY);
        let patience = Patience {
            first: times.stall,
            grown: config.arq_timeout_max,
        };
        let config = RecoveryConfig {
            window: config.window.clamp(1, 32),
            max_fragment: config.max_fragment.min(config::LARGEST),
            ..config
        };
        Recovery {
            by,
            config,
            waits,
            outgoing,
            incoming,
            paths,
            refusals: [None; REFUSALS],
            may_refuse: (acks::REFUSALS_AT_ONCE, Instant::ZERO),
            patience,
            leaving: None,
            next_tag: first_tag,
            round_trip: RoundTrip::default(),
            counters: RecoveryCounters::default(),
        }
    }

    // --- the tables ---

    pub(crate) fn senders(&self) -> impl Iterator<Item = (u8, &Sender)> {
        let numbered = (0..u8::MAX).zip(self.outgoing.as_ref());
        numbered.filter_map(|(i, entry)| Some((i, entry.0.as_ref()?)))
    }

    /// Returns how many entries are in use for outgoing datagrams, incoming datagrams and paths.
    pub(crate) fn in_use(&self) -> [usize; 3] {
        let incoming = self.incoming.as_ref().iter().filter_map(Incoming::peek);
        [
            self.senders().count(),
            incoming.count(),
            self.paths().count(),
        ]
    }

    pub(crate) fn find(&self, is_it: impl Fn(&Sender) -> bool) -> Option<u8> {
        let mut senders = self.senders();
        senders.find(|(_, sender)| is_it(sender)).map(|(i, _)| i)
    }

    pub(crate) fn sender(&self, index: u8) -> Option<&Sender> {
        self.outgoing.as_ref().get(usize::from(index))?.0.as_ref()
    }

    pub(crate) fn sender_mut(&mut self, index: u8) -> Option<&mut Sender> {
        let entry = self.outgoing.as_mut().get_mut(usize::from(index))?;
        entry.0.as_mut()
    }

    pub(crate) fn arriving_mut(&mut self, src: Address, tag: u8) -> Option<&mut Arriving> {
        let mut entries = self.incoming.as_mut().iter_mut().filter_map(Incoming::get);
        entries.find(|entry| entry.is(src, tag))
    }

    pub(crate) fn path_mut(&mut self, src: Address, tag: u8) -> Option<&mut Path> {
        let mut entries = self
            .paths
            .as_mut()
            .iter_mut()
            .filter_map(|path| path.0.as_mut());
        entries.find(|path| path.comes_from(src, tag))
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths
            .as_ref()
            .iter()
            .filter_map(|path| path.0.as_ref())
    }

    /// Returns the number of datagrams that this node sends or forwards in recoverable fragments.
    pub(crate) fn datagrams(&self) -> usize {
        let runs = |(_, sender): &(u8, &Sender)| !matches!(sender.phase, Phase::Ended(_));
        let passing = self.paths().filter(|path| !path.is_full);
        let own = self.senders().filter(runs);
        own.count().saturating_add(passing.count())
    }

    // --- the fragmenting endpoint ---

    pub(crate) fn has_outgoing_room(&self) -> bool {
        let entries = self.outgoing.as_ref().iter().take(usize::from(u8::MAX));
        entries.into_iter().any(|entry| entry.0.is_none())
    }

    /// Stores the record of a datagram to send and returns its index; `None` without a free entry.
    pub(crate) fn begin(&mut self, source: Source, next_hop: Address, shape: Shape) -> Option<u8> {
        let tag = self.new_tag();
        let window = self.config.window;
        let mut entries = (0..u8::MAX).zip(self.outgoing.as_mut());
        let (index, entry) = entries.find(|(_, entry)| entry.0.is_none())?;
        entry.0 = Some(Sender::new(source, next_hop, tag, shape, window));
        self.counters.datagrams = self.counters.datagrams.wrapping_add(1);
        Some(index)
    }

    /// Returns a tag that no own or forwarded datagram uses. RFC 8931 §5: a tag is "locally unique"
    /// to its node for the lifetime of the datagram.
    pub(crate) fn new_tag(&mut self) -> u8 {
        let mut tag = self.next_tag;
        for _ in 0..u8::MAX {
            let ours = self.senders().any(|(_, sender)| sender.tag == tag);
            if !ours && !self.paths().any(|path| path.tag_out == tag) {
                break;
            }
            tag = tag.wrapping_add(1);
        }
        self.next_tag = tag.wrapping_add(1);
        tag
    }

    /// Returns a datagram of this node that has a frame to send, while none of its frames is being
    /// sent.
    pub(crate) fn ready(&self) -> Option<u8> {
        self.find(|sender| matches!(sender.phase, Phase::Ready | Phase::Aborting))
    }

    pub(crate) fn end(&mut self, index: u8) -> Option<Sender> {
        let entry = self.outgoing.as_mut().get_mut(usize::from(index))?;
        entry.0.take()
    }

    pub(crate) fn sender_mut_with(&mut self, index: u8) -> Option<(&mut Sender, &RecoveryConfig)> {
        let entry = self.outgoing.as_mut().get_mut(usize::from(index))?;
        Some((entry.0.as_mut()?, &self.config))
    }

    /// Handles the end of a frame's transmission; returns whether its train has another frame.
    pub(crate) fn on_frame_done(&mut self, now: Instant, index: u8) -> bool {
        let entry = self.outgoing.as_mut().get_mut(usize::from(index));
        let Some(sender) = entry.and_then(|entry| entry.0.as_mut()) else {
            return false;
        };
        let wait = self.round_trip.wait(sender.backoff, &self.config);
        sender.on_frame_done(now, wait)
    }

    /// Handles an acknowledgment from `src` of a datagram of this node. Returns the index of the
    /// datagram, and the effect on it.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        src: Address,
        ack: &Ack,
    ) -> Option<(u8, Standing)> {
        let is_its = |sender: &Sender| {
            let runs = !matches!(sender.phase, Phase::Ended(_));
            runs && sender.next_hop == src && sender.tag == ack.tag
        };
        let index = self.find(is_its)?;
        let entry = self.outgoing.as_mut().get_mut(usize::from(index))?;
        let sender = entry.0.as_mut()?;
        let counters = &mut self.counters;
        if let Some(took) = sender.round_trip(now) {
            self.round_trip.sample(took);
            let us = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
            counters.round_trip_us = us(self.round_trip.smoothed());
            counters.longest_round_trip_us = counters.longest_round_trip_us.max(us(took));
        }
        counters.congested = counters.congested.wrapping_add(ack.ecn.into());
        Some((index, sender.on_ack(ack, &self.config)))
    }

    /// Handles one overdue acknowledgment. Returns the index of its datagram, and the effect on it.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> Option<(u8, Standing)> {
        let due = |sender: &Sender| sender.deadline().is_some_and(|at| at <= now);
        let index = self.find(due)?;
        let (sender, config) = self.sender_mut_with(index)?;
        let standing = sender.on_timeout(config);
        self.round_trip.on_timeout();
        self.counters.timeouts = self.counters.timeouts.wrapping_add(1);
        Some((index, standing))
    }

    // --- the reassembling endpoint and the relay ---

    /// Stores the record of an arriving datagram in a free entry, or in that of a complete one.
    pub(crate) fn accept(&mut self, arriving: Arriving) -> bool {
        let entries = self.incoming.as_mut().iter_mut();
        let Some(entry) = least(entries.filter_map(Incoming::rank)) else {
            return false;
        };
        entry.0 = Some(arriving);
        true
    }

    pub(crate) fn has_incoming_room(&self) -> bool {
        let mut entries = self.incoming.as_ref().iter();
        entries.any(Incoming::is_available)
    }

    pub(crate) fn forget(&mut self, src: Address, tag: u8) -> Option<SlotId> {
        let mut entries = self.incoming.as_mut().iter_mut();
        let entry = entries.find(|entry| entry.peek().is_some_and(|entry| entry.is(src, tag)))?;
        entry.0.take()?.slot
    }

    /// Evicts a stalled datagram, preferably one with only a first fragment, and returns its slot.
    /// If datagrams with only a first fragment occupy all but [`RESERVE`] of the `slots`, these
    /// datagrams count as stalled sooner.
    pub(crate) fn evict(&mut self, now: Instant, slots: usize, is_full: bool) -> Option<SlotId> {
        let arriving = || self.incoming.as_ref().iter().filter_map(Incoming::peek);
        let firsts = arriving().filter(|entry| entry.slot.is_some() && !entry.has_grown());
        let most = slots.saturating_sub(RESERVE).max(1);
        let patience = match firsts.count() >= most {
            true => Patience {
                first: self.patience.first.min(CROWDED),
                ..self.patience
            },
            false if is_full || !self.has_incoming_room() => self.patience,
            false => return None,
        };
        let ready = arriving().filter_map(|entry| {
            let rank = entry.readiness(now, &patience)?;
            Some((rank, (entry.src, entry.tag)))
        });
        let (src, tag) = least(ready)?;
        // No refusal is sent: a forged sender does not exist; the timer of a real one expires.
        self.forget(src, tag)
    }

    pub(crate) fn has_path_room(&self, now: Instant) -> bool {
        let mut paths = self.paths.as_ref().iter();
        paths.any(|path| path.rank(now, &self.patience).is_some())
    }

    pub(crate) fn open_path(&mut self, now: Instant, path: Path) {
        let patience = self.patience;
        let entries = self.paths.as_mut().iter_mut();
        let ranked = entries.filter_map(|entry| Some((entry.rank(now, &patience)?, entry)));
        if let Some(entry) = least(ranked) {
            entry.0 = Some(path);
        }
    }

    pub(crate) fn close_path(&mut self, src: Address, tag: u8) {
        let is_it = |path: &Path| path.comes_from(src, tag);
        for entry in self.paths.as_mut() {
            entry.0.take_if(|path| is_it(path));
        }
    }

    // --- time ---

    /// Returns an incomplete datagram whose time limit has expired.
    pub(crate) fn stale(&self, now: Instant) -> Option<(Address, u8)> {
        let mut entries = self.incoming.as_ref().iter().filter_map(Incoming::peek);
        entries
            .find(|entry| entry.slot.is_some() && entry.expires <= now)
            .map(|entry| (entry.src, entry.tag))
    }

    /// Deletes expired records and paths; returns the number of datagrams lost in transit.
    pub(crate) fn expire(&mut self, now: Instant) -> u32 {
        for entry in self.incoming.as_mut() {
            entry.0.take_if(|entry| entry.expires <= now);
        }
        let mut lost = 0u32;
        for entry in self.paths.as_mut() {
            let gone = entry.0.take_if(|path| path.expires <= now);
            lost = lost.saturating_add(u32::from(gone.is_some_and(|path| !path.is_full)));
        }
        lost
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        let arriving = self.incoming.as_ref().iter().filter_map(Incoming::peek);
        let ends = arriving.map(|entry| entry.expires);
        let ends = ends.chain(self.paths().map(|path| path.expires)).min();
        let arq = self.senders().filter_map(|(_, sender)| sender.deadline());
        let ends = ends.map(|at| Wake::within(at, TIMEOUT_SLACK));
        earliest(arq.min().map(Wake::exactly), ends)
    }
}

/// Acceptable delay of all timers except those of acknowledgments.
const TIMEOUT_SLACK: Duration = Duration::from_millis(500);
