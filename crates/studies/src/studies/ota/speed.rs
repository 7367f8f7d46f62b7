//! Duration and cost of a transfer by loss.

use super::bound::{long_tcp_s, stop_and_wait_s, tcp_s};
use super::probes::Transfer;
use super::read::{CHARGE, FRAMES, TIME, TWICE, charge, frames, time, twice};
use super::scenes::{self, By, lossy};
use redpoll_experiments::{At, Case, Figure, Handle};

const LOSSES: [u32; 3] = [0, 5, 10];
struct Rows {
    time: [Handle; 3],
    charge: [Handle; 3],
}

fn rows(figure: &mut Figure, by: By, base: &Case) -> Rows {
    let mut time_rows = Vec::new();
    let mut charge_rows = Vec::new();
    for percent in LOSSES {
        let at = At::new(by.name(), percent);
        let case = lossy(by.of(base.clone()), percent).probe(Transfer);
        time_rows.push(figure.point(at, TIME, &case, time).handle());
        figure.point(at, TWICE, &case, twice);
        let row = figure.seen(at, CHARGE, &case, |_, found| charge(found));
        charge_rows.push(row.handle());
        figure.seen(at, FRAMES, &case, |_, found| frames(found));
    }
    let three = |rows: Vec<Handle>| [rows[0], rows[1], rows[2]];
    Rows {
        time: three(time_rows),
        charge: three(charge_rows),
    }
}

fn all(figure: &mut Figure, base: &Case) -> Vec<Rows> {
    By::ALL.iter().map(|by| rows(figure, *by, base)).collect()
}

fn of(rows: &[Rows], by: By) -> &Rows {
    let index = By::ALL.iter().position(|it| *it == by);
    &rows[index.unwrap_or(0)]
}

pub fn awake() -> Figure {
    let title = "Transfer of a firmware image to a leaf that is awake";
    let mut figure = Figure::new("awake", title)
        .x_label("frames lost in %")
        .about(
            "An image of 386,000 bytes, over three hops. The bounds are calculated from the \
             durations of frames, backoffs and acknowledgments in IEEE 802.15.4, with one sender \
             at a time. \
             The series \"bound\" is for TCP with segments of 1,200 bytes, \"bound, five frames\" \
             for TCP with segments of five frames, and \"bound, stop-and-wait\" for one block of \
             1,024 bytes at a time.",
        );
    let rows = all(&mut figure, &scenes::awake());
    let mut bounds = Vec::new();
    for percent in LOSSES {
        let lost = f64::from(percent) / 100.0;
        let row = figure.known(At::new("bound, five frames", percent), TIME, tcp_s(lost));
        bounds.push(row.handle());
        figure.known(At::new("bound", percent), TIME, long_tcp_s(lost));
        let waits = stop_and_wait_s(lost);
        figure.known(At::new("bound, stop-and-wait", percent), TIME, waits);
    }
    let (tcp, bdx) = (of(&rows, By::Tcp), of(&rows, By::Bdx));
    figure
        .of("transfer time, TCP, 10 % of frames lost", tcp.time[2])
        .judged("tcp");
    figure
        .of("transfer time, TCP, losses by collisions only", tcp.time[0])
        .judged("tcp-no-loss");
    figure
        .ratio(
            "transfer time, ratio bound for five frames / TCP, losses by collisions only",
            bounds[0],
            tcp.time[0],
        )
        .judged("near-the-bound");
    figure
        .ratio(
            "transfer time, ratio bound for five frames / TCP, 10 % of frames lost",
            bounds[2],
            tcp.time[2],
        )
        .judged("near-the-bound-at-loss");
    figure
        .ratio(
            "transfer time, ratio BDX / TCP, 10 % of frames lost",
            bdx.time[2],
            tcp.time[2],
        )
        .judged("over-stop-and-wait")
        .cause(
            "over three hops, one block in flight already occupies the channel all the time, so a \
             protocol that requests the next block immediately is nearly as fast as TCP",
            &[bounds[2]],
        );
    figure
}

pub fn sleepy() -> Figure {
    let title = "Transfer of a firmware image to a leaf that sleeps";
    let mut figure = Figure::new("sleepy", title)
        .x_label("frames lost in %")
        .about(
            "An image of 386,000 bytes, over three hops. The leaf polls its parent once a second, \
             and more often while it expects an answer, which it does until the image is complete.",
        );
    let rows = all(&mut figure, &scenes::sleepy());
    let tcp = of(&rows, By::Tcp);
    let (bdx, block1) = (of(&rows, By::Bdx), of(&rows, By::Block1));
    figure
        .of("transfer time, TCP, 10 % of frames lost", tcp.time[2])
        .judged("tcp");
    figure
        .ratio(
            "transfer time, ratio BDX / TCP, 10 % of frames lost",
            bdx.time[2],
            tcp.time[2],
        )
        .judged("over-stop-and-wait")
        .cause(
            "with a retransmission interval of 1 s (BDX tuned), BDX is nearly as fast as TCP: BDX \
             is slow because of its default interval of 300 ms, not because only one block is in \
             flight",
            &[of(&rows, By::BdxTuned).time[2]],
        );
    figure
        .ratio(
            "charge of the leaf's radio, ratio TCP / BDX, 10 % of frames lost",
            tcp.charge[2],
            bdx.charge[2],
        )
        .judged("charge-over-stop-and-wait");
    figure
        .ratio(
            "charge of the leaf's radio, ratio TCP / Block1, 10 % of frames lost",
            tcp.charge[2],
            block1.charge[2],
        )
        .judged("charge-over-block1")
        .cause(
            "the leaf listens while the next segment is still on its way: without loss, for 16 s \
             in total with TCP and for 6 s with Block1 (seed 1); the charge is greater with \
             Q-Block than with TCP",
            &[of(&rows, By::QBlock).charge[2]],
        );
    figure
}
