//! What processors have to do: the CPU duty cycles of the paper's table 7.

use super::day::paper_day;
use crate::engine::figure::Figure;
use crate::engine::run::{Reading, Run};
use crate::vocabulary::read::{CPU, cpu_duty_cycle};

/// Name, transport, batch, the row's name in the criteria, and the paper's CPU duty
/// cycle in percent.
const PROTOCOLS: [(&str, &str, u32, &str, f64); 4] = [
    ("TCP", "tcp", 64, "tcp", 0.973),
    ("CoAP", "coap", 64, "coap", 0.834),
    (
        "unreliable, no batch",
        "unreliable",
        1,
        "unreliable-single",
        0.52,
    ),
    (
        "unreliable, batch",
        "unreliable",
        64,
        "unreliable-batch",
        0.30,
    ),
];

const SERIES: &str = "testbed";

/// Instructions of an operating system each time the processor is woken, such that
/// TCP has the paper's number: no source says how many there are.
const WAKE_UP: f64 = 20_000.0;
const SYSTEM: &str = "20,000 instructions more a wake-up";

/// [`CPU`] of the leaves with those.
fn with_system(run: &Run) -> Reading {
    // As docs/model.md has them: cycles an instruction, and Hz.
    const CYCLES: f64 = 1.5;
    const CLOCK: f64 = 48e6;
    let wake_ups = run.node("leaf", "/energy/wake_ups")? / run.number("/simulated_s")?;
    Ok(cpu_duty_cycle(run)? + 100.0 * wake_ups * WAKE_UP * CYCLES / CLOCK)
}

/// Table 7's CPU column.
pub fn table_7() -> Figure {
    let mut figure = Figure::new("table-7-cpu", "CPU duty cycle over a day with interference")
        .x_label("protocol")
        .about(
            "The runs of table 7. Ours is the engine's instructions, as counted on a \
             Cortex-M0, at 48 MHz, and the moves of frames; the paper's includes RIOT, \
             OpenThread and the sensor's driver. The last four add what would be an \
             operating system's; how much was chosen so that TCP has about the paper's \
             number.",
        );
    let [tcp, coap, single, batch] = PROTOCOLS.map(|(name, transport, batch, id, measured)| {
        let case = paper_day(transport, batch);
        figure
            .point((SYSTEM, name), CPU, &case, with_system)
            .paper(measured);
        figure
            .point((SERIES, name), CPU, &case, cpu_duty_cycle)
            .paper(measured)
            .judged(id)
            .handle()
    });
    figure
        .ratio("CPU, TCP / CoAP", tcp, coap)
        .paper(0.973 / 0.834);
    figure
        .ratio("CPU, CoAP / unreliable with batch", coap, batch)
        .paper(0.834 / 0.30);
    figure
        .ratio("CPU, unreliable, no batch / batch", single, batch)
        .paper(0.52 / 0.30);
    figure
}
