//! Faults: rules for every frame at a receiver, for every packet at the host's side, and for the
//! power of nodes.
//!
//! A rule maps facts to a [`Treatment`] without side effects. The first rule whose treatment is not
//! [`Treatment::Pass`] decides.

use redpoll_base::{Duration, Instant, Rng};

/// A rule and the period in which it applies.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    pub from: Instant,
    /// End, exclusive; [`Instant::FAR_FUTURE`] for the rest of the run.
    pub until: Instant,
    pub rule: Rule,
}

/// A kind of fault. Nodes are indices into the scenario's list; `None` means any node.
/// `probability` is the share of the frames or packets that the fault affects, 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub enum Rule {
    /// Frames are lost at their receiver, although the medium delivers them.
    DropFrames {
        from: Option<usize>,
        to: Option<usize>,
        kind: FrameKind,
        probability: f64,
    },
    /// The radio acknowledges data frames and then loses them, so link retries do not repair the
    /// loss.
    LoseFrames {
        from: Option<usize>,
        to: Option<usize>,
        probability: f64,
    },
    /// The MAC of the receiver gets data frames twice, as when a neighbour retransmits a frame
    /// whose acknowledgment was lost.
    DuplicateFrames {
        from: Option<usize>,
        to: Option<usize>,
        probability: f64,
    },
    /// One bit of data frames is set, without an error in the frame check sequence.
    CorruptFrames {
        from: Option<usize>,
        to: Option<usize>,
        probability: f64,
    },
    /// A node's radio is off: it neither receives nor sends. Its processor keeps running.
    NodeOff { node: usize },
    /// A node is off, and restarts afterwards with only the state in flash. Its applications begin
    /// again.
    NodeRestart { node: usize },
    /// The clock of a node is set forward by `by` at the beginning of the period.
    ClockStep { node: usize, by: Duration },
    /// Packets between the host and the border router are lost, in both directions.
    DropPackets { probability: f64 },
    /// Packets between the host and the border router arrive twice.
    DuplicatePackets { probability: f64 },
    /// Packets between the host and the border router arrive `delay` late, so packets that were
    /// sent later can arrive first.
    ReorderPackets { probability: f64, delay: Duration },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FrameKind {
    #[default]
    Any,
    /// All frames except acknowledgments.
    Data,
    /// Link acknowledgements only.
    Ack,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    Pass,
    Drop,
    Lose,
    Duplicate,
    /// Sets the bit of the mask `flip` in the byte at `3 + at % (length - 3)`, or the next higher
    /// bit that is clear.
    Corrupt {
        at: u32,
        flip: u8,
    },
    Delay(Duration),
}

#[derive(Clone, Copy, Debug)]
pub struct FrameFacts {
    pub from: usize,
    pub to: usize,
    pub is_ack: bool,
}

/// All rules of a run, with their own stream of random numbers.
#[derive(Debug)]
pub struct Faults {
    specs: Vec<Spec>,
    rng: Rng,
    /// Whether a rule applies to frames. If none does, frames skip the search for a rule.
    about_frames: bool,
}

impl Faults {
    pub fn new(specs: Vec<Spec>, rng: Rng) -> Self {
        let about_frames = specs.iter().any(is_about_frames);
        Faults {
            specs,
            rng,
            about_frames,
        }
    }

    pub(crate) fn add(&mut self, spec: Spec) {
        self.about_frames |= is_about_frames(&spec);
        self.specs.push(spec);
    }

    /// Ends the rules that hold at `now` and satisfy `is_meant`. Returns whether there were any.
    pub(crate) fn end(&mut self, now: Instant, is_meant: impl Fn(&Rule) -> bool) -> bool {
        let meant = |spec: &&mut Spec| holds(spec, now) && is_meant(&spec.rule);
        let mut ended = false;
        for spec in self.specs.iter_mut().filter(meant) {
            spec.until = now;
            ended = true;
        }
        // Expired rules are removed so that frames are not compared with them.
        self.specs.retain(|spec| spec.until > now);
        ended
    }

    pub fn rules(&self, now: Instant) -> impl Iterator<Item = &Rule> {
        self.holding(now)
    }

