//! Figure 11: the best fixed retransmission timeout.

use super::read::{TCP_ETX, THROUGHPUT, tcp_etx, throughput};
use super::scenes::{HEAVY, TCP_UP, case};
use redpoll_experiments::{Figure, X};

/// Retransmission timeouts in ticks of half a second; the paper's other figures have 3 s.
const TICKS: [u32; 6] = [1, 2, 4, 6, 10, 20];

fn seconds(ticks: u32) -> X {
    X::Number(f64::from(ticks) / 2.0)
}

pub fn figure_11() -> Figure {
    let mut figure = Figure::new("11", "Fixed timeouts of BLIP's TCP")
        .x_label("RTO in s")
        .about("Each node sends 60 packets a minute upstream.");
    let cases = || {
        TICKS.map(|ticks| {
            let case = case(TCP_UP, HEAVY).set("rivals.blip_rto", ticks);
            (seconds(ticks), case)
        })
    };
    let rate = figure.line(TCP_UP.name, THROUGHPUT, cases(), throughput);
    let etx = figure.line(TCP_UP.name, TCP_ETX, cases(), tcp_etx);
    let (least, most) = (seconds(1), seconds(20));
    figure
        .ratio(
            "TCP ETX, ratio RTO of 0.5 s / 3 s",
            etx.at(least.clone()),
            etx.at(seconds(6)),
        )
        .judged("small-rto-etx");
    let best = |all: &[f64]| all[0] / all.iter().copied().fold(0.0, f64::max);
    let of = |x: X| [vec![rate.at(x)], rate.all()].concat();
    figure
        .verdict_of_all(
            "throughput with an RTO of 0.5 s / highest throughput of all RTOs",
            &of(least),
            best,
        )
        .judged("small-rto-throughput");
    figure
        .verdict_of_all(
            "throughput with an RTO of 10 s / highest throughput of all RTOs",
            &of(most),
            best,
        )
        .judged("large-rto-throughput");
    figure
}
