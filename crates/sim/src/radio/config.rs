//! What a scenario says about the radio chip.

use serde::Serialize;

use super::State;

/// The radio chip that all nodes of a scenario have.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Config {
    /// Which chip.
    pub model: Model,
    /// Time to move one byte of a frame between processor and radio, in
    /// microseconds; `None` takes the model's own.
    pub spi_us_per_byte: Option<f64>,
    /// Bytes of link security in every frame but an acknowledgment: they take time
    /// on the air and on the bus. `mac.security_bytes` of a scenario.
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
    /// The chip `model` with its own figures.
    pub(crate) const fn of(model: Model) -> Self {
        Config {
            model,
            spi_us_per_byte: None,
            security_bytes: 0,
        }
    }

    /// The SPI time of one byte in nanoseconds.
    pub(crate) fn spi_ns_per_byte(&self) -> u64 {
        let us = self.spi_us_per_byte.unwrap_or(self.model.spi_us_per_byte());
        libm::round(us * 1_000.0).max(0.0) as u64
    }
}

/// What a radio takes in its states, in mA.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Currents {
    /// Asleep.
    pub sleep_ma: f64,
    /// Oscillator on, receiver off.
    pub idle_ma: f64,
    /// Receiver on, with or without a frame; turnarounds count as well.
    pub listen_ma: f64,
    /// Sending.
    pub transmit_ma: f64,
}

impl Currents {
    /// The current in `state`.
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

/// A radio chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Microchip AT86RF233: one frame buffer for both directions behind an
    /// SPI bus.
    At86rf233,
    /// TI CC2420: a buffer for each direction behind an SPI bus.
    Cc2420,
    /// CSMA and air time only: moving frames takes no time.
    Ideal,
}

impl Model {
    /// The SPI time of one byte in microseconds, unless the scenario says
    /// otherwise.
    ///
    /// AT86RF233: a full unicast takes 7.2 ms in all (Kumar et al. 2020
    /// §6.3), of which CSMA, turnarounds, air time and the ACK take 6.24 ms and
    /// the [overhead](Self::overhead) 10 µs; the rest over 127 bytes and 6 of
    /// the overhead is 7.14 µs a byte. That is calibrated on this one figure. For the CC2420 no figure was
    /// found that belongs to a platform like that one; it is a parameter and
    /// has the same default, so that the two differ by their buffers alone.
    pub(crate) const fn spi_us_per_byte(self) -> f64 {
        match self {
            Model::At86rf233 | Model::Cc2420 => 7.14,
            Model::Ideal => 0.0,
        }
    }

    /// What precedes each move of a frame: microseconds in which nothing is
    /// moved, and bytes that are moved for registers.
    ///
    /// AT86RF233, by its datasheet, quoted from memory: 9 µs until an interrupt is
    /// raised and 1 µs to change the state. That IRQ_STATUS is read, TRX_STATE
    /// written and TRX_STATUS read, with two bytes each, is an assumption, as
    /// is that the CC2420 takes as long.
    pub(crate) const fn overhead(self) -> (u64, u64) {
        match self {
            Model::At86rf233 | Model::Cc2420 => (10, 6),
            Model::Ideal => (0, 0),
        }
    }

    /// How long the chip takes from sleep until its receiver is on or it can
    /// load a frame. AT86RF233: under 0.4 ms by its datasheet, 306 µs in RIOT's
    /// driver and 110 µs to switch the receiver on; CC2420: 860 µs for its
    /// oscillator.
    pub(crate) const fn wake_up_us(self) -> u64 {
        match self {
            Model::At86rf233 => 416,
            Model::Cc2420 => 860,
            Model::Ideal => 0,
        }
    }

    /// How long the chip takes until its receiver hears, from the state in which only its
    /// oscillator runs. AT86RF233: 110 µs; CC2420: aTurnaroundTime, 192 µs. Only works of
    /// duty-cycled MACs take this time.
    pub(crate) const fn receiver_on_us(self) -> u64 {
        match self {
            Model::At86rf233 => 110,
            Model::Cc2420 => 192,
            Model::Ideal => 0,
        }
    }

    /// What the chip takes. AT86RF233: the feature list of its datasheet
    /// (8351B), sending with +4 dBm. CC2420: SWRS041 quoted from memory, 0 dBm. The
    /// ideal radio is counted as an AT86RF233.
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

    /// Whether one buffer serves both directions, so that whatever is heard
    /// overwrites a frame that waits to be sent.
    pub(crate) const fn has_single_buffer(self) -> bool {
        matches!(self, Model::At86rf233)
    }

    /// Whether sending and the wait for the acknowledgement are one procedure
    /// of the chip (TX_ARET of the AT86RF2xx family), during which it takes
    /// nothing but that acknowledgement.
    pub(crate) const fn sends_by_procedure(self) -> bool {
        matches!(self, Model::At86rf233)
    }
}
