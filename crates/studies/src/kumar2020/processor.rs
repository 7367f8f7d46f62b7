//! What processors have to do: the CPU duty cycles of the paper's table 7.

use super::read::{CPU, cpu_duty_cycle};
use super::scenes::{day, paper};
use crate::Criterion::Between;
use crate::{Case, Fact, Figure, Point, Probe, Run, Table};

/// Name, transport, batch, and the paper's CPU duty cycle in percent.
const PROTOCOLS: [(&str, &str, u32, f64); 4] = [
    ("TCP", "tcp", 64, 0.973),
    ("CoAP", "coap", 64, 0.834),
    ("unreliable, no batch", "unreliable", 1, 0.52),
    ("unreliable, batch", "unreliable", 64, 0.30),
];

const SERIES: &str = "testbed";

/// The runs are those of table 7.
fn case(transport: &'static str, batch: u32) -> Case {
    paper(day(transport, batch)).probe(Probe::Hourly { nodes: "leaf" })
}

/// Instructions of an operating system each time the processor is woken, such that
/// TCP has the paper's number: no source says how many there are.
const WAKE_UP: f64 = 20_000.0;
const SYSTEM: &str = "20,000 instructions more a wake-up";

/// [`CPU`] of the leaves with those.
fn with_system(run: &Run) -> Option<f64> {
    // As docs/model.md has them: cycles an instruction, and Hz.
    const CYCLES: f64 = 1.5;
    const CLOCK: f64 = 48e6;
    let wake_ups = run.node("leaf", "/energy/wake_ups")? / run.number("/simulated_s")?;
    Some(cpu_duty_cycle(run)? + 100.0 * wake_ups * WAKE_UP * CYCLES / CLOCK)
}

/// Table 7's CPU column.
pub fn table_7() -> Figure {
    let points = PROTOCOLS.map(|(name, transport, batch, measured)| {
        // Without an operating system it must not be more than with one; less
        // than half of it says that something else is missing, too.
        Point::new((SERIES, name), CPU, &case(transport, batch), cpu_duty_cycle)
            .paper(measured)
            .must(Between(0.5 * measured, measured))
    });
    let points = points
        .into_iter()
        .chain(PROTOCOLS.map(|(name, transport, batch, measured)| {
            Point::new((SYSTEM, name), CPU, &case(transport, batch), with_system).paper(measured)
        }));
    let quotient = |one: usize, other: usize| {
        let ((one, .., a), (other, .., b)) = (PROTOCOLS[one], PROTOCOLS[other]);
        let of = move |table: &Table<'_>| table.ratio(CPU.0, (SERIES, one), (SERIES, other));
        (of, a / b)
    };
    let facts = [
        ("CPU, TCP / CoAP", quotient(0, 1)),
        ("CPU, CoAP / unreliable with batch", quotient(1, 3)),
        ("CPU, unreliable, no batch / batch", quotient(2, 3)),
    ];
    let hundredths = |value: f64| (100.0 * value).round() / 100.0;
    let near = |value: f64| Between(hundredths(0.7 * value), hundredths(1.3 * value));
    Figure {
        name: "table-7-cpu",
        title: "CPU duty cycle over a day with interference",
        x_label: "protocol",
        about: "The runs of table 7. Ours is the engine's instructions, as counted on a \
                Cortex-M0, at 48 MHz, and the moves of frames; the paper's includes RIOT, \
                OpenThread and the sensor's driver. Criteria: between half of the paper's and \
                the paper's, and quotients within 30 % of the paper's. The last four add \
                what would be an operating system's; how much was chosen so that TCP has about \
                the paper's number.",
        points: points.collect(),
        facts: facts
            .into_iter()
            .map(|(name, (of, measured))| Fact::shape(name, of, near(measured)).paper(measured))
            .collect(),
    }
}
