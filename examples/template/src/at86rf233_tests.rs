//! Tests of the driver over a model of the chip's registers, states and frame buffer.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use std::task::Poll;

use embassy_futures::{block_on, poll_once};
use embedded_hal::spi::{ErrorType, Operation};

use super::*;

const RX_BUSY: u8 = 0x01;
const TX_BUSY: u8 = 0x02;

#[derive(Clone)]
struct Chip(Rc<RefCell<Model>>);

struct Model {
    registers: [u8; 0x40],
    /// Length, frame and FCS, as the chip stores them.
    buffer: Vec<u8>,
    sent: Vec<Vec<u8>>,
    is_busy: bool,
    /// LQI, energy and status of the frame in the buffer.
    trailer: [u8; 3],
    is_stuck: bool,
}

impl Chip {
    fn new() -> Chip {
        let mut registers = [0; 0x40];
        registers[usize::from(PART_NUM)] = 0x0b;
        Chip(Rc::new(RefCell::new(Model {
            registers,
            buffer: Vec::new(),
            sent: Vec::new(),
            is_busy: false,
            trailer: [0; 3],
            is_stuck: false,
        })))
    }

    fn register(&self, register: u8) -> u8 {
        self.0.borrow().registers[usize::from(register)]
    }

    /// A frame arrives, if the receiver is on.
    fn arrive(&self, payload: &[u8], trailer: [u8; 3]) {
        let mut model = self.0.borrow_mut();
        if model.registers[usize::from(TRX_STATUS)] & STATE_MASK != RX_ON {
            return;
        }
        model.buffer = vec![payload.len() as u8 + 2];
        model.buffer.extend(payload);
        model.buffer.extend([0xaa, 0xbb]);
        model.trailer = trailer;
        model.registers[usize::from(IRQ_STATUS)] |= TRX_END;
    }

    fn driver(&self) -> At86rf233<Chip, Chip> {
        block_on(At86rf233::new(self.clone(), self.clone(), self.clone(), 15)).expect("it answers")
    }
}

impl Model {
    fn access(&mut self, bytes: &mut [u8]) {
        let register = usize::from(bytes[0] & 0x3f);
        match bytes[0] & 0xe0 {
            READ_FRAME => {
                let stored = self.buffer.iter().chain(&self.trailer);
                for (byte, stored) in bytes[1..].iter_mut().zip(stored) {
                    *byte = *stored;
                }
            }
            WRITE_FRAME => self.buffer = bytes[1..].to_vec(),
            0x80 | 0xa0 => {
                bytes[1] = self.registers[register];
                // A read clears the interrupts, and the result of an assessment.
                match register as u8 {
                    IRQ_STATUS => self.registers[register] = 0,
                    TRX_STATUS => self.registers[register] &= STATE_MASK,
                    _ => {}
                }
            }
            _ => self.set(register as u8, bytes[1]),
        }
    }

    fn set(&mut self, register: u8, value: u8) {
        let status = usize::from(TRX_STATUS);
        match (register, value) {
            (TRX_STATE, _) if self.is_stuck => {}
            (TRX_STATE, FORCE_TRX_OFF) => self.registers[status] = TRX_OFF,
            (TRX_STATE, FORCE_PLL_ON) => self.registers[status] = PLL_ON,
            (TRX_STATE, RX_ON) => self.registers[status] = RX_ON,
            (TRX_STATE, TX_START) => {
                assert_eq!(
                    self.registers[status], PLL_ON,
                    "the data sheet allows no other state"
                );
                self.sent.push(self.buffer.clone());
                self.registers[usize::from(IRQ_STATUS)] |= TRX_END;
            }
            (PHY_CC_CCA, value) if value & CCA_REQUEST != 0 => {
                assert_eq!(self.registers[status], RX_ON, "only a receiver assesses");
                assert_eq!(self.registers[usize::from(RX_SYN)], RX_PDT_DIS);
                let idle = if self.is_busy { 0 } else { CCA_IS_IDLE };
                self.registers[status] = CCA_DONE | idle | RX_ON;
            }
            _ => self.registers[usize::from(register)] = value,
        }
    }
}

impl ErrorType for Chip {
    type Error = Infallible;
}

impl SpiDevice for Chip {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Infallible> {
        for operation in operations {
            match operation {
                Operation::TransferInPlace(bytes) => self.0.borrow_mut().access(bytes),
                Operation::Write(bytes) => self.0.borrow_mut().access(&mut bytes.to_vec()),
                _ => unreachable!("the driver has two kinds of access"),
            }
        }
        Ok(())
    }
}

