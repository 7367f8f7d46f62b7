//! Latency of commands to a sleepy lock, and the charge of its radio without commands.

use super::read::{ABORTS, IDLE, LATE, MEDIAN, idle, latency, lock};
use super::scenes::By;
use redpoll_experiments::{At, Figure, Handle};

/// Poll periods in milliseconds.
const PERIODS: [u32; 3] = [250, 1_000, 5_000];

pub fn figure(lost: u32) -> Figure {
    let (name, title) = match lost {
        0 => (
            "lock",
            "Commands to a sleepy lock, losses by collisions only",
        ),
        _ => (
            "lock-loss",
            "Commands to a sleepy lock, a tenth of all frames lost",
        ),
    };
    let mut figure = Figure::new(name, title).x_label("poll period in ms").about(
        "100 commands of 50 bytes over two hops to a sleepy child, with pauses of 10 to 20 s. The \
         TCPs send all commands over one connection; CoAP sends each in a confirmable PUT. The \
         charge is that of the lock's radio in 600 s without commands, while the connection is open.",
    );
    let (mut times, mut charges, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for by in By::ALL {
        for poll_ms in PERIODS {
            let case = lock(by, poll_ms, lost);
            let at = At::new(by.name(), poll_ms);
            figure.seen(at, MEDIAN, &case, |_, found| latency(found, 50));
            let late = figure
                .seen(at, LATE, &case, |_, found| latency(found, 95))
                .handle();
            let charge = figure
                .seen(at, IDLE, &case, |_, found| idle(found))
                .handle();
            let aborts = figure
                .seen(at, ABORTS, &case, |_, found| Ok(found.aborts as f64))
                .handle();
            if matches!(by, By::Tcplp | By::Redpoll) {
                times.push(late);
                charges.push(charge);
            }
            if matches!(by, By::RedpollEqual | By::Redpoll) {
                failures.push(aborts);
            }
        }
    }
    judge(&mut figure, &times, &charges, &failures);
    figure
}

/// Adds the verdicts. `times` and `charges` have the rows of TCPlp as shipped, then those of
/// Redpoll.
fn judge(figure: &mut Figure, times: &[Handle], charges: &[Handle], failures: &[Handle]) {
    let largest = |all: &[f64]| {
        let (tcplp, redpoll) = all.split_at(PERIODS.len());
        let ratios = redpoll.iter().zip(tcplp).map(|(one, other)| one / other);
        ratios.fold(0.0, f64::max)
    };
    figure
        .verdict_of_all(
            "95th percentile of latency, largest ratio Redpoll / TCPlp as shipped of the three poll \
             periods",
            times,
            largest,
        )
        .judged("latency");
    figure
        .verdict_of_all(
            "idle charge, largest ratio Redpoll / TCPlp as shipped of the three poll periods",
            charges,
            largest,
        )
        .judged("charge");
    figure
        .verdict_of_all(
            "aborts, largest value of both series of Redpoll",
            failures,
            |all| all.iter().copied().fold(0.0, f64::max),
        )
        .judged("aborts");
}
