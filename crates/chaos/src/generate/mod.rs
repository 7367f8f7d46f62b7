//! Draws a scenario from a seed, as the text of its file.
//!
//! The apps start first. Then the run has three parts. In the storm, faults come and go. In the
//! calm, every fault has ended, and every stream must progress. In the rest, the apps have ended,
//! and every pool must become empty.

mod apps;
mod faults;
mod mesh;
mod options;

use redpoll_sim::{Scenario, ScenarioError};
use toml::{Table, Value};

use crate::draw::Draw;

/// Largest number of draws of one seed. The first valid draw is the seed's scenario. A few options
/// exclude each other; almost every first draw is valid.
const DRAWS: usize = 20;

/// The time in which apps start, before the first fault, in seconds.
const CALM_BEFORE: u64 = 20;
/// Time between the last fault and the end of the apps, in addition to the longest time without
/// progress, in seconds.
const CALM: u64 = 60;
/// Longest time that a segment may spend in queues and in link retries, in seconds.
const LINK: u64 = 20;
/// Factor of [`LINK`] if the link layer delays TCP's timer: TCP starts it after the link layer
/// reports a segment's outcome. A duty-cycled radio repeats each frame for up to a wake-up
/// interval, and recoverable fragments are retransmitted by the link layer.
const SLOW_LINK: u64 = 6;
/// Longest pause between two polls of a sleepy node that expects a packet, in seconds. A node with
/// data in transit expects its acknowledgment, and the receiver of a stream expects data.
const POLL: u64 = 5;
/// Longest time that an HTTP client waits for an answer, in seconds. A CoAP client waits at most 93
/// s (RFC 7252 §4.8.2, MAX_TRANSMIT_WAIT) for each block.
const ANSWER: u64 = 240;
/// Time between the end of the apps and the end of the run, in seconds. It exceeds the longest time
/// that a connection survives after its peer has vanished.
const REST: u64 = 900;
/// Largest number of events in a simulated second.
const EVENTS: i64 = 300_000;

/// No draw of a seed was a valid scenario.
#[derive(Debug, thiserror::Error)]
#[error(
    "seed {seed}: none of {DRAWS} random scenarios is valid; error of the last scenario: {last}"
)]
pub struct Invalid {
    pub seed: u64,
    pub last: ScenarioError,
}

/// Returns the scenario of `seed` as TOML. The same seed gives the same text.
pub fn generate(seed: u64) -> Result<String, Invalid> {
    let mut draw = Draw::new(seed);
    let mut last = None;
    for _ in 0..DRAWS {
        let text = Draft::draw(&mut draw, seed).text();
        match Scenario::parse("chaos", &text, &[]) {
            Ok(_) => return Ok(text),
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(last) => Invalid { seed, last },
        None => unreachable!("at least one scenario was drawn"),
    })
}

/// A scenario while it is drawn.
struct Draft {
    document: Table,
    nodes: Vec<Node>,
    is_rpl: bool,
    /// Time in which faults come and go, in seconds.
    storm_s: u64,
    limits: Limits,
}

/// The options that limit the time that a stream may take without progress. [`Limits::default`]
/// holds the defaults of scenarios.
struct Limits {
    max_rto_s: u64,
    /// Retransmissions of a segment before the connection fails.
    retries: u64,
    /// Longest time between two polls of a sleepy node that expects nothing; 0 without such nodes.
    poll_s: u64,
    has_slow_link: bool,
    has_requests: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_rto_s: 60,
            retries: 12,
            poll_s: 0,
            has_slow_link: false,
            has_requests: false,
        }
    }
}

impl Limits {
    /// Returns the time within which a stream progresses or fails, in seconds: each transmission
    /// takes at most the time of the link, a poll, and the retransmission timeout (RFC 6298 §5.5
    /// with its maximum). After the last retransmission the connection fails (RFC 9293 §3.8.3).
    /// This bound holds for any loss.
    fn patience(&self) -> u64 {
        let link = if self.has_slow_link {
            SLOW_LINK * LINK
        } else {
            LINK
        };
        let stream = (self.retries + 1) * (self.max_rto_s + self.poll_s.min(POLL) + link);
        if self.has_requests {
            stream.max(ANSWER + link)
        } else {
            stream
        }
    }
}

