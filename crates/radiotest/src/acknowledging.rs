//! Checks of acknowledgments by the radio (IEEE 802.15.4-2015 §6.7.4).

use redpoll_mac::RadioWork;
use redpoll_wire::ieee802154::timing;

use crate::bench::{Bench, Said, ensure, passed, us};
use crate::{Finding, IDENTITY, NOBODY, Outcome, TESTER, frames};

const NO_AUTO_ACK: Finding = Ok(Outcome::NotAsked("only for radios with auto_ack"));

/// Checks that the radio sent one acknowledgment, for `dsn` and on time; returns its pending bit.
fn one_ack(bench: &Bench<'_>, said: &Said, dsn: u8) -> Result<bool, String> {
    let [ack] = said.sent.as_slice() else {
        let count = said.sent.len();
        return Err(format!(
            "the radio answered the frame with {count} frames; expected: one acknowledgment"
        ));
    };
    let Some((number, pending)) = ack.what else {
        return Err(format!(
            "the answer is {:02x?}; expected: an acknowledgment",
            ack.frame
        ));
    };
    ensure(number == dsn, || {
        "the sequence number of the acknowledgment differs from that of the frame".to_owned()
    })?;
    let due = us(timing::TURNAROUND_US);
    let window = (due - bench.limits.early)..=due + bench.limits.late;
    ensure(window.contains(&ack.after), || {
        format!(
            "the acknowledgment began {} µs after the end of the frame; expected: {} to {} µs",
            ack.after.as_micros(),
            window.start().as_micros(),
            window.end().as_micros()
        )
    })?;
    Ok(pending)
}

pub(crate) fn in_time(bench: &mut Bench<'_>) -> Finding {
    for len in [0, 1, 60, 116] {
        let dsn = bench.dsn();
        let frame = frames::to_short(dsn, IDENTITY.short, true, len);
        let said = bench.say(&frame)?;
        said.is_heard(&frame)?;
        if bench.caps.auto_ack {
            one_ack(bench, &said, dsn)?;
        } else {
            // Without `auto_ack`, the MAC acknowledges frames, and the radio does not.
            said.is_unanswered()?;
        }
    }
    match bench.caps.auto_ack {
        true => passed(),
        false => NO_AUTO_ACK,
    }
}

pub(crate) fn extended(bench: &mut Bench<'_>) -> Finding {
    if !bench.caps.auto_ack {
        return NO_AUTO_ACK;
    }
    let dsn = bench.dsn();
    let frame = frames::to_extended(dsn, true, 30);
    let said = bench.say(&frame)?;
    said.is_heard(&frame)?;
    one_ack(bench, &said, dsn)?;
    passed()
}

pub(crate) fn nothing_else(bench: &mut Bench<'_>) -> Finding {
    let mut dsn = || bench.dsn();
    let others = [
        (
            "a frame to this station, without a request for an acknowledgment",
            frames::to_short(dsn(), IDENTITY.short, false, 9),
        ),
        (
            "a frame to another station",
            frames::to_short(dsn(), NOBODY, true, 9),
        ),
        (
            "a frame to another PAN",
            frames::in_pan(0x1234, dsn(), IDENTITY.short, true, 9),
        ),
        (
            "a frame to every station",
            frames::to_short(dsn(), 0xffff, true, 9),
        ),
        (
            "an acknowledgment frame, which has no address",
            vec![0x02, 0x00, dsn()],
        ),
    ];
    for (sent, frame) in others {
        let said = bench.say(&frame)?;
        said.is_unanswered()
            .map_err(|seen| format!("after {sent}: {seen}"))?;
    }
    passed()
}

pub(crate) fn clear(bench: &mut Bench<'_>) -> Finding {
    if !bench.caps.auto_ack {
        return NO_AUTO_ACK;
    }
    if bench.caps.source_match {
        return Ok(Outcome::NotAsked("only for radios without source_match"));
    }
    let dsn = bench.dsn();
    let said = bench.say(&frames::data_request(dsn, TESTER))?;
    let pending = one_ack(bench, &said, dsn)?;
    ensure(!pending, || {
        "the frame-pending bit is set, although the radio has no source_match".to_owned()
    })?;
    passed()
}

/// Sends a data request from `src`. Returns the acknowledgment's frame-pending bit, and checks that
/// the radio reports the same bit.
fn request(bench: &mut Bench<'_>, src: u16) -> Result<bool, String> {
    let dsn = bench.dsn();
    let frame = frames::data_request(dsn, src);
    let said = bench.say(&frame)?;
    said.is_heard(&frame)?;
    let pending = one_ack(bench, &said, dsn)?;
    let told = said.heard[0].info.ack_sent_pending;
    ensure(told == pending, || {
        format!(
            "the frame-pending bit of the acknowledgment was {pending}, but ack_sent_pending was {told}"
        )
    })?;
    Ok(pending)
}

pub(crate) fn source_match(bench: &mut Bench<'_>) -> Finding {
    if !bench.caps.source_match {
        return Ok(Outcome::NotAsked("only for radios with source_match"));
    }
    set(bench, TESTER, true);
    set(bench, 0x0044, true);
    let found = [request(bench, TESTER)?, request(bench, 0x0044)?];
    ensure(found == [true; 2], || {
        "the frame-pending bit is clear for a station in the source match table".to_owned()
    })?;
    let other = request(bench, NOBODY)?;
    ensure(!other, || {
        "the frame-pending bit is set for a station that is not in the source match table"
            .to_owned()
    })?;
    let dsn = bench.dsn();
    let frame = frames::to_short(dsn, IDENTITY.short, true, 12);
    let said = bench.say(&frame)?;
    let data = one_ack(bench, &said, dsn)?;
    ensure(!data, || {
        "the frame-pending bit is set in the acknowledgment of a data frame".to_owned()
    })?;
    passed()
}

pub(crate) fn source_match_ends(bench: &mut Bench<'_>) -> Finding {
    if !bench.caps.source_match {
        return Ok(Outcome::NotAsked("only for radios with source_match"));
    }
    set(bench, TESTER, false);
    let found = [request(bench, TESTER)?, request(bench, 0x0044)?];
    set(bench, 0x0044, false);
    ensure(!found[0], || {
        "the frame-pending bit is still set for the station that was removed".to_owned()
    })?;
    ensure(found[1], || {
        "the frame-pending bit is clear for a station that was not removed".to_owned()
    })?;
    passed()
}

fn set(bench: &mut Bench<'_>, neighbour: u16, pending: bool) {
    bench.set(RadioWork::SourceMatch { neighbour, pending });
}
