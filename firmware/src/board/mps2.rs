//! ARM's MPS2 board with the image AN385, a Cortex-M3 (Application Note AN385, and the Cortex-M
//! System Design Kit's UART): a serial line with a buffer of one received byte.

use super::{Board, load, store};

const UART: u32 = 0x4000_4000;
const DATA: u32 = UART;
const STATE: u32 = UART + 0x4;
const CONTROL: u32 = UART + 0x8;
const CLEAR: u32 = UART + 0xc;
const DIVIDER: u32 = UART + 0x10;

const TX_FULL: u32 = 1;
const RX_FULL: u32 = 1 << 1;
/// Value of the control register: transmitter and receiver on, an interrupt for each received byte.
const RUN: u32 = 0b1011;

/// See the [module](self).
pub struct Mps2;

impl Board for Mps2 {
    const NAME: &'static str = "MPS2 AN385 (Cortex-M3)";
    const INTERRUPT: u8 = 0;

    fn start() {
        // The smallest divider that the UART accepts.
        store(DIVIDER, 16);
        store(CONTROL, RUN);
    }

    fn read() -> Option<u8> {
        if load(STATE) & RX_FULL == 0 {
            return None;
        }
        store(CLEAR, RX_FULL);
        Some(load(DATA) as u8)
    }

    fn write(byte: u8) {
        while load(STATE) & TX_FULL != 0 {}
        store(DATA, byte.into());
    }
}
