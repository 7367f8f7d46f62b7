//! Instructions that a node's processor executes, by [`Step`].

use std::sync::LazyLock;

use redpoll_base::{Duration, Instant};
use redpoll_mac::{RadioResult, RadioWork};
use redpoll_stack::{Node, Profile};

use super::step::{Before, Loads, Step};

const STEPS: usize = Step::ALL.len();

/// Instructions of each step, measured on the engine (`docs/size.md`).
const TABLE: &str = include_str!("instructions.txt");

static COSTS: LazyLock<[Cost; STEPS]> =
    LazyLock::new(|| Step::ALL.map(|step| Cost::of(step, TABLE)));

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Cost {
    base: f64,
    per_byte: f64,
}

impl Cost {
    /// Returns the cost of `step` from its line in `table`; zero if `step` has no line.
    fn of(step: Step, table: &str) -> Cost {
        let line = table.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let is_it = words.next() == Some(step.name());
            is_it.then_some(words)
        });
        let mut numbers = line
            .into_iter()
            .flatten()
            .map_while(|word| word.parse().ok());
        Cost {
            base: numbers.next().unwrap_or_default(),
            per_byte: numbers.next().unwrap_or_default(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Labour {
    costs: [Cost; STEPS],
    counts: [u64; STEPS],
    bytes: [u64; STEPS],
    loads: Loads,
    /// Instructions recorded since the last call of [`Labour::take_time`].
    pending: f64,
    /// Time at which the processor finishes the instructions that earlier calls of
    /// [`Labour::take_time`] scheduled.
    free_at: Instant,
}

impl Labour {
    /// Adds `packet_instructions` per packet to the instructions of the engine.
    pub(crate) fn new(packet_instructions: f64) -> Labour {
        let mut costs = *COSTS;
        for step in Step::PACKETS {
            costs[step as usize].base += packet_instructions;
        }
        Labour {
            costs,
            counts: [0; STEPS],
            bytes: [0; STEPS],
            loads: Loads::default(),
            pending: 0.0,
            free_at: Instant::ZERO,
        }
    }

    pub(crate) fn input<P: Profile>(
        &mut self,
        node: &mut Node<P>,
        frame: &[u8],
        input: impl FnOnce(&mut Node<P>, &[u8]),
    ) {
        let before = Before::of(node);
        input(node, frame);
        self.enter(before.step(node, frame));
    }

    pub(crate) fn done<D>(&mut self, result: RadioResult<D>) {
        self.enter((Step::of_result(result), 0));
    }

    pub(crate) fn timer(&mut self) {
        self.enter((Step::Timer, 0));
    }

    /// Records that the node started `work` on its radio; `frame` is the frame to load.
    pub(crate) fn work<P: Profile, W>(&mut self, node: &Node<P>, work: RadioWork<W>, frame: &[u8]) {
        let step = match work {
            RadioWork::Load => self.loads.step(node, frame),
            _ => (Step::Order, 0),
        };
        self.enter(step);
    }

    pub(crate) fn rest(&mut self) {
        self.enter((Step::Rest, 0));
    }

    /// Records a sent message of CoAP in a datagram of `datagram` bytes.
    pub(crate) fn message_out(&mut self, datagram: usize) {
        self.enter((Step::MessageOut, packet(datagram)));
    }

    /// Records a received message of CoAP in a datagram of `datagram` bytes.
    pub(crate) fn message_in(&mut self, datagram: usize) {
        self.enter((Step::MessageIn, packet(datagram)));
    }

    fn enter(&mut self, (step, bytes): (Step, u16)) {
        self.counts[step as usize] += 1;
        self.bytes[step as usize] += u64::from(bytes);
        let cost = self.costs[step as usize];
        self.pending += cost.base + cost.per_byte * f64::from(bytes);
    }

    /// Schedules the steps recorded since the last call; the processor executes them after all
    /// earlier steps. Returns the time until the processor has completed them.
    pub(crate) fn take_time(&mut self, now: Instant, us_per_instruction: f64) -> Duration {
        let time_us = libm::round(std::mem::take(&mut self.pending) * us_per_instruction);
        self.free_at = self.free_at.max(now) + Duration::from_micros(time_us as u64);
        self.free_at.since(now)
    }

    pub(crate) fn wake_ups(&self) -> u64 {
        self.counts[Step::Rest as usize]
    }

    pub(crate) fn instructions(&self) -> f64 {
        let steps = self.costs.iter().zip(self.counts.iter().zip(&self.bytes));
        steps
            .map(|(cost, (count, bytes))| cost.base * *count as f64 + cost.per_byte * *bytes as f64)
            .sum()
    }
}

/// Returns the length in bytes of the IPv6 packet that carries a UDP datagram.
fn packet(datagram: usize) -> u16 {
    u16::try_from(datagram + 48).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_cost_and_bytes_cost_something_where_they_are_copied() {
        for (step, cost) in Step::ALL.into_iter().zip(COSTS.iter()) {
            assert!(
                cost.base >= 50.0 && cost.per_byte >= 0.0,
                "{step:?}: {cost:?}"
            );
            // `PacketOut` has a constant cost, because the line that fits its measurements would
            // fall with the packet's length (`xtask/src/size/steps.rs`).
            let copies = [
                Step::PacketIn,
                Step::DatagramOut,
                Step::DatagramIn,
                Step::MessageOut,
                Step::MessageIn,
                Step::RelayedOut,
                Step::RelayedIn,
            ];
            assert_eq!(cost.per_byte > 0.0, copies.contains(&step), "{step:?}");
        }
    }

    #[test]
    fn lines_of_the_table_are_read() {
        let table = "# sent 7 7\npacket_out 900 2.5\nsent 30 0.0\n";
        let cost = |step| Cost::of(step, table);
        let expected = Cost {
            base: 900.0,
            per_byte: 2.5,
        };
        assert_eq!(cost(Step::PacketOut), expected);
        assert_eq!(cost(Step::Sent).base, 30.0);
        assert_eq!(cost(Step::Timer), Cost::default());
    }

    #[test]
    fn work_takes_its_time_one_thing_after_the_other() {
        let mut labour = Labour::new(0.0);
        let at = Instant::from_micros;
        let each = COSTS[Step::Timer as usize].base;
        // At this speed, each timer takes 100 µs.
        let speed = 100.0 / each;
        labour.timer();
        assert_eq!(labour.take_time(at(1_000), speed).as_micros(), 100);
        assert_eq!(labour.take_time(at(1_030), speed).as_micros(), 70);
        labour.timer();
        labour.timer();
        assert_eq!(labour.take_time(at(1_040), speed).as_micros(), 260);
        assert_eq!(labour.take_time(at(1_300), speed).as_micros(), 0);
        assert_eq!(labour.take_time(at(5_000), speed).as_micros(), 0);
    }

    #[test]
    fn each_packet_costs_the_instructions_of_an_operating_system() {
        let mut labour = Labour::new(1_000.0);
        let engine = Labour::new(0.0).costs;
        // The node receives a packet that is addressed to it, and relays another packet.
        let steps = [
            Step::PacketIn,
            Step::RelayedIn,
            Step::RelayedOut,
            Step::FragmentIn,
        ];
        for step in steps {
            labour.enter((step, 0));
        }
        let own: f64 = steps.iter().map(|step| engine[*step as usize].base).sum();
        assert_eq!(labour.instructions(), own + 3_000.0);
        let us = labour.take_time(Instant::ZERO, 1.0).as_micros() as f64;
        assert_eq!(us, libm::round(own + 3_000.0));
    }

    #[test]
    fn instructions_are_steps_times_their_costs() {
        let mut labour = Labour::new(0.0);
        labour.enter((Step::PacketOut, 100));
        labour.enter((Step::PacketOut, 50));
        labour.timer();
        labour.rest();
        labour.rest();
        let cost = |step: Step| COSTS[step as usize];
        let expected = 2.0 * cost(Step::PacketOut).base
            + 150.0 * cost(Step::PacketOut).per_byte
            + cost(Step::Timer).base
            + 2.0 * cost(Step::Rest).base;
        assert_eq!((labour.instructions(), labour.wake_ups()), (expected, 2));
    }
}
