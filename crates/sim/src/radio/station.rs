//! Radio of one node: its addresses, its current work, and the time it spent in each state.

use redpoll_base::{Duration, Instant};
use redpoll_mac::{Channel, FrameBuf, RxInfo};
use redpoll_replay::Strobe;
use redpoll_wire::ieee802154::Address;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    pub pan_id: u16,
    pub short: u16,
    /// EUI-64, in printed order.
    pub extended: [u8; 8],
}

impl Identity {
    pub fn owns(&self, address: Address) -> bool {
        match address {
            Address::Absent => false,
            Address::Short(short) => short == self.short,
            Address::Extended(extended) => extended == self.extended,
        }
    }

    /// Returns whether `pan_id` is this radio's PAN or the broadcast PAN.
    pub fn is_in(&self, pan_id: Option<u16>) -> bool {
        pan_id.is_none_or(|pan| pan == self.pan_id || pan == 0xffff)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Switched off by a fault.
    Off,
    Sleep,
    /// Receiver off, ready to work at once.
    Idle,
    /// Receiver on, but no frame arrives; also during a clear channel assessment.
    Listen,
    Receive,
    Turnaround,
    Transmit,
}

impl State {
    pub(crate) const ALL: [State; 7] = [
        State::Off,
        State::Sleep,
        State::Idle,
        State::Listen,
        State::Receive,
        State::Turnaround,
        State::Transmit,
    ];
}

#[derive(Clone, Debug)]
#[repr(C)]
pub struct StateTimes {
    since: Instant,
    state: State,
    spent: [Duration; State::ALL.len()],
}

impl StateTimes {
    fn new() -> Self {
        StateTimes {
            state: State::Listen,
            since: Instant::ZERO,
            spent: [Duration::ZERO; State::ALL.len()],
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    pub fn since(&self) -> Instant {
        self.since
    }

    pub fn enter(&mut self, now: Instant, state: State) {
        self.spent[self.state as usize] += now.since(self.since);
        self.since = now;
        self.state = state;
    }

    pub fn in_state(&self, now: Instant, state: State) -> Duration {
        let running = if self.state == state {
            now.since(self.since)
        } else {
            Duration::ZERO
        };
        self.spent[state as usize] + running
    }

    /// Returns the share of the time up to `now` in which the radio was neither asleep nor off; 0
    /// if no time has passed.
    pub fn duty_cycle(&self, now: Instant) -> f64 {
        let total = now.as_micros();
        if total == 0 {
            return 0.0;
        }
        let idle = self.in_state(now, State::Sleep) + self.in_state(now, State::Off);
        1.0 - idle.as_micros() as f64 / total as f64
    }

    /// Returns the share of the time up to `now` in which the radio received, was ready to receive,
    /// or sent; 0 if no time has passed.
    pub fn on_share(&self, now: Instant) -> f64 {
        let total = now.as_micros();
        if total == 0 {
            return 0.0;
        }
        let states = [
            State::Listen,
            State::Receive,
            State::Turnaround,
            State::Transmit,
        ];
        let on = states.map(|state| self.in_state(now, state).as_micros());
        on.iter().sum::<u64>() as f64 / total as f64
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    Idle,
    /// The frame to send waits until the bus to the radio is free.
    LoadWaits {
        /// Whether the transmission that follows uses CCA; `None` if no transmission follows.
        then: Option<bool>,
    },
    /// The radio sleeps until the processor is ready to move the frame to send.
    Held {
        /// Whether the transmission that follows uses CCA; `None` if no transmission follows.
        then: Option<bool>,
    },
    /// The frame is moved into the radio.
    Loading {
        /// Whether the transmission that follows uses CCA; `None` if no transmission follows.
        then: Option<bool>,
    },
    /// A transmission without assessment waits until the radio has acknowledged a frame.
    SendWaits,
    /// Clear channel assessment.
    Cca {
        /// Whether the assessment began while the radio received or acknowledged a frame.
        occupied: bool,
    },
    Turnaround,
    Sending,
    AwaitAck,
    /// The receiver starts for a channel assessment that no transmission follows.
    Settle,
    Assess {
        occupied: bool,
    },
    /// The processor reads the result of the assessment.
    Answer {
        channel: Channel,
    },
    /// The radio refuses a repeated transmission because it is busy with another frame.
    Refuse,
    /// Wait for [`Strobe::gap`] after a copy of a repeated frame.
    Gap,
    Look {
        occupied: bool,
    },
    /// Wait for [`Strobe::detect`] to find out whether a signal in the gap is the Imm-ACK.
    Detect,
    Pause,
}

impl Work {
    /// Returns whether the radio is between two copies of a repeated frame.
    pub fn awaits_answer(self) -> bool {
        matches!(
            self,
            Work::Gap | Work::Look { .. } | Work::Detect | Work::Pause
        )
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Train {
    pub strobe: Strobe,
    /// Start of the first copy; `None` until then.
    pub began: Option<Instant>,
    pub copy_began: Instant,
    /// Frame pending bit of the acknowledgment, once the acknowledgment has arrived.
    pub answer: Option<bool>,
}

impl Train {
    /// Returns the state of a repeated transmission before its first copy.
    pub fn new(strobe: Strobe) -> Train {
        Train {
            strobe,
            began: None,
            copy_began: Instant::ZERO,
            answer: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestState {
    Listen,
    /// The receiver is off, and the oscillator is on.
    Doze,
    Sleep,
}

/// Selects the frames that a radio reports as `Indication::Overheard`, separately from reception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overhears {
    Nothing,
    /// Intact frames that the radio's address filter accepts, except acknowledgments.
    Own,
    /// All frames except acknowledgments, including damaged ones and those for other nodes.
    All,
}

/// Acknowledgment that a radio must send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acking {
    /// Index of the node whose frame is acknowledged.
    pub to: u32,
    pub dsn: u8,
    pub frame_pending: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Received {
    pub frame: FrameBuf,
    pub info: RxInfo,
    pub twice: bool,
}

/// A radio. Each transmission visits all stations in reach. The order of the fields keeps those
/// that these visits use in two cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Station {
    pub times: StateTimes,
    pub identity: Identity,
    /// Acknowledgment that the station must send.
    pub acking: Option<Acking>,
    /// Number of the current step of work; an event with an older number is ignored.
    pub generation: u32,
    pub work: Work,
    /// Whether the node's firmware implements acknowledgments and address filtering; see
    /// [`Air::make_raw`](crate::air::Air::make_raw).
    pub is_raw: bool,
    /// Frames that the radio reports as overheard, separately from reception.
    pub overhears: Overhears,
    pub overheard: Box<FrameBuf>,
    pub rests: RestState,
    pub loaded: bool,
    pub dsn: u8,
    pub wants_ack: bool,
    /// Whether the processor is reading a received frame.
    pub reading: bool,
    pub reading_waiting: bool,
    /// Frame to send, in the processor's memory.
    pub outgoing: Box<FrameBuf>,
    pub incoming: Box<Received>,
    /// Further received frame, in a separate receive buffer, which is read after `incoming`.
    pub waiting: Option<Box<Received>>,
    /// Neighbours whose data requests are acknowledged with the frame pending bit.
    pub source_match: Vec<Address>,
    /// Whether all data requests are acknowledged with the frame pending bit.
    pub matches_all: bool,
    /// Total time of moving frames between processor and radio.
    pub spi: Duration,
    /// Time at which the processor is ready for the radio's next frame or transmission.
    pub ready_at: Instant,
    /// State of the repeated transmission in progress, if any.
    pub train: Option<Box<Train>>,
    pub assessments: u64,
    /// Number of sent copies of repeated frames.
    pub copies: u64,
}

impl Station {
    pub fn new(identity: Identity) -> Self {
        Station {
            identity,
            times: StateTimes::new(),
            work: Work::Idle,
            is_raw: false,
            overhears: Overhears::Nothing,
            overheard: Box::default(),
            generation: 0,
            outgoing: Box::default(),
            loaded: false,
            dsn: 0,
            wants_ack: false,
            acking: None,
            reading: false,
            incoming: Box::default(),
            waiting: None,
            reading_waiting: false,
            rests: RestState::Listen,
            source_match: Vec::new(),
            matches_all: false,
            spi: Duration::ZERO,
            ready_at: Instant::ZERO,
            train: None,
            assessments: 0,
            copies: 0,
        }
    }

    pub fn state(&self) -> State {
        self.times.state()
    }

    /// Starts a step of work, and returns its number. Events of earlier steps are then ignored.
    pub fn step(&mut self, work: Work) -> u32 {
        self.work = work;
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    /// Returns whether the radio has neither work for the MAC nor an acknowledgment to send.
    pub fn is_idle(&self) -> bool {
        self.work == Work::Idle && self.acking.is_none()
    }

    /// Enters the state of a radio that neither transmits nor receives: asleep, idle or listening.
    pub fn rest(&mut self, now: Instant) {
        if self.state() == State::Off {
            return;
        }
        let is_free = self.is_idle();
        let is_held = matches!(self.work, Work::Held { .. });
        let loads = matches!(self.work, Work::LoadWaits { .. } | Work::Loading { .. });
        let state = match self.rests {
            RestState::Sleep if is_free => State::Sleep,
            RestState::Doze | RestState::Sleep if is_held => State::Sleep,
            RestState::Doze | RestState::Sleep if is_free || loads => State::Idle,
            _ => State::Listen,
        };
        self.times.enter(now, state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_times_add_up() {
        let mut times = StateTimes::new();
        let at = Instant::from_millis;
        times.enter(at(10), State::Sleep);
        times.enter(at(70), State::Transmit);
        times.enter(at(75), State::Off);
        assert_eq!(times.in_state(at(100), State::Listen).as_millis(), 10);
        assert_eq!(times.in_state(at(100), State::Off).as_millis(), 25);
        let all: u64 = State::ALL
            .iter()
            .map(|state| times.in_state(at(100), *state).as_millis())
            .sum();
        assert_eq!(all, 100);
        assert!((times.duty_cycle(at(100)) - 0.15).abs() < 1e-12);
    }

    #[test]
    fn the_identity_decides_which_frames_are_its_own() {
        let identity = Identity {
            pan_id: 0x7270,
            short: 7,
            extended: [2, 0, 0, 0, 0, 0, 0, 7],
        };
        assert!(identity.owns(Address::Short(7)));
        assert!(identity.owns(Address::Extended([2, 0, 0, 0, 0, 0, 0, 7])));
        assert!(!identity.owns(Address::Absent));
        assert!(!identity.owns(Address::Short(8)));
        assert!(identity.is_in(Some(0xffff)) && identity.is_in(None));
        assert!(!identity.is_in(Some(1)));
    }
}
