//! Constants of the methods, in integer ticks of Contiki on a Tmote Sky: of the real-time timer
//! with 32,768 Hz and of the clock with 128 Hz.

use redpoll_base::Duration;

use super::{DutyConfig, Method, Release};

const RTIMER_HZ: u64 = 32_768;

/// Returns the duration of `ticks` of the real-time timer, rounded to a microsecond.
pub(super) const fn rt(ticks: u64) -> Duration {
    let us = ticks
        .saturating_mul(1_000_000)
        .saturating_add(RTIMER_HZ / 2)
        / RTIMER_HZ;
    Duration::from_micros(us)
}

/// Ticks per second of the clock of Contiki's CSMA layer; a tick lasts 7.8125 ms.
pub(super) const CLOCK_HZ: u64 = 128;

/// Returns the duration of `ticks` of the clock with 128 Hz, rounded to a microsecond.
pub(super) const fn ct(ticks: u64) -> Duration {
    rt(ticks.saturating_mul(RTIMER_HZ / CLOCK_HZ))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timing {
    pub(super) cycle: Duration,
    /// The wake-up cycle in ticks of the clock ([`CLOCK_HZ`]).
    pub(super) cycle_ticks: u64,
    /// ContikiMAC: pause between two assessments of a wake-up.
    pub(super) pause: Duration,
    /// ContikiMAC: interval of channel assessments while the receiver stays on.
    pub(super) look: Duration,
    /// Longest time for which a receiver waits for a frame after it detected energy.
    pub(super) listen: Duration,
    /// Greatest number of consecutive clear assessments after which a receiver stays on.
    pub(super) silent_looks: u8,
    /// Fast sleep: greatest number of assessments without a frame after which a receiver stays on.
    pub(super) fruitless_looks: u8,
    /// Longest wait for an announced frame.
    pub(super) burst: Duration,
    /// Sender: number of channel assessments before the first copy.
    pub(super) assessments: u8,
    /// Longest time for which a sender repeats a frame.
    pub(super) strobe: Duration,
    /// As `strobe`, for a receiver that is awake or whose phase is known.
    pub(super) locked_strobe: Duration,
    /// Time between the sender's start and the neighbour's expected wake-up.
    pub(super) guard: Duration,
    /// Gap between two strobes, as in [`Strobe`](crate::Strobe).
    pub(super) gap: Duration,
    pub(super) detect: Duration,
    /// X-MAC: on time of the receiver per cycle.
    pub(super) on: Duration,
    /// X-MAC: time from strobe to strobe.
    pub(super) strobe_period: Duration,
    /// LPP: listening time of the receiver after its probe.
    pub(super) listen_tick: Duration,
    /// LPP: longest wait of a frame for its receiver's probe.
    pub(super) lifetime: Duration,
    /// LPP: longest wait of a broadcast for all probes.
    pub(super) broadcast_lifetime: Duration,
}

impl Timing {
    pub(super) fn of(config: &DutyConfig) -> Self {
        let rate = u64::from(config.check_rate_hz.clamp(1, 32));
        let cycle_rt = RTIMER_HZ.checked_div(rate).unwrap_or(RTIMER_HZ);
        let (assessments, guard_rt) = match config.release {
            Release::Contiki25 => (2, 440),
            Release::Contiki27 | Release::Contiki30 => (6, 520),
        };
        let gap_rt = match config.release {
            Release::Contiki25 => 6,
            Release::Contiki27 | Release::Contiki30 => 13,
        };
        Timing {
            cycle: rt(cycle_rt),
            cycle_ticks: CLOCK_HZ.checked_div(rate).unwrap_or(CLOCK_HZ),
            pause: rt(16),
            look: rt(20),
            listen: rt(409),
            silent_looks: 5,
            fruitless_looks: 10,
            burst: ct(4),
            assessments,
            strobe: rt(cycle_rt.saturating_add(80)),
            locked_strobe: rt(546),
            guard: rt(guard_rt),
            gap: rt(gap_rt),
            detect: rt(21),
            on: rt(ON_RT),
            strobe_period: rt(127),
            listen_tick: ct(1),
            lifetime: rt(cycle_rt.saturating_add(cycle_rt / 2)),
            broadcast_lifetime: rt(cycle_rt),
        }
        .of_method(config.method, cycle_rt)
    }

    /// Returns ContikiMAC's times with the values of `method` where they differ. LPP uses those of
    /// X-MAC.
    fn of_method(self, method: Method, cycle_rt: u64) -> Self {
        match method {
            Method::CxMac => Timing {
                on: ct(1),
                strobe_period: rt(178),
                ..self.of_method(Method::XMac, cycle_rt)
            },
            Method::XMac | Method::Lpp => Timing {
                // Four times the on time, and once the off time.
                strobe: rt(cycle_rt.saturating_add(3 * ON_RT)),
                guard: rt(2 * ON_RT),
                gap: rt(6),
                detect: rt(32),
                ..self
            },
            Method::NullRdc | Method::ContikiMac => self,
        }
    }
}

/// On time of X-MAC's receiver, in ticks of the real-time timer.
const ON_RT: u64 = 204;

#[cfg(test)]
mod tests {
    use super::*;

    /// Calculated from contikimac.c of Contiki 2.5 to 3.0 for a Tmote Sky at 8 and 16 Hz.
    #[test]
    fn the_constants_of_the_releases() {
        let of = |release, check_rate_hz| {
            Timing::of(&DutyConfig {
                check_rate_hz,
                ..DutyConfig::of(Method::ContikiMac, release)
            })
        };
        let us = |time: Duration| time.as_micros();
        let new = of(Release::Contiki30, 8);
        assert_eq!((us(new.cycle), new.cycle_ticks), (125_000, 16));
        assert_eq!((us(new.strobe), us(new.locked_strobe)), (127_441, 16_663));
        assert_eq!((us(new.guard), new.assessments), (15_869, 6));
        assert_eq!((us(new.gap), us(new.detect)), (397, 641));
        assert_eq!((us(new.pause), us(new.look)), (488, 610));
        assert_eq!((us(new.listen), us(new.burst)), (12_482, 31_250));
        assert_eq!(of(Release::Contiki27, 8), new);
        let fast = of(Release::Contiki30, 16);
        assert_eq!((us(fast.cycle), fast.cycle_ticks), (62_500, 8));
        assert_eq!(us(fast.strobe), 64_941);
        let old = of(Release::Contiki25, 8);
        assert_eq!((us(old.guard), old.assessments), (13_428, 2));
        assert_eq!(us(old.gap), 183);
    }

    /// Calculated from xmac.c and lpp.c of Contiki 2.5 to 2.7 at 8 Hz.
    #[test]
    fn the_constants_of_x_mac_and_lpp() {
        let us = |time: Duration| time.as_micros();
        let x = Timing::of(&DutyConfig::of(Method::XMac, Release::Contiki27));
        assert_eq!((us(x.on), us(x.cycle)), (6_226, 125_000));
        assert_eq!((us(x.strobe), us(x.strobe_period)), (143_677, 3_876));
        assert_eq!((us(x.gap), us(x.detect)), (183, 977));
        let lpp = Timing::of(&DutyConfig::of(Method::Lpp, Release::Contiki27));
        assert_eq!((us(lpp.listen_tick), us(lpp.lifetime)), (7_813, 187_500));
        assert_eq!(us(lpp.broadcast_lifetime), 125_000);
    }
}
