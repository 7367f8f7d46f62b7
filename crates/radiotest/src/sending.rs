//! Checks of transmission and of clear channel assessment.

use redpoll_base::Duration;
use redpoll_mac::RadioResult;
use redpoll_wire::ieee802154::timing;

use crate::bench::{Bench, ensure, on_air, passed, us};
use crate::{Finding, NOBODY, Outcome, frames};

const CCA: Duration = Duration::from_micros(timing::CCA_US);
const TURNAROUND: Duration = Duration::from_micros(timing::TURNAROUND_US);

/// Sends the loaded frame, and checks that the tester received `frame` once. Returns the duration
/// of the transmission.
fn send(bench: &mut Bench<'_>, cca: bool, frame: &[u8]) -> Result<Duration, String> {
    let (result, took) = bench.transmit(cca)?;
    ensure(result == RadioResult::Sent, || {
        format!("Transmit ended in {result:?}; expected: Sent")
    })?;
    bench.quiet()?;
    let sent = bench.sent();
    match sent.as_slice() {
        [Some(one)] if one == frame => Ok(took),
        [] => Err("the radio sent no frame, although Transmit ended in Sent".to_owned()),
        [Some(one)] => Err(format!(
            "the sent frame has {} bytes, and differs from the loaded frame",
            one.len()
        )),
        [None] => Err("the radio sent a damaged frame".to_owned()),
        more => Err(format!(
            "the radio sent {} frames; expected: the loaded frame once",
            more.len()
        )),
    }
}

pub(crate) fn as_loaded(bench: &mut Bench<'_>) -> Finding {
    for len in [0, 1, 57, 116] {
        let frame = frames::from_radio(bench.dsn(), false, len);
        bench.load(&frame)?;
        send(bench, true, &frame)?;
    }
    passed()
}

pub(crate) fn twice(bench: &mut Bench<'_>) -> Finding {
    let frame = frames::from_radio(bench.dsn(), false, 80);
    bench.load(&frame)?;
    send(bench, true, &frame)?;
    send(bench, true, &frame)?;
    passed()
}

pub(crate) fn undisturbed(bench: &mut Bench<'_>) -> Finding {
    let frame = frames::from_radio(bench.dsn(), false, 50);
    bench.load(&frame)?;
    let other = frames::to_short(bench.dsn(), 0xffff, false, 100);
    bench.say(&other)?.is_heard(&other)?;
    send(bench, true, &frame)?;
    passed()
}

/// Checks the duration of a transmission. At most aTurnaroundTime passes between the assessment and
/// the frame (IEEE 802.15.4-2006 §6.9.2); a radio may be quicker. A radio with its own CSMA-CA
/// begins with a backoff, which may be zero.
pub(crate) fn reported_in_time(bench: &mut Bench<'_>) -> Finding {
    let frame = frames::from_radio(bench.dsn(), false, 110);
    bench.load(&frame)?;
    let took = send(bench, true, &frame)?;
    let least = CCA + on_air(frame.len());
    // With macMinBE 3, the first backoff has at most seven periods.
    let backoff = match bench.caps.csma {
        true => us(7 * timing::UNIT_BACKOFF_US),
        false => Duration::ZERO,
    };
    // `early` allows for the difference between the clocks of the radio and the tester.
    let most = least + TURNAROUND + backoff + bench.limits.report;
    let window = (least - bench.limits.early)..=most;
    ensure(window.contains(&took), || {
        format!(
            "Transmit took {} µs; expected: {} to {} µs",
            took.as_micros(),
            window.start().as_micros(),
            window.end().as_micros()
        )
    })?;
    passed()
}

/// Makes the tester send a frame of 4.2 ms to another station, and returns 2 ms after its start.
fn while_occupied(bench: &mut Bench<'_>) -> Result<(), String> {
    let other = frames::to_short(bench.dsn(), NOBODY, false, 116);
    bench.tester().send_after(us(500), &other);
    bench.wait(us(2_500))
}

pub(crate) fn blind(bench: &mut Bench<'_>) -> Finding {
    let frame = frames::from_radio(bench.dsn(), false, 4);
    bench.load(&frame)?;
    let took = send(bench, false, &frame)?;
    let on_air = on_air(frame.len());
    let window = (on_air - bench.limits.early)..=TURNAROUND + on_air + bench.limits.report;
    ensure(window.contains(&took), || {
        format!(
            "on a free channel, Transmit took {} µs; expected: {} to {} µs",
            took.as_micros(),
            window.start().as_micros(),
            window.end().as_micros()
        )
    })?;
    bench.settle();
    while_occupied(bench)?;
    let (result, took) = bench.transmit(false)?;
    ensure(result == RadioResult::Sent && took <= *window.end(), || {
        format!(
            "on a busy channel, Transmit ended in {result:?} after {} µs; expected: Sent, within \
             {} µs",
            took.as_micros(),
            window.end().as_micros()
        )
    })?;
    passed()
}

pub(crate) fn occupied(bench: &mut Bench<'_>) -> Finding {
    if bench.caps.csma {
        return Ok(Outcome::NotAsked("only for radios without csma"));
    }
    let frame = frames::from_radio(bench.dsn(), false, 30);
    bench.load(&frame)?;
    while_occupied(bench)?;
    let (result, took) = bench.transmit(true)?;
    let limit = CCA + bench.limits.report;
    ensure(result == RadioResult::ChannelBusy && took <= limit, || {
        format!(
            "Transmit ended in {result:?} after {} µs; expected: ChannelBusy, within {} µs",
            took.as_micros(),
            limit.as_micros()
        )
    })?;
    bench.quiet()?;
    ensure(bench.sent().is_empty(), || {
        "the radio sent the frame although the channel was busy".to_owned()
    })?;
    // Send the frame again without loading it again.
    send(bench, true, &frame)?;
    passed()
}

pub(crate) fn waits(bench: &mut Bench<'_>) -> Finding {
    if !bench.caps.csma {
        return Ok(Outcome::NotAsked("only for radios with csma"));
    }
    let frame = frames::from_radio(bench.dsn(), false, 30);
    bench.load(&frame)?;
    while_occupied(bench)?;
    send(bench, true, &frame)?;
    passed()
}

/// Checks that the radio reports a busy channel. With macMaxCSMABackoffs 4, the backoffs have at
/// most 7, 15, 31, 31 and 31 periods, together 37 ms. The tester sends for 60 ms.
pub(crate) fn gives_up(bench: &mut Bench<'_>) -> Finding {
    if !bench.caps.csma {
        return Ok(Outcome::NotAsked("only for radios with csma"));
    }
    let frame = frames::from_radio(bench.dsn(), false, 30);
    bench.load(&frame)?;
    let other = frames::to_short(bench.dsn(), NOBODY, false, 116);
    for number in 0..14 {
        // The gap of one symbol between the tester's frames is too short for an assessment of eight
        // symbols.
        bench.tester().send_after(us(500 + number * 4_272), &other);
    }
    bench.wait(us(2_500))?;
    let (result, _) = bench.transmit(true)?;
    ensure(result == RadioResult::ChannelBusy, || {
        format!("Transmit ended in {result:?}; expected: ChannelBusy")
    })?;
    bench.wait(us(60_000))?;
    passed()
}
