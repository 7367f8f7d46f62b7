//! The functions that an image needs of its board: a serial line, a way to wait for it, and a
//! restart.
//!
//! Interrupts stay masked. An interrupt that is enabled in the interrupt controller wakes the
//! processor from `wfi` all the same (ARMv6-M Architecture Reference Manual, B1.5.19), so no
//! interrupt needs a handler.

pub mod mps2;
pub mod nrf51;

use core::arch::asm;

/// A board with a serial line.
pub trait Board {
    const NAME: &'static str;

    /// Makes the serial line ready.
    fn start();

    /// Returns the next received byte, if there is one.
    fn read() -> Option<u8>;

    /// Sends a byte, as soon as there is room for it.
    fn write(byte: u8);

    /// Number of the interrupt for received bytes.
    const INTERRUPT: u8;
}

fn register(address: u32) -> *mut u32 {
    address as *mut u32
}

fn load(address: u32) -> u32 {
    // SAFETY: every caller names a register of the board that the image is for.
    unsafe { register(address).read_volatile() }
}

fn store(address: u32, value: u32) {
    // SAFETY: every caller names a register of the board that the image is for. Writing these
    // registers does not change memory.
    unsafe { register(address).write_volatile(value) }
}

/// Interrupt set-enable and clear-pending registers (ARMv6-M, B3.4).
const ENABLE: u32 = 0xe000_e100;
const CLEAR_PENDING: u32 = 0xe000_e280;
/// Application interrupt and reset control register (ARMv6-M, B3.2.6).
const RESET_CONTROL: u32 = 0xe000_ed0c;
const RESET_REQUEST: u32 = 0x05fa_0004;

/// Initialises the board's serial line and the interrupt that ends its wait.
pub fn start<B: Board>() {
    // SAFETY: no interrupt has a handler, so no interrupt may be taken.
    unsafe { asm!("cpsid i", options(nomem, nostack)) };
    B::start();
    store(ENABLE, 1 << B::INTERRUPT);
}

/// Waits for a byte; the processor sleeps meanwhile.
pub fn read<B: Board>() -> u8 {
    loop {
        if let Some(byte) = B::read() {
            return byte;
        }
        store(CLEAR_PENDING, 1 << B::INTERRUPT);
        // A byte may have arrived before the pending interrupt was cleared.
        if let Some(byte) = B::read() {
            return byte;
        }
        // SAFETY: the instruction ends when the interrupt is pending, masked or not.
        unsafe { asm!("wfi", options(nomem, nostack)) };
    }
}

/// Restarts the board as after switching it on.
pub fn reset() -> ! {
    loop {
        store(RESET_CONTROL, RESET_REQUEST);
    }
}
