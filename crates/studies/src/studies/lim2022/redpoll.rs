//! Redpoll's TCP at the nodes, in the case in which the paper's TCPs do worst.

use super::scenes::{LIM, LOADS, Mac, RANGES, REDPOLL, UIP, case, segments, verdict};
use crate::vocabulary::read::{JAIN, fairness};
use redpoll_experiments::{Figure, Gap, Metric, Reading, Run};

const GOODPUT: Metric = Metric::new("total goodput", "segments");
const RADIO: Metric = Metric::new("radio on", "ms per delivered byte");

/// Returns the radio-on time of all nodes except the border router, per byte received.
fn radio_on(run: &Run) -> Reading {
    let nodes = run.nodes("node")?;
    let share = redpoll_experiments::numbers(&nodes, "/radio_duty_cycle")?;
    let on_s: f64 = share.iter().skip(1).sum::<f64>() * run.number("/simulated_s")?;
    let bytes = 48.0 * segments(run)?;
    if bytes > 0.0 {
        Ok(1_000.0 * on_s / bytes)
    } else {
        Err(Gap::Nothing)
    }
}

/// Compares Redpoll's TCP with the paper's two TCPs at the heaviest load over ContikiMAC at 8 Hz.
pub fn figure() -> Figure {
    let mut figure = Figure::new("redpoll", "Redpoll's TCP over ContikiMAC")
        .x_label("transmission range in m")
        .about(
            "Figure 2c at 8 Hz, with Redpoll's TCP (series `Redpoll`) in addition to the paper's \
             two. The segments of Redpoll's TCP have the default size, so a segment can hold \
             several readings of 48 bytes. Radio time is that of all nodes except the border \
             router.",
        )
        .aside();
    let load = LOADS[2];
    let mac = Mac::ContikiMac(8);
    let lines = [REDPOLL, UIP, LIM].map(|tcp| {
        let cases = || RANGES.map(|range_m| (range_m, case(tcp, mac, load, range_m)));
        let goodput = figure.line(tcp.name, GOODPUT, cases(), segments);
        let jain = figure.line(tcp.name, JAIN, cases(), |run| fairness(run, "readings"));
        let radio = figure.line(tcp.name, RADIO, cases(), radio_on);
        (goodput, jain, radio)
    });
    let [ours, rivals @ ..] = &lines;
    for (tcp, theirs) in [UIP, LIM].into_iter().zip(rivals) {
        let word = tcp.word;
        verdict(
            &mut figure,
            tcp.name,
            "goodput at 50 m, ratio Redpoll's TCP / the paper's TCP that the series names",
            &[ours.0.at(50), theirs.0.at(50)],
            |all| all[0] / all[1],
        )
        .note(format!("Redpoll's TCP / {}", tcp.name))
        .judged(format!("goodput-over-{word}"));
        verdict(
            &mut figure,
            tcp.name,
            "Jain's index at 50 m, Redpoll's TCP minus the paper's TCP that the series names",
            &[ours.1.at(50), theirs.1.at(50)],
            |all| all[0] - all[1],
        )
        .note(format!("Redpoll's TCP minus {}", tcp.name))
        .judged(format!("fairness-over-{word}"));
        verdict(
            &mut figure,
            tcp.name,
            "radio time per byte at 50 m, ratio Redpoll's TCP / the paper's TCP that the series names",
            &[ours.2.at(50), theirs.2.at(50)],
            |all| all[0] / all[1],
        )
        .note(format!("Redpoll's TCP / {}", tcp.name))
        .judged(format!("radio-over-{word}"));
    }
    figure
}
