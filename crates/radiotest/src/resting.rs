//! Checks of timers, and of the radio's behaviour while it has no work.

use redpoll_mac::{RadioEvent, RadioResult, RadioWork};

use crate::bench::{Bench, ensure, passed, us};
use crate::{Finding, IDENTITY, frames};

pub(crate) fn time_comes(bench: &mut Bench<'_>) -> Finding {
    for delay in [0, 1, 320, 20_000] {
        let until = bench.now() + us(delay);
        let event = bench.next(until)?;
        ensure(event == RadioEvent::Time, || {
            format!("got the event {event:?}; expected: Time")
        })?;
        let now = bench.now();
        ensure(now >= until, || {
            "the event Time came before the requested time".to_owned()
        })?;
        let late = now.since(until);
        ensure(late <= bench.limits.report, || {
            format!(
                "the event Time came {} µs after the requested time",
                late.as_micros()
            )
        })?;
    }
    passed()
}

pub(crate) fn sleeps(bench: &mut Bench<'_>) -> Finding {
    for rest in [RadioWork::Sleep, RadioWork::Doze] {
        bench.set(rest);
        let frame = frames::to_short(bench.dsn(), IDENTITY.short, true, 20);
        let said = bench.say(&frame)?;
        ensure(said.heard.is_empty(), || {
            format!("a frame was passed up in the state {rest:?}")
        })?;
        said.is_unanswered()
            .map_err(|seen| format!("in the state {rest:?}: {seen}"))?;
        let frame = frames::from_radio(bench.dsn(), false, 20);
        bench.load(&frame)?;
        let (result, _) = bench.transmit(true)?;
        bench.quiet()?;
        let sent = bench.sent();
        ensure(result == RadioResult::Sent && sent == [Some(frame)], || {
            format!(
                "in the state {rest:?}, Transmit ended in {result:?}, and the radio sent {} frames; \
                 expected: Sent, and the loaded frame",
                sent.len()
            )
        })?;
        bench.set(RadioWork::Listen);
        let frame = frames::to_short(bench.dsn(), IDENTITY.short, false, 20);
        bench.say(&frame)?.is_heard(&frame)?;
    }
    passed()
}
