//! The nRF51822 of the BBC micro:bit (nRF51 Series Reference Manual, chapter 29): a serial line
//! with a buffer of six received bytes.

use super::{Board, load, store};

const UART: u32 = 0x4000_2000;
const START_RX: u32 = UART;
const START_TX: u32 = UART + 0x008;
const RX_READY: u32 = UART + 0x108;
const TX_READY: u32 = UART + 0x11c;
const INTERRUPT_ENABLE: u32 = UART + 0x304;
const ON: u32 = UART + 0x500;
const RX: u32 = UART + 0x518;
const TX: u32 = UART + 0x51c;
const BAUD_RATE: u32 = UART + 0x524;
/// Value of the baud rate register for 1 Mbit/s.
const FASTEST: u32 = 0x1000_0000;
/// Value of `ENABLE` that switches the UART on.
const ENABLED: u32 = 4;

/// See the [module](self).
pub struct Nrf51;

impl Board for Nrf51 {
    const NAME: &'static str = "nRF51822 (Cortex-M0)";
    const INTERRUPT: u8 = 2;

    fn start() {
        store(BAUD_RATE, FASTEST);
        store(ON, ENABLED);
        store(INTERRUPT_ENABLE, 1 << 2);
        store(START_RX, 1);
        store(START_TX, 1);
    }

    fn read() -> Option<u8> {
        if load(RX_READY) == 0 {
            return None;
        }
        // The event is cleared before the byte is read: reading may set it again for the next byte.
        store(RX_READY, 0);
        Some(load(RX) as u8)
    }

    fn write(byte: u8) {
        store(TX_READY, 0);
        store(TX, byte.into());
        while load(TX_READY) == 0 {}
    }
}
