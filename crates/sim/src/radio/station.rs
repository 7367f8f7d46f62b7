//! One node's radio: who it is, what it is doing, and how long it did what.

use redpoll_base::{Duration, Instant};
use redpoll_mac::{Channel, FrameBuf, RxInfo};
use redpoll_replay::Strobe;
use redpoll_wire::ieee802154::Address;

/// Which frames a radio takes for its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// PAN identifier.
    pub pan_id: u16,
    /// Short address.
    pub short: u16,
    /// EUI-64, first byte as printed.
    pub extended: [u8; 8],
}

impl Identity {
    /// Whether `address` is this radio's own.
    pub fn owns(&self, address: Address) -> bool {
        match address {
            Address::Absent => false,
            Address::Short(short) => short == self.short,
            Address::Extended(extended) => extended == self.extended,
        }
    }

    /// Whether `pan_id` is this radio's PAN or all of them.
    pub fn is_in(&self, pan_id: Option<u16>) -> bool {
        pan_id.is_none_or(|pan| pan == self.pan_id || pan == 0xffff)
    }
}

/// What the analogue part of a radio does; one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Switched off by a fault.
    Off,
    /// Asleep.
    Sleep,
    /// The receiver is off, and the radio ready to work at once.
    Idle,
    /// The receiver is on and hears nothing for it; also while the processor
    /// moves a frame and during a clear channel assessment.
    Listen,
    /// Following a frame.
    Receive,
    /// Between receiving and sending.
    Turnaround,
    /// Sending.
    Transmit,
}

impl State {
    /// All states, in the order of their numbers.
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

/// How long a radio has been in each state.
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

    /// The state now.
    pub fn state(&self) -> State {
        self.state
    }

    /// When it began.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Changes the state.
    pub fn enter(&mut self, now: Instant, state: State) {
        self.spent[self.state as usize] += now.since(self.since);
        self.since = now;
        self.state = state;
    }

    /// Time spent in `state` up to `now`.
    pub fn in_state(&self, now: Instant, state: State) -> Duration {
        let running = if self.state == state {
            now.since(self.since)
        } else {
            Duration::ZERO
        };
        self.spent[state as usize] + running
    }

    /// Share of the time up to `now` in which the radio was neither asleep nor
    /// off; 0 if no time has passed.
    pub fn duty_cycle(&self, now: Instant) -> f64 {
        let total = now.as_micros();
        if total == 0 {
            return 0.0;
        }
        let idle = self.in_state(now, State::Sleep) + self.in_state(now, State::Off);
        1.0 - idle.as_micros() as f64 / total as f64
    }

    /// Share of the time up to `now` in which the radio received, was ready to receive, or
    /// sent; 0 if no time has passed.
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

/// What the radio does for its MAC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Nothing.
    Idle,
    /// The frame has to be moved into the radio, and the way is not free.
    LoadWaits {
        /// The load belongs to a transmission, with or without CCA.
        then: Option<bool>,
    },
    /// The radio sleeps until the processor is ready to move the frame; one that
    /// is to listen meanwhile does that instead and is not held.
    Held {
        /// The load belongs to a transmission, with or without CCA.
        then: Option<bool>,
    },
    /// The frame is being moved into the radio.
    Loading {
        /// The load belongs to a transmission, with or without CCA.
        then: Option<bool>,
    },
    /// A transmission without clear channel assessment waits until the radio
    /// has acknowledged a frame.
    SendWaits,
    /// Clear channel assessment.
    Cca {
        /// It began while the radio followed a frame or acknowledged one.
        occupied: bool,
    },
    /// From receiving to sending.
    Turnaround,
    /// The frame is on the air.
    Sending,
    /// Waiting for the acknowledgement.
    AwaitAck,
    /// The receiver is being switched on, to assess the channel.
    Settle,
    /// The channel is being assessed, for itself.
    Assess {
        /// As with [`Work::Cca`].
        occupied: bool,
    },
    /// The processor learns what was found.
    Answer {
        /// What.
        channel: Channel,
    },
    /// A repetition does not begin: the radio has a frame.
    Refuse,
    /// Behind a copy of a frame that is repeated.
    Gap,
    /// There, the channel is being assessed.
    Look {
        /// As with [`Work::Cca`].
        occupied: bool,
    },
    /// There, something was in the channel; what, is seen at the end of this.
    Detect,
    /// It is not time for the next copy yet.
    Pause,
}

impl Work {
    /// Whether the radio waits for the acknowledgement of a frame that it repeats.
    pub fn awaits_answer(self) -> bool {
        matches!(
            self,
            Work::Gap | Work::Look { .. } | Work::Detect | Work::Pause
        )
    }
}

