//! Energy of a node: charge, computed from the times of radio and processor, and battery life.
//! `docs/model/energy.md` lists the sources of the figures.

mod labour;
mod step;

pub(crate) use labour::Labour;

use serde::Serialize;

use redpoll_base::{Duration, Instant};

use crate::radio::{Currents, State, Station};

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Params {
    pub clock_mhz: f64,
    pub cycles_per_instruction: f64,
    /// Instructions of an operating system for each wake-up, in addition to those of the engine.
    pub wake_up_instructions: f64,
    /// Instructions of an operating system for each sent or received packet, in addition to those
    /// of the engine. A relayed packet counts twice: for its reception and for its forwarding.
    pub packet_instructions: f64,
    /// Whether instructions take virtual time, which delays the commands to the radio.
    pub takes_time: bool,
    pub cpu_active_ma: f64,
    /// Current of the processor asleep in mA.
    pub cpu_sleep_ma: f64,
    pub battery_mah: f64,
}

impl Params {
    pub(crate) fn us_per_instruction(&self) -> f64 {
        self.cycles_per_instruction / self.clock_mhz
    }
}

/// Energy figures of a node. Times are in seconds, charges in mC (mA · s).
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Figures {
    /// Time in which the radio was asleep, in seconds.
    pub sleep_s: f64,
    /// Time in which the radio was idle, in seconds: oscillator on, receiver off. A sleepy node is
    /// idle between attempts, during the start-up of its radio and during frame moves.
    pub idle_s: f64,
    /// Time in which the receiver was on without a signal, in seconds.
    pub listen_s: f64,
    /// Time in which the radio received, in seconds.
    pub receive_s: f64,
    /// Time in which the radio transmitted, in seconds, turnarounds included.
    pub transmit_s: f64,
    /// Time in which a fault had switched the radio off, in seconds.
    pub off_s: f64,
    /// Time of frame moves between processor and radio, in seconds, at the same time as the radio's
    /// states.
    pub spi_s: f64,
    /// Time in which the processor ran, in seconds, including `spi_s`.
    pub cpu_s: f64,
    /// Number of wake-ups of the processor.
    pub wake_ups: u64,
    /// Number of executed instructions, without the instructions during frame moves (`spi_s`).
    pub instructions: f64,
    /// Share of the simulated time in which the processor ran, 0 to 1: `cpu_s` divided by the
    /// simulated time.
    pub cpu_duty_cycle: f64,
    /// Charge that the radio consumed, in millicoulombs.
    pub radio_charge_mc: f64,
    /// Charge that the processor consumed, in millicoulombs.
    pub cpu_charge_mc: f64,
    /// Charge of the node, in millicoulombs: the sum of `radio_charge_mc` and `cpu_charge_mc`.
    pub charge_mc: f64,
    /// Days after which the scenario's battery is empty if the node continues to draw its mean
    /// current of this run.
    pub battery_days: f64,
}

impl Figures {
    pub(crate) fn of(
        params: &Params,
        currents: &Currents,
        station: &Station,
        labour: &Labour,
        now: Instant,
    ) -> Figures {
        let total_s = seconds(now.since(Instant::ZERO));
        let spent = |state| seconds(station.times.in_state(now, state));
        let radio_charge_mc: f64 = State::ALL
            .iter()
            .map(|state| spent(*state) * currents.of(*state))
            .sum();
        let spi_s = seconds(station.spi);
        let wake_ups = labour.wake_ups();
        let instructions = labour.instructions() + wake_ups as f64 * params.wake_up_instructions;
        // The processor stays active during the transfer of a frame.
        let cpu_s = (instructions * params.us_per_instruction() / 1e6 + spi_s).min(total_s);
        let cpu_charge_mc = cpu_s * params.cpu_active_ma + (total_s - cpu_s) * params.cpu_sleep_ma;
        let charge_mc = radio_charge_mc + cpu_charge_mc;
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Figures {
            sleep_s: spent(State::Sleep),
            idle_s: spent(State::Idle),
            listen_s: spent(State::Listen),
            receive_s: spent(State::Receive),
            transmit_s: spent(State::Transmit) + spent(State::Turnaround),
            off_s: spent(State::Off),
            spi_s,
            cpu_s,
            wake_ups,
            instructions,
            cpu_duty_cycle: share(cpu_s, total_s),
            radio_charge_mc,
            cpu_charge_mc,
            charge_mc,
            battery_days: share(params.battery_mah * 3_600.0, charge_mc) * total_s / 86_400.0,
        }
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radio::{Identity, Model, RestState};

    const PARAMS: Params = Params {
        clock_mhz: 48.0,
        cycles_per_instruction: 1.5,
        wake_up_instructions: 1_000.0,
        packet_instructions: 0.0,
        takes_time: false,
        cpu_active_ma: 3.4,
        cpu_sleep_ma: 0.004,
        battery_mah: 2_400.0,
    };

    fn figures(rest: RestState) -> Figures {
        let mut station = Station::new(Identity {
            pan_id: 1,
            short: 1,
            extended: [0; 8],
        });
        station.rests = rest;
        station.rest(Instant::ZERO);
        let currents = Model::At86rf233.currents();
        let now = Instant::from_millis(1_000_000);
        let mut labour = Labour::new(0.0);
        (0..100).for_each(|_| labour.rest());
        Figures::of(&PARAMS, &currents, &station, &labour, now)
    }

    #[test]
    fn sleep_costs_next_to_nothing_and_listening_most() {
        let (asleep, awake) = (figures(RestState::Sleep), figures(RestState::Listen));
        assert_eq!((asleep.sleep_s, awake.listen_s), (1_000.0, 1_000.0));
        assert!(asleep.radio_charge_mc < 0.1, "{asleep:?}");
        assert!((awake.radio_charge_mc - 11_800.0).abs() < 1.0, "{awake:?}");
        assert_eq!(awake.wake_ups, 100);
        // An instruction takes 31.25 ns: one cycle at 32 MHz.
        let cpu_s = awake.instructions * 31.25e-9;
        assert!((awake.cpu_s - cpu_s).abs() < 1e-9, "{awake:?}");
        assert!(awake.instructions > 100_000.0, "{awake:?}");
        assert!((awake.cpu_duty_cycle - cpu_s / 1_000.0).abs() < 1e-12);
        let charge = 3.4 * cpu_s + 0.004 * (1_000.0 - cpu_s);
        assert!((awake.cpu_charge_mc - charge).abs() < 1e-9, "{awake:?}");
        // 2,400 mAh divided by a little more than 11.8 mA, in days.
        assert!((8.4..8.5).contains(&awake.battery_days), "{awake:?}");
        assert!(asleep.battery_days > 15_000.0, "{asleep:?}");
    }

    #[test]
    fn in_every_radio_sleep_costs_less_than_listening() {
        for model in [Model::At86rf233, Model::Cc2420, Model::Ideal] {
            let currents = model.currents();
            assert!(currents.of(State::Sleep) < currents.of(State::Idle));
            assert!(currents.of(State::Idle) < currents.of(State::Listen));
        }
    }
}