    /// Returns the times at which nodes are switched off or on, each with the index of the node.
    pub fn switches(&self) -> impl Iterator<Item = (Instant, usize)> + '_ {
        self.specs.iter().flat_map(|spec| {
            let node = match spec.rule {
                Rule::NodeOff { node } | Rule::NodeRestart { node } => Some(node),
                _ => None,
            };
            let moments = [spec.from, spec.until];
            node.into_iter()
                .flat_map(move |node| moments.into_iter().map(move |at| (at, node)))
        })
    }

    pub fn is_off(&self, now: Instant, node: usize) -> bool {
        self.holding(now)
            .any(|rule| [Rule::NodeOff { node }, Rule::NodeRestart { node }].contains(rule))
    }

    pub fn restarts(&self) -> impl Iterator<Item = (Instant, usize)> + '_ {
        self.specs.iter().filter_map(|spec| match spec.rule {
            Rule::NodeRestart { node } => Some((spec.until, node)),
            _ => None,
        })
    }

    pub fn on_frame(&mut self, now: Instant, frame: FrameFacts) -> Treatment {
        if !self.about_frames {
            return Treatment::Pass;
        }
        let Faults { specs, rng, .. } = self;
        for spec in specs.iter().filter(|spec| holds(spec, now)) {
            let treatment = match &spec.rule {
                Rule::DropFrames {
                    from,
                    to,
                    kind,
                    probability,
                } if is_between(&frame, *from, *to)
                    && is_kind(&frame, *kind)
                    && chance(rng, *probability) =>
                {
                    Treatment::Drop
                }
                Rule::LoseFrames {
                    from,
                    to,
                    probability,
                } if is_between(&frame, *from, *to)
                    && !frame.is_ack
                    && chance(rng, *probability) =>
                {
                    Treatment::Lose
                }
                Rule::DuplicateFrames {
                    from,
                    to,
                    probability,
                } if is_between(&frame, *from, *to)
                    && !frame.is_ack
                    && chance(rng, *probability) =>
                {
                    Treatment::Duplicate
                }
                Rule::CorruptFrames {
                    from,
                    to,
                    probability,
                } if is_between(&frame, *from, *to)
                    && !frame.is_ack
                    && chance(rng, *probability) =>
                {
                    Treatment::Corrupt {
                        at: rng.next_u32(),
                        flip: 1 << rng.below(8),
                    }
                }
                _ => Treatment::Pass,
            };
            if treatment != Treatment::Pass {
                return treatment;
            }
        }
        Treatment::Pass
    }

    /// Returns the treatment of a packet between the host and the border router.
    pub fn on_packet(&mut self, now: Instant) -> Treatment {
        let Faults { specs, rng, .. } = self;
        for spec in specs.iter().filter(|spec| holds(spec, now)) {
            match spec.rule {
                Rule::DropPackets { probability } if chance(rng, probability) => {
                    return Treatment::Drop;
                }
                Rule::DuplicatePackets { probability } if chance(rng, probability) => {
                    return Treatment::Duplicate;
                }
                Rule::ReorderPackets { probability, delay } if chance(rng, probability) => {
                    return Treatment::Delay(delay);
                }
                _ => {}
            }
        }
        Treatment::Pass
    }

    fn holding(&self, now: Instant) -> impl Iterator<Item = &Rule> {
        self.specs
            .iter()
            .filter(move |spec| holds(spec, now))
            .map(|spec| &spec.rule)
    }
}

fn is_about_frames(spec: &Spec) -> bool {
    matches!(
        spec.rule,
        Rule::DropFrames { .. }
            | Rule::LoseFrames { .. }
            | Rule::DuplicateFrames { .. }
            | Rule::CorruptFrames { .. }
    )
}

fn holds(spec: &Spec, now: Instant) -> bool {
    spec.from <= now && now < spec.until
}

fn is_between(frame: &FrameFacts, from: Option<usize>, to: Option<usize>) -> bool {
    from.is_none_or(|node| node == frame.from) && to.is_none_or(|node| node == frame.to)
}

fn is_kind(frame: &FrameFacts, kind: FrameKind) -> bool {
    match kind {
        FrameKind::Any => true,
        FrameKind::Data => !frame.is_ack,
        FrameKind::Ack => frame.is_ack,
    }
}

pub(crate) fn chance(rng: &mut Rng, probability: f64) -> bool {
    if probability >= 1.0 {
        return true;
    }
    probability > 0.0 && unit(rng) < probability
}

/// Returns a random number in [0, 1).
pub(crate) fn unit(rng: &mut Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(from: usize, to: usize, is_ack: bool) -> FrameFacts {
        FrameFacts { from, to, is_ack }
    }

    fn faults(rule: Rule) -> Faults {
        let spec = Spec {
            from: Instant::from_millis(10),
            until: Instant::from_millis(20),
            rule,
        };
        Faults::new(vec![spec], Rng::new(1))
    }

    #[test]
    fn a_rule_holds_from_inclusive_until_exclusive() {
        let faults = faults(Rule::NodeOff { node: 3 });
        assert!(!faults.is_off(Instant::from_micros(9_999), 3));
        assert!(faults.is_off(Instant::from_millis(10), 3));
        assert!(!faults.is_off(Instant::from_millis(10), 2));
        assert!(!faults.is_off(Instant::from_millis(20), 3));
        let switches: Vec<_> = faults.switches().collect();
        assert_eq!(
            switches,
            [(Instant::from_millis(10), 3), (Instant::from_millis(20), 3)]
        );
    }

    #[test]
    fn frames_are_matched_by_link_and_kind() {
        let mut faults = faults(Rule::DropFrames {
            from: Some(1),
            to: None,
            kind: FrameKind::Ack,
            probability: 1.0,
        });
        let now = Instant::from_millis(15);
        assert_eq!(faults.on_frame(now, frame(1, 2, true)), Treatment::Drop);
        assert_eq!(faults.on_frame(now, frame(1, 2, false)), Treatment::Pass);
        assert_eq!(faults.on_frame(now, frame(2, 1, true)), Treatment::Pass);
        assert_eq!(
            faults.on_frame(Instant::from_millis(25), frame(1, 2, true)),
            Treatment::Pass
        );
    }

    #[test]
    fn data_frames_are_corrupted_in_one_bit() {
        let mut faults = faults(Rule::CorruptFrames {
            from: None,
            to: Some(2),
            probability: 1.0,
        });
        let now = Instant::from_millis(15);
        for _ in 0..100 {
            let treatment = faults.on_frame(now, frame(1, 2, false));
            let Treatment::Corrupt { flip, .. } = treatment else {
                panic!("{treatment:?}");
            };
            assert_eq!(flip.count_ones(), 1);
        }
        assert_eq!(faults.on_frame(now, frame(1, 2, true)), Treatment::Pass);
        assert_eq!(faults.on_frame(now, frame(1, 3, false)), Treatment::Pass);
    }

    #[test]
    fn a_probability_is_met_on_average() {
        let mut faults = faults(Rule::DropPackets { probability: 0.25 });
        let now = Instant::from_millis(15);
        let dropped = (0..10_000)
            .filter(|_| faults.on_packet(now) == Treatment::Drop)
            .count();
        assert!((2_300..2_700).contains(&dropped), "{dropped}");
    }
}