struct Node {
    name: String,
    role: &'static str,
    is_sleepy: bool,
    /// Whether an app without TCP runs on the node.
    has_datagrams: bool,
}

impl Draft {
    fn draw(draw: &mut Draw, seed: u64) -> Draft {
        let mut draft = Draft {
            document: Table::new(),
            nodes: Vec::new(),
            is_rpl: draw.one_in(2),
            storm_s: draw.between(30, 240),
            limits: Limits::default(),
        };
        draft.set("seed", (seed & i64::MAX as u64) as i64);
        draft.set("routing", if draft.is_rpl { "rpl" } else { "fixed" });
        draft.mesh(draw);
        draft.options(draw);
        draft.apps(draw);
        draft.faults(draw);
        let is_cycled = draft.has("mac.access");
        draft.limits.has_slow_link = is_cycled || draft.has("lowpan.fragment_recovery");
        let patience = draft.limits.patience();
        let apps_end = CALM_BEFORE + draft.storm_s + patience + CALM;
        draft.set("duration", seconds(apps_end + REST));
        draft.set("oracle.apps_end", seconds(apps_end));
        draft.set("oracle.patience", seconds(patience));
        draft.set("oracle.events", EVENTS);
        draft
    }

    /// Sets the value of a key, given by its dotted path.
    fn set(&mut self, path: &str, value: impl Into<Value>) {
        let mut table = &mut self.document;
        let mut steps = path.split('.').peekable();
        while let Some(step) = steps.next() {
            if steps.peek().is_none() {
                table.insert(step.to_owned(), value.into());
                return;
            }
            let below = table
                .entry(step)
                .or_insert_with(|| Value::Table(Table::new()));
            match below {
                Value::Table(below) => table = below,
                _ => return,
            }
        }
    }

    /// Sets `path` with a probability of 1 / `times`.
    fn maybe<V: Into<Value>>(
        &mut self,
        draw: &mut Draw,
        times: u32,
        path: &str,
        value: impl FnOnce(&mut Draw) -> V,
    ) {
        if draw.one_in(times) {
            let value = value(draw);
            self.set(path, value);
        }
    }

    fn has(&self, path: &str) -> bool {
        let mut steps = path.split('.');
        let mut table = &self.document;
        let last = steps.next_back().unwrap_or_default();
        for step in steps {
            match table.get(step) {
                Some(Value::Table(below)) => table = below,
                _ => return false,
            }
        }
        table.contains_key(last)
    }

    fn text(&self) -> String {
        self.document.to_string()
    }

    fn any_node(&self, draw: &mut Draw) -> String {
        draw.pick(&self.nodes).name.clone()
    }
}

fn seconds(seconds: u64) -> String {
    format!("{seconds} s")
}

fn millis(millis: u64) -> String {
    format!("{millis} ms")
}

fn bytes(bytes: u64) -> String {
    format!("{bytes} B")
}

fn percent(percent: u64) -> String {
    format!("{percent} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_text() {
        for seed in [1, 2, u64::MAX] {
            assert_eq!(generate(seed).unwrap(), generate(seed).unwrap());
        }
        assert_ne!(generate(1).unwrap(), generate(2).unwrap());
    }

    #[test]
    fn almost_every_first_draw_is_valid() {
        let mut refused = Vec::new();
        for seed in 0..300 {
            let text = Draft::draw(&mut Draw::new(seed), seed).text();
            refused.extend(Scenario::parse("chaos", &text, &[]).err());
            generate(seed).unwrap();
        }
        assert!(refused.len() <= 15, "{}: {refused:#?}", refused.len());
    }
}
