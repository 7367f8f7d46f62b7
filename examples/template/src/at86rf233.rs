//! A driver of the AT86RF233 over SPI, for Redpoll's trait `Transceiver`. Numbers of registers and
//! commands are those of Microchip's data sheet. The driver has not run on a board; its tests run
//! over a model of the chip.
//!
//! The driver uses the chip's basic operating mode. The MAC makes acknowledgements and backoffs.

use embassy_time::{Duration, Timer, with_timeout};
use embedded_hal::digital::OutputPin;
use embedded_hal::spi::SpiDevice;
use embedded_hal_async::digital::Wait;
use redpoll_socket::stack::mac::{FrameBuf, RxInfo};
use redpoll_transceiver::{Assessment, Transceiver};

const TRX_STATUS: u8 = 0x01;
const TRX_STATE: u8 = 0x02;
const PHY_CC_CCA: u8 = 0x08;
const TRX_CTRL_2: u8 = 0x0c;
const IRQ_MASK: u8 = 0x0e;
const IRQ_STATUS: u8 = 0x0f;
const RX_SYN: u8 = 0x15;
const PART_NUM: u8 = 0x1c;

/// Commands of TRX_STATE, and states of TRX_STATUS with the same numbers.
const TX_START: u8 = 0x02;
const FORCE_TRX_OFF: u8 = 0x03;
const FORCE_PLL_ON: u8 = 0x04;
const RX_ON: u8 = 0x06;
const TRX_OFF: u8 = 0x08;
const PLL_ON: u8 = 0x09;
const STATE_MASK: u8 = 0x1f;

const CCA_DONE: u8 = 0x80;
const CCA_IS_IDLE: u8 = 0x40;
const CCA_REQUEST: u8 = 0x80;
/// Mode 1: energy above the threshold.
const CCA_ENERGY: u8 = 0x20;
const TRX_END: u8 = 0x08;
/// Keeps a received frame until it is read.
const RX_SAFE_MODE: u8 = 0x80;
const RX_PDT_DIS: u8 = 0x80;
const RX_CRC_VALID: u8 = 0x80;

const READ_REGISTER: u8 = 0x80;
const WRITE_REGISTER: u8 = 0xc0;
const READ_FRAME: u8 = 0x20;
const WRITE_FRAME: u8 = 0x60;

const FCS: usize = 2;
/// Received power in dBm at an energy level of 0.
const RSSI_BASE: i16 = -94;
/// Greatest energy level, at -11 dBm.
const ED_MAX: u8 = 83;
/// Maximum number of reads of a status. A change of state takes less than 1 ms.
const READS: u32 = 1_000;
/// Time of the longest frame, 4.26 ms, with a reserve.
const TX_TIME: Duration = Duration::from_millis(10);

/// The reason why the driver cannot use the radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// SPI or a pin reports an error.
    Bus,
    /// No AT86RF233 answers.
    NotFound,
    /// The chip does not reach a state.
    Stuck,
}

/// An AT86RF233 on a channel.
pub struct At86rf233<S, I> {
    spi: S,
    irq: I,
    channel: u8,
    assesses: bool,
    frame: FrameBuf,
    info: RxInfo,
}

impl<S: SpiDevice, I: Wait> At86rf233<S, I> {
    /// Resets the radio and sets its channel, 11 to 26.
    pub async fn new(
        spi: S,
        mut reset: impl OutputPin,
        irq: I,
        channel: u8,
    ) -> Result<Self, Fault> {
        reset.set_low().map_err(|_| Fault::Bus)?;
        Timer::after_micros(10).await;
        reset.set_high().map_err(|_| Fault::Bus)?;
        Timer::after_millis(1).await;
        let mut radio = At86rf233 {
            spi,
            irq,
            channel,
            assesses: true,
            frame: FrameBuf::new(),
            info: RxInfo {
                rssi_dbm: 0,
                lqi: 0,
                ack_sent_pending: false,
            },
        };
        if radio.read(PART_NUM)? != 0x0b {
            return Err(Fault::NotFound);
        }
        radio.switch(FORCE_TRX_OFF, TRX_OFF)?;
        radio.write(PHY_CC_CCA, CCA_ENERGY | channel)?;
        radio.write(TRX_CTRL_2, RX_SAFE_MODE)?;
        radio.write(IRQ_MASK, TRX_END)?;
        radio.read(IRQ_STATUS)?;
        Ok(radio)
    }

    fn read(&mut self, register: u8) -> Result<u8, Fault> {
        let mut bytes = [READ_REGISTER | register, 0];
        let done = self.spi.transfer_in_place(&mut bytes);
        done.map_err(|_| Fault::Bus)?;
        Ok(bytes[1])
    }

    fn write(&mut self, register: u8, value: u8) -> Result<(), Fault> {
        let done = self.spi.write(&[WRITE_REGISTER | register, value]);
        done.map_err(|_| Fault::Bus)
    }

