//! Behaviour of earlier stacks, for comparisons in simulations: the duty-cycled MACs of Contiki 2.5
//! to 3.0, the backoffs and retries of TinyOS 2.1.2, a TCP that passes whole packets to the link,
//! the algorithms of other TCP engines, the objective function of TinyRPL, and parameters of RPL.
//!
//! The MACs have the constants and defects of these releases of Contiki and TinyOS. No device uses
//! this crate. [`Segments`] is the handover of a `redpoll_stack::Node`, [`ReplayRules`] are the
//! rules of its RPL, [`OtherTcp`] has the algorithms of its TCP, and [`Replay`] is the access
//! method of a `redpoll_mac::Mac`:
//!
//! ```
//! use redpoll_base::Rng;
//! use redpoll_mac::{Mac, MacConfig};
//! use redpoll_replay::{DutyConfig, Method, Release, Replay, ReplayConfig};
//!
//! let contikimac = ReplayConfig {
//!     duty: Some(DutyConfig::of(Method::ContikiMac, Release::Contiki30)),
//!     ..ReplayConfig::default()
//! };
//! let mac = Mac::new(MacConfig::default(), Replay::new(contikimac), Rng::new(1));
//! assert!(mac.access().duty_counters().is_some());
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod duty;
mod rpl;
mod segments;
mod tcp;
mod tinyos;

use redpoll_base::{Duration, Rng};
use redpoll_mac::{Access, Cycled, CycledResult};

use duty::Duty;
pub use duty::{DutyConfig, DutyCounters, LayerConfig, Method, Release};
pub use rpl::{ReplayObjective, ReplayRules};
pub use segments::Segments;
pub use tcp::{
    Chosen, CongestionChoice, CongestionEvent, CongestionUpdate, CongestionWindow, Given,
    GivenCongestion, OtherTcp, RecoveryChoice,
};

/// The repetition of a frame by a radio until a neighbour answers it.
///
/// After each copy of a frame that requests an acknowledgment, the radio listens for `gap` and then
/// assesses the channel. If the channel is clear, the radio sends the next copy. Otherwise it waits
/// for `detect` and checks the received frame. The Imm-ACK ends the repetition; with `gives_way`
/// any other frame also ends it. After a copy that requests no acknowledgment the radio only waits
/// for `gap`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strobe {
    /// Time from the end of a copy until the radio assesses the channel.
    pub gap: Duration,
    /// Time from a busy assessment until the radio checks whether the signal was the Imm-ACK.
    pub detect: Duration,
    /// Least time from the start of one copy to that of the next.
    pub period: Duration,
    /// Latest start of a copy after the start of the first.
    pub span: Duration,
    /// Whether any Imm-ACK counts, whatever its sequence number: a defect of old Contiki releases.
    pub any_ack: bool,
    /// Whether frames other than the Imm-ACK end the repetition.
    pub gives_way: bool,
}

/// A radio job that only the access methods of this crate use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Assess the channel: switch the receiver on if it is off, and sample the channel for 128 µs
    /// when it is ready. Ends in [`CycledResult::Assessed`]. Then the radio returns to its state
    /// between jobs.
    Assess,
    /// Send the loaded frame repeatedly, without an assessment before the first copy. Ends in
    /// [`CycledResult::Answered`], or in `ChannelBusy`, `NoAck` or, if the frame requests no
    /// acknowledgment, `Sent` of `redpoll_mac::RadioResult`. A radio that is receiving a frame, or
    /// has an unread one, sends nothing and ends in `ChannelBusy`.
    Strobe(Strobe),
}

/// The differences of an earlier stack from IEEE 802.15.4-2015; by default none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReplayConfig {
    /// Whether to use the backoffs of TinyOS 2.1.2 with a CC2420: 0.5 to 10 ms before the first
    /// assessment of the channel, 0.5 to 2.7 ms after each busy one, in steps of 31 µs. TinyOS does
    /// not limit their number: set `max_csma_backoffs` of the MAC to 255.
    pub tinyos_backoff: bool,
    /// A constant part of the delay before a retransmission. TinyOS 2.1.2 waits for 103 binary
    /// milliseconds without a random part (`PacketLinkP.nc`), so two frames that collided often
    /// collide again.
    pub retry_pause: Duration,
    /// The duty-cycled MAC of Contiki; `None` if receivers are always on, except on sleepy leaves.
    pub duty: Option<DutyConfig>,
}

/// The access method of an earlier stack.
#[derive(Clone, Debug)]
pub struct Replay {
    config: ReplayConfig,
    duty: Option<Cycled<Duty>>,
}

impl Replay {
    /// Returns an access method. Its duty cycle starts when its MAC starts.
    pub const fn new(config: ReplayConfig) -> Self {
        Replay { config, duty: None }
    }

    /// Returns the counters of a duty-cycled MAC; `None` without such a MAC.
    pub fn duty_counters(&self) -> Option<&DutyCounters> {
        self.duty.as_ref().map(|duty| &duty.cycle.counters)
    }
}

impl Access for Replay {
    type Work = Work;
    type Done = CycledResult;
    type Cycle = Duty;

    fn begin(&mut self, rng: &mut Rng) {
        self.duty = self.config.duty.map(|config| {
            let duty = Duty::new(config, rng);
            let properties = duty.properties();
            Cycled::new(duty, properties)
        });
    }

    fn cycle(&self) -> Option<&Cycled<Duty>> {
        self.duty.as_ref()
    }

    fn cycle_mut(&mut self) -> Option<&mut Cycled<Duty>> {
        self.duty.as_mut()
    }

    fn backoff(&self, was_busy: bool, rng: &mut Rng) -> Option<Duration> {
        let is_replaced = self.config.tinyos_backoff;
        is_replaced.then(|| tinyos::backoff(was_busy, rng))
    }

    fn retry_pause(&self) -> Duration {
        self.config.retry_pause
    }
}

fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
