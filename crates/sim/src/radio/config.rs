//! Configuration of the radio chip.

use serde::Serialize;

use super::State;

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Config {
    pub model: Model,
    /// Time to move a byte between processor and radio, in µs; `None`: the default of `model`.
    pub spi_us_per_byte: Option<f64>,
    /// Bytes of link security in every frame except acknowledgments, from a scenario's
    /// `mac.security_bytes`. They take time on the air and on the bus.
    #[serde(skip)]
    pub security_bytes: u8,
}

impl Default for Config {
    fn default() -> Self {
        Config::of(Model::At86rf233)
    }
}

impl From<Model> for Config {
    fn from(model: Model) -> Self {
        Config::of(model)
    }
}

impl Config {
    /// Returns the chip `model` with its default parameters.
    pub(crate) const fn of(model: Model) -> Self {
        Config {
            model,
            spi_us_per_byte: None,
            security_bytes: 0,
        }
    }

    pub(crate) fn spi_ns_per_byte(&self) -> u64 {
        let us = self.spi_us_per_byte.unwrap_or(self.model.spi_us_per_byte());
        libm::round(us * 1_000.0).max(0.0) as u64
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Currents {
    pub sleep_ma: f64,
    /// Current with oscillator on and receiver off, in mA.
    pub idle_ma: f64,
    /// Current with receiver on, including turnarounds, in mA.
    pub listen_ma: f64,
    pub transmit_ma: f64,
}

impl Currents {
    pub const fn of(&self, state: State) -> f64 {
        match state {
            State::Off => 0.0,
            State::Sleep => self.sleep_ma,
            State::Idle => self.idle_ma,
            State::Listen | State::Receive | State::Turnaround => self.listen_ma,
            State::Transmit => self.transmit_ma,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Microchip AT86RF233: one frame buffer for both directions behind an SPI bus.
    At86rf233,
    /// TI CC2420: a buffer for each direction behind an SPI bus.
    Cc2420,
    /// An ideal radio: CSMA and transmission take time, moving frames over SPI takes none.
    Ideal,
}

impl Model {
    /// Returns the default SPI time of one byte in microseconds. AT86RF233: a unicast frame of 127
    /// bytes takes 7.2 ms (Kumar et al. 2020 §6.3): 6.24 ms for CSMA, turnarounds, air time and the
    /// ACK, 10 µs of [overhead](Self::overhead), and the SPI time of 127 + 6 bytes, 7.14 µs each.
    /// For the CC2420 no SPI time is known. It has the same default, so that the two models differ
    /// only by their buffers.
    pub(crate) const fn spi_us_per_byte(self) -> f64 {
        match self {
            Model::At86rf233 | Model::Cc2420 => 7.14,
            Model::Ideal => 0.0,
        }
    }

    /// Returns the overhead of each move of a frame over SPI: idle microseconds, and bytes of
    /// register accesses. AT86RF233, by its datasheet, quoted from memory: 9 µs until an interrupt
    /// and 1 µs for a state change. Assumed accesses, two bytes each: read IRQ_STATUS, write
    /// TRX_STATE, read TRX_STATUS. The CC2420 is assumed to be equal.
    pub(crate) const fn overhead(self) -> (u64, u64) {
        match self {
            Model::At86rf233 | Model::Cc2420 => (10, 6),
            Model::Ideal => (0, 0),
        }
    }

    /// Returns the time in microseconds from sleep until the receiver is on or a frame can be
    /// loaded. AT86RF233: 306 µs (RIOT's driver; the datasheet says under 0.4 ms) and 110 µs to
    /// switch the receiver on. CC2420: 860 µs for its oscillator.
    pub(crate) const fn wake_up_us(self) -> u64 {
        match self {
            Model::At86rf233 => 416,
            Model::Cc2420 => 860,
            Model::Ideal => 0,
        }
    }

    /// Returns the time in microseconds from the state with only the oscillator on until the
    /// receiver receives. AT86RF233: 110 µs. CC2420: aTurnaroundTime, 192 µs. Only operations of
    /// duty-cycled MACs take this time.
    pub(crate) const fn receiver_on_us(self) -> u64 {
        match self {
            Model::At86rf233 => 110,
            Model::Cc2420 => 192,
            Model::Ideal => 0,
        }
    }

    /// Returns the currents of the chip. AT86RF233: from the feature list of its datasheet (8351B),
    /// transmitting at +4 dBm. CC2420: from SWRS041, quoted from memory, at 0 dBm. The ideal radio
    /// uses those of the AT86RF233.
    pub(crate) const fn currents(self) -> Currents {
        match self {
            Model::At86rf233 | Model::Ideal => Currents {
                sleep_ma: 0.000_02,
                idle_ma: 0.3,
                listen_ma: 11.8,
                transmit_ma: 13.8,
            },
            Model::Cc2420 => Currents {
                sleep_ma: 0.000_02,
                idle_ma: 0.426,
                listen_ma: 18.8,
                transmit_ma: 17.4,
            },
        }
    }

    /// Returns whether one buffer serves both directions, so received frames overwrite frames to
    /// send.
    pub(crate) const fn has_single_buffer(self) -> bool {
        matches!(self, Model::At86rf233)
    }

    /// Returns whether transmission and the wait for the acknowledgment are one procedure of the
    /// chip (TX_ARET of the AT86RF2xx family), which receives only that acknowledgment.
    pub(crate) const fn sends_by_procedure(self) -> bool {
        matches!(self, Model::At86rf233)
    }
}