    /// Reads TRX_STATUS until `is_there` holds, at most [`READS`] times.
    fn await_status(&mut self, is_there: impl Fn(u8) -> bool) -> Result<u8, Fault> {
        for _ in 0..READS {
            let status = self.read(TRX_STATUS)?;
            if is_there(status) {
                return Ok(status);
            }
        }
        Err(Fault::Stuck)
    }

    fn switch(&mut self, command: u8, state: u8) -> Result<(), Fault> {
        self.write(TRX_STATE, command)?;
        self.await_status(|status| status & STATE_MASK == state)
            .map(drop)
    }

    /// Waits for the end of a frame.
    async fn end(&mut self) -> Result<(), Fault> {
        loop {
            self.irq.wait_for_high().await.map_err(|_| Fault::Bus)?;
            if self.read(IRQ_STATUS)? & TRX_END != 0 {
                return Ok(());
            }
        }
    }

    /// Receives a frame; returns whether it is intact.
    async fn take(&mut self) -> Result<bool, Fault> {
        let state = self.read(TRX_STATUS)? & STATE_MASK;
        if matches!(state, TRX_OFF | PLL_ON) {
            self.switch(RX_ON, RX_ON)?;
        }
        self.end().await?;
        // One access reads the length, the longest frame, LQI, energy and status, because the end
        // of the access allows the chip to overwrite the frame.
        let mut bytes = [0; 2 + 127 + 3];
        bytes[0] = READ_FRAME;
        let done = self.spi.transfer_in_place(&mut bytes);
        done.map_err(|_| Fault::Bus)?;
        let len = usize::from(bytes[1] & 0x7f);
        let (Some(payload), [lqi, energy, status]) = (
            len.checked_sub(FCS),
            [bytes[2 + len], bytes[3 + len], bytes[4 + len]],
        ) else {
            return Ok(false);
        };
        let is_intact = status & RX_CRC_VALID != 0;
        let power = RSSI_BASE + i16::from(energy.min(ED_MAX));
        self.info = RxInfo {
            rssi_dbm: power as i8,
            lqi,
            ack_sent_pending: false,
        };
        Ok(is_intact && self.frame.copy_from(&bytes[2..2 + payload]).is_ok())
    }

    /// Assesses the channel for 128 µs; returns whether it is idle.
    fn assess(&mut self) -> Result<bool, Fault> {
        let state = self.read(TRX_STATUS)? & STATE_MASK;
        if matches!(state, TRX_OFF | PLL_ON) {
            self.switch(RX_ON, RX_ON)?;
        } else if state != RX_ON {
            // A frame is arriving.
            return Ok(false);
        }
        // The receiver must not start with a frame during the assessment.
        self.write(RX_SYN, RX_PDT_DIS)?;
        self.write(PHY_CC_CCA, CCA_REQUEST | CCA_ENERGY | self.channel)?;
        let status = self.await_status(|status| status & CCA_DONE != 0);
        self.write(RX_SYN, 0)?;
        Ok(status? & CCA_IS_IDLE != 0)
    }

    async fn send(&mut self, frame: &[u8]) -> Result<bool, Fault> {
        if self.assesses && !self.assess()? {
            return Ok(false);
        }
        self.switch(FORCE_PLL_ON, PLL_ON)?;
        let mut bytes = [0; 2 + FrameBuf::CAPACITY];
        let Some(place) = bytes.get_mut(2..2 + frame.len()) else {
            return Ok(false);
        };
        place.copy_from_slice(frame);
        // The chip adds the FCS, which the length includes.
        bytes[..2].copy_from_slice(&[WRITE_FRAME, (frame.len() + FCS) as u8]);
        let done = self.spi.write(&bytes[..2 + frame.len()]);
        done.map_err(|_| Fault::Bus)?;
        self.read(IRQ_STATUS)?;
        self.write(TRX_STATE, TX_START)?;
        let sent = with_timeout(TX_TIME, self.end()).await;
        sent.map_err(|_| Fault::Stuck)??;
        Ok(true)
    }
}

/// A fault counts as a damaged frame or as a busy channel. After it, the driver waits, so that other
/// tasks run.
impl<S: SpiDevice, I: Wait> Transceiver for At86rf233<S, I> {
    async fn receive(&mut self) -> bool {
        match self.take().await {
            Ok(is_intact) => is_intact,
            Err(_) => {
                Timer::after(TX_TIME).await;
                false
            }
        }
    }

    fn received(&self) -> Option<(&[u8], RxInfo)> {
        Some((&self.frame, self.info))
    }

    fn assess_by(&mut self, assessment: Assessment) {
        self.assesses = assessment == Assessment::Channel;
    }

    async fn try_send(&mut self, frame: &[u8]) -> bool {
        match self.send(frame).await {
            Ok(is_sent) => is_sent,
            Err(_) => {
                Timer::after(TX_TIME).await;
                false
            }
        }
    }

    fn disable(&mut self) {
        // Ignore a fault: the next call detects a radio that is still on.
        let _ = self.switch(FORCE_TRX_OFF, TRX_OFF);
        let _ = self.read(IRQ_STATUS);
    }
}

#[cfg(test)]
#[path = "at86rf233_tests.rs"]
mod tests;
