//! Tests of the web server.

use std::vec::Vec;

use super::*;

/// Number of checks before an answer may be ended for another client: two seconds.
const GRACE: u32 = 2_000 / LOOK;

/// A stream with the numbers of bytes written before each flush, and since the last one.
#[derive(Default)]
struct Log {
    flights: Vec<usize>,
    open: usize,
}

impl ErrorType for Log {
    type Error = Infallible;
}

impl Write for Log {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.open += bytes.len();
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        self.flights.push(core::mem::take(&mut self.open));
        Ok(())
    }
}

/// Writes an answer of `bytes` bytes in chunks, as [`answer`] does.
fn write(bytes: usize, careful: u32) -> Log {
    let mut log = Log::default();
    let (slot, careful) = (Slot::default(), Cell::new(careful));
    slot.enter(Phase::Busy);
    slot.rest.set(bytes as u64);
    let mut stream = Counted {
        stream: &mut log,
        slot: &slot,
        careful: &careful,
    };
    for begin in (0..bytes).step_by(256) {
        let len = (bytes - begin).min(256);
        let written = embassy_futures::block_on(stream.write_all(&[0; 256][..len]));
        assert!(written.is_ok());
        slot.rest.set((bytes - begin - len) as u64);
    }
    log
}

#[test]
fn a_careful_server_waits_for_acknowledgments() {
    let log = write(5_000, 1);
    assert_eq!(log.flights, [176, 176, 352, 704, 1_408]);
    let log = write(5_000, 0);
    assert!(log.flights.is_empty());
}

#[test]
fn a_careful_server_sends_a_short_answer_at_once() {
    let log = write(256, 1);
    assert!(log.flights.is_empty(), "{:?}", log.flights);
    assert_eq!(log.open, 256);
}

#[test]
fn the_pace_of_a_client_counts_from_its_first_acknowledgment() {
    let slot = Slot::default();
    slot.enter(Phase::Busy);
    slot.given.set(176);
    for _ in 0..GRACE {
        assert!(slot.rank().is_none());
        assert!(slot.look().is_none());
    }
    assert!(slot.rank().is_some(), "no byte in two seconds");
    slot.acknowledge();
    assert!(slot.rank().is_none());
    slot.given.set(352);
    slot.acknowledge();
    for _ in 0..GRACE {
        slot.look();
    }
    assert!(slot.rank().is_none(), "176 bytes a second");
    for _ in 0..GRACE {
        slot.look();
    }
    assert!(slot.rank().is_some(), "88 bytes a second");
}
