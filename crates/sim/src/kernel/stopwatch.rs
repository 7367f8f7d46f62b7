//! Measurement of the real time that a part of a run takes.

use std::time::Duration;

/// Measures real time from its start. In WebAssembly the standard library has no clock, and every
/// measurement is 0.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    #[cfg(not(target_family = "wasm"))]
    started: std::time::Instant,
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch {
            #[cfg(not(target_family = "wasm"))]
            started: std::time::Instant::now(),
        }
    }

    #[cfg(not(target_family = "wasm"))]
    pub fn elapsed(self) -> Duration {
        self.started.elapsed()
    }

    #[cfg(target_family = "wasm")]
    pub fn elapsed(self) -> Duration {
        Duration::ZERO
    }
}
