//! Cost of a lost parent, a reboot of the leaf, and an interrupted link.

use super::probes::Transfer;
use super::read::{CHARGE, TIME, TWICE, WHOLE, charge, time, twice, whole};
use super::scenes::{self, By, Fault, lossy, rpl};
use redpoll_experiments::{At, Case, Figure, Handle, Metric, VERDICT, X};

/// Duration of the transfer with the fault, minus its duration without the fault.
const COST: Metric = Metric::new("additional time", "s");

/// Why more than 2 % of the image is sent more than once.
const CAUSE: &str = "a lost connection costs the three segments in flight, and the segments that \
    tail loss probe and retransmission timer send before the source gives the connection up";

struct Rows {
    twice: Vec<Handle>,
    whole: Vec<Handle>,
}

fn rows(figure: &mut Figure, by: By, base: &Case, lost: u32) -> Rows {
    let series = match lost {
        0 => format!("{}, losses by collisions only", by.name()),
        _ => by.name().to_owned(),
    };
    let (mut twice_rows, mut whole_rows, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for fault in Fault::ALL {
        let at = || At::new(series.clone(), fault.name());
        let case = fault.of(lossy(by.of(base.clone()), lost)).probe(Transfer);
        times.push(figure.point(at(), TIME, &case, time).handle());
        twice_rows.push(figure.point(at(), TWICE, &case, twice).handle());
        whole_rows.push(figure.point(at(), WHOLE, &case, whole).handle());
        figure.seen(at(), CHARGE, &case, |_, found| charge(found));
        figure.made(
            at(),
            COST,
            [times[times.len() - 1], times[0]],
            |[with, without]| with - without,
        );
    }
    Rows {
        twice: twice_rows,
        whole: whole_rows,
    }
}

fn figure(name: &'static str, title: &'static str, about: &'static str, base: &Case) -> Figure {
    let mut figure = Figure::new(name, title)
        .x_label("fault, 30 s after the start")
        .about(about);
    let mut tcp = None;
    for by in By::ALL {
        let of = rows(&mut figure, by, base, 10);
        tcp.get_or_insert(of);
    }
    let calm = rows(&mut figure, By::Tcp, base, 0);
    let Some(tcp) = tcp else { return figure };
    let all = [tcp.whole, calm.whole].concat();
    let metric = Metric::new(
        "smallest share of transfers over TCP that end with a whole image, over all faults, with \
         and without loss",
        "",
    );
    figure
        .made_of_all(At::new(VERDICT, X::None), metric, &all, |shares| {
            shares.iter().copied().fold(1.0, f64::min)
        })
        .judged("whole");
    let ids = ["twice-parent", "twice-reboot", "twice-link"];
    let names = [
        "share of the image sent more than once by TCP, %, parent lost",
        "share of the image sent more than once by TCP, %, reboot",
        "share of the image sent more than once by TCP, %, 30 s without a link",
    ];
    for (index, (id, name)) in ids.iter().zip(names).enumerate() {
        // The cause shows in the rows without the fault, and with the fault but without loss.
        let shown_by = [tcp.twice[0], calm.twice[index + 1]];
        figure
            .of(name, tcp.twice[index + 1])
            .judged(*id)
            .cause(CAUSE, &shown_by);
    }
    figure
}

pub fn awake() -> Figure {
    figure(
        "faults-awake",
        "Transfer to a leaf that is awake, with a lost parent, a reboot, or 30 s without a link",
        "A tenth of all frames is lost. Routes are found by RPL, and one of two routers near the \
         leaf is its parent. After a reboot, the leaf still has the pages of 256 bytes that \
         it had written to flash; an incomplete page is lost.",
        &rpl(scenes::awake()).set("duration", "1200 s"),
    )
}

pub fn sleepy() -> Figure {
    figure(
        "faults-sleepy",
        "Transfer to a leaf that sleeps, with a lost parent, a reboot, or 30 s without a link",
        "A tenth of all frames is lost. The leaf registers with one of two routers, and with the \
         other one if the first does not answer. After a reboot, the leaf still has the pages of \
         256 bytes that it had written to flash; an incomplete page is lost.",
        &scenes::sleepy().set("duration", "1200 s"),
    )
}