/// A frame that is being repeated.
#[derive(Clone, Copy, Debug)]
pub struct Train {
    /// How.
    pub strobe: Strobe,
    /// When the first copy began; `None` before that.
    pub began: Option<Instant>,
    /// When the last one did.
    pub copy_began: Instant,
    /// The frame-pending bit of the acknowledgement that has come.
    pub answer: Option<bool>,
}

impl Train {
    /// A repetition that is about to begin.
    pub fn new(strobe: Strobe) -> Train {
        Train {
            strobe,
            began: None,
            copy_began: Instant::ZERO,
            answer: None,
        }
    }
}

/// What a radio does between works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Its receiver is on.
    Listen,
    /// Its receiver is off.
    Doze,
    /// It sleeps.
    Sleep,
}

/// Of which frames that a radio has followed its node is told, beside receiving what is for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overhears {
    /// Of none.
    Nothing,
    /// Of what its filter lets through.
    Own,
    /// Of every one, also for other nodes or destroyed.
    All,
}

/// An acknowledgement that a radio owes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acking {
    /// Index of the node that sent the frame.
    pub to: u32,
    /// The frame's sequence number.
    pub dsn: u8,
    /// Something waits for that node.
    pub frame_pending: bool,
}

/// A frame that a radio has received.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The frame without its FCS.
    pub frame: FrameBuf,
    /// What the radio knows about it.
    pub info: RxInfo,
    /// A fault has it arrive twice.
    pub twice: bool,
}

/// One radio.
///
/// Each transmission looks at all stations around, so the fields are in this
/// order: what that takes is in the first two lines of the processor's cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Station {
    /// State and times.
    pub times: StateTimes,
    /// Whose frames it takes.
    pub identity: Identity,
    /// The frame that is being acknowledged.
    pub acking: Option<Acking>,
    /// Number of the current step of work; older numbers are cancelled.
    pub generation: u32,
    /// What it does for its MAC.
    pub work: Work,
    /// Its node's firmware does itself what other radios do; see
    /// [`Air::make_raw`](crate::air::Air::make_raw).
    pub is_raw: bool,
    /// Of which frames that the radio has followed its node is told.
    pub overhears: Overhears,
    /// The last of those that was intact.
    pub overheard: Box<FrameBuf>,
    /// What the radio does between works.
    pub rests: Rest,
    /// The frame to send is in the radio, too.
    pub loaded: bool,
    /// Sequence number of the frame to send.
    pub dsn: u8,
    /// The frame to send asks for an acknowledgement.
    pub wants_ack: bool,
    /// A received frame is being moved to the processor.
    pub reading: bool,
    /// The frame that is being read is the one that waited.
    pub reading_waiting: bool,
    /// The frame to send, as the processor has it.
    pub outgoing: Box<FrameBuf>,
    /// The received frame.
    pub incoming: Box<Received>,
    /// One more received frame, in the receive buffer of a radio that has one
    /// of its own; it is read next.
    pub waiting: Option<Box<Received>>,
    /// Neighbours whose data requests are acknowledged with the frame-pending
    /// bit.
    pub source_match: Vec<u16>,
    /// Time in which frames were moved between processor and radio.
    pub spi: Duration,
    /// When the processor is ready for the radio's next frame or order to send.
    pub ready_at: Instant,
    /// The frame to send is being repeated.
    pub train: Option<Box<Train>>,
    /// Channel assessments for themselves.
    pub assessments: u64,
    /// Copies of repeated frames that were sent.
    pub copies: u64,
}

impl Station {
    /// A radio that listens.
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
            rests: Rest::Listen,
            source_match: Vec::new(),
            spi: Duration::ZERO,
            ready_at: Instant::ZERO,
            train: None,
            assessments: 0,
            copies: 0,
        }
    }

    /// The state now.
    pub fn state(&self) -> State {
        self.times.state()
    }

    /// Starts a new step of work; steps scheduled before are cancelled.
    pub fn step(&mut self, work: Work) -> u32 {
        self.work = work;
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    /// Whether its MAC waits for nothing from it.
    pub fn is_idle(&self) -> bool {
        self.work == Work::Idle && self.acking.is_none()
    }

    /// What the radio goes back to when it neither sends nor follows a frame.
    pub fn rest(&mut self, now: Instant) {
        if self.state() == State::Off {
            return;
        }
        let is_free = self.is_idle();
        let is_held = matches!(self.work, Work::Held { .. });
        let loads = matches!(self.work, Work::LoadWaits { .. } | Work::Loading { .. });
        let state = match self.rests {
            Rest::Sleep if is_free => State::Sleep,
            Rest::Doze | Rest::Sleep if is_held => State::Sleep,
            Rest::Doze | Rest::Sleep if is_free || loads => State::Idle,
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
    fn identity_decides_what_is_its_own() {
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
