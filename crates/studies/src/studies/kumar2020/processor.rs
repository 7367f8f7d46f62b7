//! CPU duty cycles of the paper's table 7.

use super::day::{PROTOCOLS, Protocol};
use super::scenes::hour_of_night;
use crate::vocabulary::profiles::TCPLP_PACKET_INSTRUCTIONS;
use crate::vocabulary::read::{CPU, cpu_duty_cycle_of};
use redpoll_experiments::{At, Figure, Handle};

/// Instructions of the operating system per packet, with the name of the series.
const SYSTEMS: [(&str, u32); 3] = [
    ("one hour at night", TCPLP_PACKET_INSTRUCTIONS),
    (
        "one hour at night, half the operating system's time per packet",
        TCPLP_PACKET_INSTRUCTIONS / 2,
    ),
    (
        "one hour at night, packets without the operating system's time",
        0,
    ),
];

/// Reason why processors work for longer than in the paper.
const SYSTEM: &str = "the operating system's time per packet, which section 6.3 calibrates for \
    bulk data, is the same for every packet; other rows have half of this time, or no such time";

/// Adds the protocol's CPU duty cycle with less work of the operating system per packet.
fn with_less(figure: &mut Figure, it: &Protocol) -> [Handle; 3] {
    let nodes = it.nodes;
    SYSTEMS.map(|(series, instructions)| {
        let case = hour_of_night(it.day()).set("energy.packet_instructions", instructions);
        figure
            .point(At::new(series, it.name), CPU, &case, move |run| {
                cpu_duty_cycle_of(run, nodes)
            })
            .handle()
    })
}

pub fn table_7() -> Figure {
    let mut figure = Figure::new("table-7-cpu", "CPU duty cycle over a day with interference")
        .x_label("protocol")
        .about(
            "The runs of table 7. CPU time is the sum of the engine's instructions, counted on a \
             Cortex-M0, at 48 MHz, the transfers of frames to and from the radio, and an operating \
             system's time for each packet, chosen from section 6.3. The paper's CPU time also \
             includes the sensor's driver.",
        );
    let [tcp, coap, single, batch] = PROTOCOLS.map(|it| {
        let less = with_less(&mut figure, &it);
        figure
            .point(At::new("testbed", it.name), CPU, &it.day(), move |run| {
                cpu_duty_cycle_of(run, it.nodes)
            })
            .paper(it.cpu)
            .judged(it.id)
            .cause(SYSTEM, &less)
            .handle()
    });
    figure
        .ratio("CPU duty cycle, ratio TCP / CoAP", tcp, coap)
        .paper(0.973 / 0.834);
    figure
        .ratio(
            "CPU duty cycle, ratio CoAP / unreliable protocol with batches",
            coap,
            batch,
        )
        .paper(0.834 / 0.30);
    figure
        .ratio(
            "CPU duty cycle of the unreliable protocol, ratio no batch / batch",
            single,
            batch,
        )
        .paper(0.52 / 0.30);
    figure
}
