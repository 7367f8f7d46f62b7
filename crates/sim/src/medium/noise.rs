//! Noise in a node's channel, which may change each millisecond: as it was
//! measured, or as a model has learnt from what was measured.
//!
//! The model is closest-pattern matching (Lee, Cerpa and Levis, "Improving
//! Wireless Simulation Through Noise Modeling", IPSN 2007) with the figures of
//! TOSSIM: what comes after the last [`HISTORY`] samples is drawn from what came
//! in the trace wherever these, in steps of [`STEP_DB`], came before it. Where
//! the trace ends it goes on after the pattern that is the most frequent. Unlike
//! TOSSIM's, what is drawn is a sample of the trace, not the lower edge of its
//! step.

use std::sync::Arc;

use redpoll_base::{Duration, Instant, Rng};

use super::oqpsk::from_db;
use super::radios::Radios;
use super::{NoiseModel, Sinr, Site};
use crate::kernel::Seed;
use crate::measured::NoiseTrace;

/// A trace has a sample for each such time.
const SAMPLE_US: u64 = 1_000;
/// Samples that the next one depends on (NOISE_HISTORY of TOSSIM).
pub const HISTORY: usize = 20;
/// Samples are told apart in such steps, in dB (NOISE_QUANTIZE_INTERVAL).
const STEP_DB: f32 = 5.0;
/// The model begins anew, at a place in the trace that it draws, at such
/// intervals, in samples: so noise depends on the time alone, not on when it was
/// looked at, and nobody has to work out what nobody looked at.
const EPISODE: u64 = 10_000;

/// What noise is taken from or learnt from.
#[derive(Clone, PartialEq, Debug)]
pub struct NoiseSource {
    /// What was measured.
    pub trace: Arc<NoiseTrace>,
    /// For how long a node needs it; `None` if it is repeated from its beginning.
    pub span: Option<Duration>,
}

impl NoiseSource {
    /// How long the trace is.
    pub fn length(&self) -> Duration {
        Duration::from_micros(self.trace.samples_dbm.len() as u64 * SAMPLE_US)
    }
}

/// The noise of each node.
pub fn of_nodes(site: &Site<'_>, sinr: &Sinr, seed: Seed) -> impl Iterator<Item = NodeNoise> {
    let nodes = site.positions_m.len();
    let model = sinr.noise;
    let radios = Radios::new(sinr, site.radios, nodes, seed);
    let source = site.noise.cloned();
    let patterns = match (&source, model) {
        (Some(source), NoiseModel::Cpm) => Some(Arc::new(Patterns::new(&source.trace))),
        _ => None,
    };
    (0..nodes).map(move |node| {
        let floor_mw = from_db(radios.of(node).noise_floor_dbm);
        let mut rng = seed.node_stream("noise", node);
        let course = match (&source, &patterns, model) {
            (Some(_), Some(patterns), _) => Some(Course::Cpm(Cpm {
                patterns: patterns.clone(),
                seed: rng.next_u64(),
                episode: u64::MAX,
                sample: 0,
                place: 0,
                rng: Rng::new(0),
            })),
            (Some(source), _, NoiseModel::Replay) => {
                Some(Course::Replay(Replay::new(source, &mut rng)))
            }
            _ => None,
        };
        NodeNoise {
            floor_mw,
            changing: course.map(|course| {
                Box::new(Changing {
                    course,
                    sample: u64::MAX,
                    power_mw: floor_mw,
                })
            }),
        }
    })
}

/// The noise of one node.
#[derive(Clone, Debug)]
pub struct NodeNoise {
    floor_mw: f64,
    changing: Option<Box<Changing>>,
}

#[derive(Clone, Debug)]
struct Changing {
    course: Course,
    /// The sample last looked at.
    sample: u64,
    power_mw: f64,
}

#[derive(Clone, Debug)]
enum Course {
    Replay(Replay),
    Cpm(Cpm),
}

impl NodeNoise {
    /// Whether it ever changes.
    pub fn changes(&self) -> bool {
        self.changing.is_some()
    }

    /// Its power in milliwatts: that of the trace, but never less than the node's
    /// own noise floor.
    pub fn at(&mut self, now: Instant) -> f64 {
        let Some(changing) = &mut self.changing else {
            return self.floor_mw;
        };
        let sample = now.as_micros() / SAMPLE_US;
        if sample != changing.sample {
            changing.sample = sample;
            let dbm = match &mut changing.course {
                Course::Replay(replay) => replay.at(sample),
                Course::Cpm(cpm) => Some(cpm.at(sample)),
            };
            changing.power_mw = dbm
                .map_or(0.0, |dbm| from_db(f64::from(dbm)))
                .max(self.floor_mw);
        }
        changing.power_mw
    }

