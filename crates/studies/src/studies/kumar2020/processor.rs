//! What processors have to do: the CPU duty cycles of the paper's table 7.

use super::day::PROTOCOLS;
use crate::engine::figure::Figure;
use crate::vocabulary::read::{CPU, cpu_duty_cycle_of};

/// Table 7's CPU column.
pub fn table_7() -> Figure {
    let mut figure = Figure::new("table-7-cpu", "CPU duty cycle over a day with interference")
        .x_label("protocol")
        .about(
            "The runs of table 7. Ours is the engine's instructions, as counted on a \
             Cortex-M0, at 48 MHz, the moves of frames, and for each packet an operating \
             system's, chosen so that section 6.3 comes out; the paper's includes the \
             sensor's driver.",
        );
    let [tcp, coap, single, batch] = PROTOCOLS.map(|it| {
        figure
            .point(("testbed", it.name), CPU, &it.day(), move |run| {
                cpu_duty_cycle_of(run, it.nodes)
            })
            .paper(it.cpu)
            .judged(it.id)
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
