//! Keeps the frame counter of a border router after the end of its process: [`CounterFile`] stores
//! the counter, and [`Keeper`] retries until it is written.

mod file;

use std::io;

use redpoll_base::{Duration, Instant, Memory};
use redpoll_stack::mac::security::Security;

pub use file::{CounterFile, CounterFileError};

/// Stores a frame counter so that it outlives this process.
pub type Store = Box<dyn FnMut(u32) -> io::Result<()>>;

/// Wait after the first failed attempt; it doubles with each further failure.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeeperCounters {
    pub stored: u64,
    pub failed: u64,
}

/// The failed attempts to store the counter since the last success.
#[derive(Clone, Copy, Debug)]
struct Failing {
    since: Instant,
    attempts: u32,
    retry_at: Instant,
    wait: Duration,
    /// Whether a message has reported that frames wait for a stored counter.
    is_told_of_frames: bool,
}

/// Stores frame counters when they are due, and retries if that fails.
pub struct Keeper {
    store: Store,
    failing: Option<Failing>,
    counters: KeeperCounters,
}

impl Keeper {
    pub fn new(store: Store) -> Keeper {
        Keeper {
            store,
            failing: None,
            counters: KeeperCounters::default(),
        }
    }

    /// Stores the next counter if one is due. Returns a line for the user when storing begins to
    /// fail, when frames begin to wait for the counter, and when storing succeeds again.
    pub fn turn<M: Memory + 'static>(
        &mut self,
        now: Instant,
        security: &mut Security<M>,
    ) -> Option<String> {
        if self.failing.is_some_and(|it| now < it.retry_at) {
            return self.report_waiting_frames(security.waits());
        }
        let counter = security.poll_counter()?;
        match (self.store)(counter) {
            Ok(()) => {
                self.counters.stored += 1;
                security.on_counter_stored(counter);
                let failing = self.failing.take()?;
                Some(format!(
                    "the frame counter can be stored again, after {} failed attempts in {} s",
                    failing.attempts,
                    now.since(failing.since).as_micros() / 1_000_000,
                ))
            }
            Err(error) => {
                self.counters.failed += 1;
                security.on_counter_failed();
                self.on_failed(now, &error)
            }
        }
    }

    /// Returns when [`Keeper::turn`] is due for the next attempt.
    pub fn retry_at(&self) -> Option<Instant> {
        self.failing.map(|it| it.retry_at)
    }

    pub fn counters(&self) -> KeeperCounters {
        self.counters
    }

    fn on_failed(&mut self, now: Instant, error: &io::Error) -> Option<String> {
        let is_new = self.failing.is_none();
        let failing = self.failing.get_or_insert(Failing {
            since: now,
            attempts: 0,
            retry_at: now,
            wait: FIRST_WAIT,
            is_told_of_frames: false,
        });
        failing.attempts += 1;
        failing.retry_at = now + failing.wait;
        failing.wait = (failing.wait + failing.wait).min(LONGEST_WAIT);
        is_new.then(|| {
            format!(
                "the frame counter cannot be stored ({error}); retrying at intervals of at most \
                 {} s",
                LONGEST_WAIT.as_micros() / 1_000_000
            )
        })
    }

    fn report_waiting_frames(&mut self, waits: bool) -> Option<String> {
        let failing = self.failing.as_mut()?;
        if !waits || std::mem::replace(&mut failing.is_told_of_frames, true) {
            return None;
        }
        Some("no frame is sent until the frame counter can be stored".to_owned())
    }
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper")
            .field("failing", &self.failing)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