    /// Calls `act` for each stretch of time from `from` to `until` in which noise
    /// is the same, with its power in milliwatts and the stretch's microseconds.
    pub fn for_each_level(&mut self, from: Instant, until: Instant, mut act: impl FnMut(f64, u64)) {
        let (mut at, until) = (from.as_micros(), until.as_micros());
        while at < until {
            let next = match self.changes() {
                true => until.min((at / SAMPLE_US + 1) * SAMPLE_US),
                false => until,
            };
            act(self.at(Instant::from_micros(at)), next - at);
            at = next;
        }
    }
}

/// A trace from a place in it.
#[derive(Clone, Debug)]
struct Replay {
    trace: Arc<NoiseTrace>,
    offset: u64,
    repeats: bool,
}

impl Replay {
    fn new(source: &NoiseSource, rng: &mut Rng) -> Replay {
        let len = source.trace.samples_dbm.len() as u64;
        let needed = source
            .span
            .map_or(1, |span| span.as_micros().div_ceil(SAMPLE_US));
        Replay {
            trace: source.trace.clone(),
            offset: rng.below_u64((len + 1).saturating_sub(needed).max(1)),
            repeats: source.span.is_none(),
        }
    }

    /// `None` after the end of a trace that is not repeated.
    fn at(&self, sample: u64) -> Option<f32> {
        let samples = &self.trace.samples_dbm;
        let place = self.offset.saturating_add(sample);
        let place = match self.repeats {
            true => place % samples.len() as u64,
            false => place,
        };
        samples.get(usize::try_from(place).ok()?).copied()
    }
}

/// Where in a trace each pattern is.
#[derive(Debug)]
struct Patterns {
    trace: Arc<NoiseTrace>,
    /// Places in the trace, those with the same pattern before them side by side.
    places: Vec<u32>,
    /// By place, from [`HISTORY`] on: where those begin that have the same pattern
    /// before them, and how many they are.
    alike: Vec<(u32, u32)>,
    /// Where those places begin, and how many they are, that have the most frequent pattern
    /// before them.
    usual: (u32, u32),
}

impl Patterns {
    fn new(trace: &Arc<NoiseTrace>) -> Patterns {
        let steps = |dbm: &f32| libm::floorf(*dbm / STEP_DB) as i8;
        let steps: Vec<i8> = trace.samples_dbm.iter().map(steps).collect();
        let before = |place: &u32| &steps[*place as usize - HISTORY..*place as usize];
        let mut places: Vec<u32> = (HISTORY as u32..steps.len() as u32).collect();
        places.sort_by(|a, b| before(a).cmp(before(b)));
        let mut alike = vec![(0, 0); steps.len()];
        let (mut first, mut usual) = (0, (0, 0));
        for group in places.chunk_by(|a, b| before(a) == before(b)) {
            let len = group.len() as u32;
            for place in group {
                alike[*place as usize] = (first, len);
            }
            if len > usual.1 {
                usual = (first, len);
            }
            first += len;
        }
        Patterns {
            trace: trace.clone(),
            places,
            alike,
            usual,
        }
    }

    /// A place in the trace that could follow `place`.
    fn follow(&self, place: u32, rng: &mut Rng) -> u32 {
        let next = self.alike.get(place as usize + 1);
        let (first, len) = next.copied().unwrap_or(self.usual);
        let chosen = first + rng.below(len);
        self.places.get(chosen as usize).copied().unwrap_or(place)
    }
}

/// A course of noise that the trace could have had.
#[derive(Clone, Debug)]
struct Cpm {
    patterns: Arc<Patterns>,
    seed: u64,
    /// The episode that `sample` is of, and how it has gone.
    episode: u64,
    sample: u64,
    place: u32,
    rng: Rng,
}

impl Cpm {
    fn at(&mut self, sample: u64) -> f32 {
        let episode = sample / EPISODE;
        if episode != self.episode || sample < self.sample {
            self.episode = episode;
            self.sample = episode * EPISODE;
            self.rng = Rng::stream(self.seed, episode);
            let places = &self.patterns.places;
            let first = self.rng.below(places.len() as u32) as usize;
            self.place = places.get(first).copied().unwrap_or_default();
        }
        while self.sample < sample {
            self.sample += 1;
            self.place = self.patterns.follow(self.place, &mut self.rng);
        }
        self.patterns.trace.samples_dbm[self.place as usize]
    }
}
