//! Counts instructions.
//!
//! The core has no counter of instructions. QEMU with `-icount shift=N` advances the virtual time
//! by 2^N nanoseconds for each instruction, and the system timer (ARMv6-M Architecture Reference
//! Manual, B3.3) counts this time. [`calibrate`] measures the number of ticks per instruction.

use core::arch::asm;

const CONTROL: *mut u32 = 0xe000_e010 as *mut u32;
const RELOAD: *mut u32 = 0xe000_e014 as *mut u32;
const CURRENT: *mut u32 = 0xe000_e018 as *mut u32;

/// The largest value of the timer, which has 24 bits and counts down.
const WIDTH: u32 = 0x00ff_ffff;
/// Value of the control register: enabled, without interrupt, on the processor's clock.
const RUN: u32 = 0b101;

pub fn start() {
    // SAFETY: these are the system timer's registers of ARMv6-M, and there is no other user.
    unsafe {
        RELOAD.write_volatile(WIDTH);
        CURRENT.write_volatile(0);
        CONTROL.write_volatile(RUN);
    }
}

fn now() -> u32 {
    // SAFETY: reading the counter has no effect.
    unsafe { CURRENT.read_volatile() }
}

/// Adds up the ticks of several laps, each shorter than 2^24 of them.
#[derive(Debug, Default)]
pub struct Stopwatch {
    ticks: u64,
    laps: u32,
}

impl Stopwatch {
    /// Runs `work` as one lap.
    #[inline(always)]
    pub fn lap<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = now();
        let result = work();
        let after = now();
        self.ticks += u64::from(before.wrapping_sub(after) & WIDTH);
        self.laps += 1;
        result
    }

    pub fn add(&mut self, other: &Stopwatch) {
        self.ticks += other.ticks;
        self.laps += other.laps;
    }

    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    pub fn laps(&self) -> u32 {
        self.laps
    }
}

/// Number of instructions that [`calibrate`] runs.
pub const CALIBRATION: u32 = 100_000;

pub fn calibrate() -> u64 {
    let mut watch = Stopwatch::default();
    watch.lap(|| {
        // SAFETY: the loop only counts a register down, in two instructions a turn.
        unsafe {
            asm!(
                "2:",
                "subs {n}, #1",
                "bne 2b",
                n = inout(reg) CALIBRATION / 2 => _,
                options(nomem, nostack),
            );
        }
    });
    watch.ticks()
}
