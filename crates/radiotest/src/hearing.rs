//! Checks of reception.

use crate::bench::{Bench, ensure, passed, us};
use crate::{Finding, IDENTITY, frames};

pub(crate) fn broadcast(bench: &mut Bench<'_>) -> Finding {
    let frame = frames::to_short(bench.dsn(), 0xffff, false, 20);
    bench.say(&frame)?.is_heard(&frame)?;
    passed()
}

pub(crate) fn short(bench: &mut Bench<'_>) -> Finding {
    let frame = frames::to_short(bench.dsn(), IDENTITY.short, false, 20);
    bench.say(&frame)?.is_heard(&frame)?;
    passed()
}

pub(crate) fn extended(bench: &mut Bench<'_>) -> Finding {
    let frame = frames::to_extended(bench.dsn(), false, 20);
    bench.say(&frame)?.is_heard(&frame)?;
    passed()
}

pub(crate) fn longest(bench: &mut Bench<'_>) -> Finding {
    let frame = frames::to_short(bench.dsn(), IDENTITY.short, false, 125 - 9);
    bench.say(&frame)?.is_heard(&frame)?;
    passed()
}

/// IEEE 802.15.4-2015 §6.7.2: the first level of filtering is the FCS.
pub(crate) fn damaged(bench: &mut Bench<'_>) -> Finding {
    let frame = frames::to_short(bench.dsn(), IDENTITY.short, true, 60);
    bench.tester().spoil_after(us(1_000), &frame);
    bench.quiet()?;
    let (heard, sent) = (bench.heard().len(), bench.sent().len());
    ensure(heard == 0, || "the damaged frame was passed up".to_owned())?;
    ensure(sent == 0, || {
        "the radio answered a damaged frame; expected: no frame".to_owned()
    })?;
    passed()
}

/// Sends short frames so slowly that even a slow bus transfers a frame before the next one ends.
pub(crate) fn in_order(bench: &mut Bench<'_>) -> Finding {
    let sent: Vec<_> = (0..5)
        .map(|_| frames::to_short(bench.dsn(), IDENTITY.short, false, 4))
        .collect();
    for (number, frame) in (1..).zip(&sent) {
        // A frame takes 672 µs on the air, and a pause of 928 µs follows.
        bench.tester().send_after(us(number * 1_600), frame);
    }
    bench.quiet()?;
    let heard: Vec<_> = bench.heard().into_iter().map(|it| it.frame).collect();
    ensure(heard == sent, || {
        format!(
            "{} frames were passed up; expected: the 5 sent frames, unchanged and in order",
            heard.len()
        )
    })?;
    passed()
}