impl embedded_hal::digital::ErrorType for Chip {
    type Error = Infallible;
}

impl OutputPin for Chip {
    fn set_low(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Wait for Chip {
    async fn wait_for_high(&mut self) -> Result<(), Infallible> {
        std::future::poll_fn(|_| {
            let enabled = self.register(IRQ_STATUS) & self.register(IRQ_MASK);
            if enabled != 0 {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            }
        })
        .await
    }

    async fn wait_for_low(&mut self) -> Result<(), Infallible> {
        unreachable!()
    }

    async fn wait_for_rising_edge(&mut self) -> Result<(), Infallible> {
        unreachable!()
    }

    async fn wait_for_falling_edge(&mut self) -> Result<(), Infallible> {
        unreachable!()
    }

    async fn wait_for_any_edge(&mut self) -> Result<(), Infallible> {
        unreachable!()
    }
}

#[test]
fn the_channel_is_set_and_another_chip_is_refused() {
    let chip = Chip::new();
    let driver = chip.driver();
    assert_eq!(chip.register(PHY_CC_CCA) & 0x1f, 15);
    assert_eq!(chip.register(TRX_STATUS), TRX_OFF);
    drop(driver);
    chip.0.borrow_mut().registers[usize::from(PART_NUM)] = 0x0a;
    let refused = block_on(At86rf233::new(chip.clone(), chip.clone(), chip.clone(), 15));
    assert_eq!(refused.err(), Some(Fault::NotFound));
}

#[test]
fn a_frame_arrives_with_its_quality() {
    let chip = Chip::new();
    let mut driver = chip.driver();
    {
        let mut receive = std::pin::pin!(driver.receive());
        assert!(poll_once(receive.as_mut()).is_pending());
        chip.arrive(b"a frame", [200, 34, RX_CRC_VALID]);
        assert_eq!(poll_once(receive), Poll::Ready(true));
    }
    let (frame, info) = driver.received().expect("a frame");
    assert_eq!(frame, b"a frame");
    assert_eq!((info.rssi_dbm, info.lqi), (-60, 200));
}

#[test]
fn a_frame_with_a_wrong_fcs_is_not_intact() {
    let chip = Chip::new();
    let mut driver = chip.driver();
    for (payload, status) in [(&b"a frame"[..], 0), (&[], RX_CRC_VALID)] {
        let mut receive = std::pin::pin!(driver.receive());
        assert!(poll_once(receive.as_mut()).is_pending());
        chip.arrive(payload, [0, 0, status]);
        // A frame without content is intact.
        assert_eq!(poll_once(receive), Poll::Ready(payload.is_empty()));
    }
}

#[test]
fn a_frame_is_sent_when_the_channel_is_idle() {
    let chip = Chip::new();
    let mut driver = chip.driver();
    chip.0.borrow_mut().is_busy = true;
    assert!(!block_on(driver.try_send(b"busy")));
    chip.0.borrow_mut().is_busy = false;
    assert!(block_on(driver.try_send(b"idle")));
    chip.0.borrow_mut().is_busy = true;
    driver.assess_by(Assessment::AlwaysFree);
    assert!(block_on(driver.try_send(b"an acknowledgement")));
    let sent = chip.0.borrow().sent.clone();
    assert_eq!(sent, [&b"\x06idle"[..], b"\x14an acknowledgement"]);
    assert!(
        !block_on(driver.try_send(&[0; FrameBuf::CAPACITY + 1])),
        "longer than a frame"
    );
    assert_eq!(chip.register(RX_SYN), 0, "the receiver finds frames again");
}

#[test]
fn a_frame_in_reception_keeps_the_channel_busy() {
    let chip = Chip::new();
    let mut driver = chip.driver();
    for state in [RX_BUSY, TX_BUSY] {
        chip.0.borrow_mut().registers[usize::from(TRX_STATUS)] = state;
        assert!(!block_on(driver.try_send(b"a frame")));
    }
    assert!(chip.0.borrow().sent.is_empty());
}

#[test]
fn a_stuck_radio_does_not_block() {
    let chip = Chip::new();
    let mut driver = chip.driver();
    chip.0.borrow_mut().is_stuck = true;
    assert!(!block_on(driver.try_send(b"a frame")));
    assert!(!block_on(driver.receive()));
}
