//! Checks of the radio's behaviour after it has sent a frame that requests an acknowledgment.

use redpoll_base::Duration;
use redpoll_mac::RadioResult;
use redpoll_wire::ieee802154::timing;

use crate::bench::{Bench, ensure, on_air, passed, us};
use crate::tester::What;
use crate::{Finding, Outcome, frames};

const ACK_WAIT: Duration = Duration::from_micros(timing::ACK_WAIT_US);
const BEFORE: Duration = Duration::from_micros(timing::CCA_US + timing::TURNAROUND_US);
const NO_AUTO_ACK: Finding = Ok(Outcome::NotAsked("only for radios with auto_ack"));

fn ack(pending: bool, off_by: u8) -> What {
    What::Ack { pending, off_by }
}

/// Sends a frame that requests an acknowledgment; returns its length, the result and the duration.
fn ask(bench: &mut Bench<'_>) -> Result<(usize, RadioResult, Duration), String> {
    let frame = frames::from_radio(bench.dsn(), true, 40);
    bench.load(&frame)?;
    let (result, took) = bench.transmit(true)?;
    Ok((frame.len(), result, took))
}

pub(crate) fn acked(bench: &mut Bench<'_>) -> Finding {
    for frame_pending in [false, true] {
        bench.reply(timing::TURNAROUND_US, ack(frame_pending, 0));
        let (_, result, _) = ask(bench)?;
        bench.quiet()?;
        let heard = bench.heard().len();
        if bench.caps.auto_ack {
            ensure(result == RadioResult::Acked { frame_pending }, || {
                format!(
                    "Transmit ended in {result:?}; expected: Acked with frame_pending {frame_pending}"
                )
            })?;
            ensure(heard == 0, || {
                "the acknowledgment was passed up in addition to the result Acked".to_owned()
            })?;
        } else {
            ensure(result == RadioResult::Sent && heard == 1, || {
                format!(
                    "got {result:?} and {heard} acknowledgments; a radio without auto_ack must \
                     report Sent and pass up one acknowledgment"
                )
            })?;
        }
    }
    match bench.caps.auto_ack {
        true => passed(),
        false => NO_AUTO_ACK,
    }
}

pub(crate) fn of_another(bench: &mut Bench<'_>) -> Finding {
    if !bench.caps.auto_ack {
        return NO_AUTO_ACK;
    }
    bench.reply(timing::TURNAROUND_US, ack(false, 1));
    let (_, result, _) = ask(bench)?;
    ensure(result == RadioResult::NoAck, || {
        format!("Transmit ended in {result:?}; expected: NoAck")
    })?;
    passed()
}

pub(crate) fn in_vain(bench: &mut Bench<'_>) -> Finding {
    let (len, result, took) = ask(bench)?;
    bench.quiet()?;
    let copies = bench.sent().len();
    let sent = BEFORE + on_air(len);
    if !bench.caps.auto_ack {
        // Without `auto_ack`, the radio does not wait for an acknowledgement.
        let limit = sent + bench.limits.report;
        ensure(result == RadioResult::Sent && took <= limit, || {
            format!(
                "Transmit ended in {result:?} after {} µs; expected: Sent, within {} µs",
                took.as_micros(),
                limit.as_micros()
            )
        })?;
        return NO_AUTO_ACK;
    }
    ensure(result == RadioResult::NoAck, || {
        format!("Transmit ended in {result:?}; expected: NoAck")
    })?;
    ensure(bench.caps.retries == (copies > 1), || {
        format!(
            "the capability `retries` is {}, but the radio sent the frame {copies} times",
            bench.caps.retries
        )
    })?;
    let least = (0..copies).fold(Duration::ZERO, |sum, _| sum + sent + ACK_WAIT);
    ensure(took >= (least - bench.limits.early), || {
        let (took, least) = (took.as_micros(), least.as_micros());
        format!("NoAck came after {took} µs; expected: at least {least} µs")
    })?;
    if !bench.caps.retries && !bench.caps.csma {
        ensure(took <= least + bench.limits.report, || {
            let (took, least) = (took.as_micros(), least.as_micros());
            format!("NoAck came after {took} µs; expected: about {least} µs")
        })?;
    }
    passed()
}

/// Checks that the radio can receive a frame that starts aTurnaroundTime after a transmission.
pub(crate) fn followed(bench: &mut Bench<'_>) -> Finding {
    if bench.caps.auto_ack {
        bench.reply(timing::TURNAROUND_US, ack(false, 0));
        let (_, result, _) = ask(bench)?;
        ensure(matches!(result, RadioResult::Acked { .. }), || {
            format!("Transmit ended in {result:?}; expected: Acked")
        })?;
        let frame = frames::to_short(bench.dsn(), 0xffff, false, 30);
        let said = {
            bench.seen();
            bench.heard();
            bench.tester().reply(None);
            bench.say(&frame)?
        };
        said.is_heard(&frame)?;
        return passed();
    }
    let frame = frames::to_short(bench.dsn(), 0xffff, false, 30);
    bench.reply(timing::TURNAROUND_US, What::Frame(frame.clone()));
    ask(bench)?;
    bench.quiet()?;
    let heard: Vec<_> = bench.heard().into_iter().map(|it| it.frame).collect();
    ensure(heard == [frame], || {
        format!(
            "{} frames were passed up; expected: only the tester's frame, unchanged",
            heard.len()
        )
    })?;
    bench.wait(us(1_000))?;
    passed()
}
