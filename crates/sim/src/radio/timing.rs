//! Timing of the 2.4 GHz O-QPSK PHY and of a chip.

use redpoll_base::Duration;
use redpoll_wire::ieee802154::timing;

use super::Config;

/// Clear channel assessment: 8 symbols.
pub const CCA: Duration = Duration::from_micros(timing::CCA_US);
pub const TURNAROUND: Duration = Duration::from_micros(timing::TURNAROUND_US);
/// macAckWaitDuration: 54 symbols.
pub const ACK_WAIT: Duration = Duration::from_micros(timing::ACK_WAIT_US);
/// Bytes of the frame check sequence, which the radio adds and removes.
pub const FCS_LEN: usize = 2;

/// Returns the air time of a frame of `mpdu_len` bytes plus the FCS.
fn air_time(mpdu_len: usize) -> Duration {
    let octets = timing::SHR_PHR_US + (mpdu_len + FCS_LEN) as u64 * timing::OCTET_US;
    Duration::from_micros(octets)
}

#[derive(Clone, Copy, Debug)]
pub struct Chip {
    /// Whether one buffer serves both directions.
    pub single_buffer: bool,
    /// Whether transmission and the wait for the acknowledgment are one procedure of the chip.
    pub sends_by_procedure: bool,
    pub wake_up: Duration,
    /// Time from the command to switch the receiver on until it receives.
    pub receiver_on: Duration,
    /// Overhead of each frame move: idle time in µs, and bytes of register accesses.
    overhead: (u64, u64),
    spi_ns_per_byte: u64,
    security_bytes: usize,
}

impl Chip {
    pub fn new(config: &Config) -> Self {
        Chip {
            single_buffer: config.model.has_single_buffer(),
            sends_by_procedure: config.model.sends_by_procedure(),
            wake_up: Duration::from_micros(config.model.wake_up_us()),
            receiver_on: Duration::from_micros(config.model.receiver_on_us()),
            overhead: config.model.overhead(),
            spi_ns_per_byte: config.spi_ns_per_byte(),
            security_bytes: config.security_bytes.into(),
        }
    }

    /// Returns the time to move a frame of `mpdu_len` bytes plus FCS and link security over the SPI
    /// bus, including the interrupt and register accesses before the frame.
    pub fn spi_time(&self, mpdu_len: usize) -> Duration {
        let (overhead_us, registers) = self.overhead;
        let octets = (mpdu_len + self.security_bytes + FCS_LEN) as u64 + registers;
        Duration::from_micros(overhead_us + (octets * self.spi_ns_per_byte + 500) / 1_000)
    }

    /// Returns the time until the processor gets an assessment's result: the overhead alone.
    pub fn answer_time(&self) -> Duration {
        let (overhead_us, registers) = self.overhead;
        Duration::from_micros(overhead_us + (registers * self.spi_ns_per_byte + 500) / 1_000)
    }

    /// Returns the air time of a frame of `mpdu_len` bytes plus the FCS. Link security extends the
    /// frame unless `is_ack` (the frame is an acknowledgment).
    pub fn air_time(&self, mpdu_len: usize, is_ack: bool) -> Duration {
        let security = if is_ack { 0 } else { self.security_bytes };
        air_time(mpdu_len + security)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Model;
    use super::*;

    /// 4,256 µs for the longest frame, 352 µs for an ACK (docs/model/radio.md).
    #[test]
    fn air_times() {
        assert_eq!(air_time(125).as_micros(), 4_256);
        assert_eq!(air_time(3).as_micros(), 352);
    }

    /// IEEE 802.15.4-2015 §9.4: ten bytes are a security control, a frame counter, a key index and
    /// a MIC of 32 bits.
    #[test]
    fn link_security_takes_time_but_not_in_acknowledgments() {
        let chip = Chip::new(&Config {
            security_bytes: 10,
            ..Config::of(Model::At86rf233)
        });
        assert_eq!(chip.air_time(115, false).as_micros(), 4_256);
        assert_eq!(chip.air_time(3, true).as_micros(), 352);
        let plain = Chip::new(&Config::of(Model::At86rf233));
        assert_eq!(chip.spi_time(115), plain.spi_time(125));
    }

    /// Kumar et al. 2020 §6.3 and docs/model/radio.md: 7.2 ms in all, less mean backoff, CCA, two
    /// turnarounds, air time and ACK.
    #[test]
    fn spi_time_fills_up_the_7_2_ms() {
        let chip = Chip::new(&Config::of(Model::At86rf233));
        let csma_and_air = 1_120 + 128 + 192 + 4_256 + 192 + 352;
        assert_eq!(chip.spi_time(125).as_micros() + csma_and_air, 7_200);
        let ideal = Chip::new(&Config::of(Model::Ideal));
        assert_eq!(ideal.spi_time(125).as_micros(), 0);
        let slow = Chip::new(&Config {
            model: Model::Ideal,
            spi_us_per_byte: Some(2.0),
            security_bytes: 0,
        });
        assert_eq!(slow.spi_time(98).as_micros(), 200);
    }
}
