//! The constants of the methods, in the integers that Contiki has on a Tmote Sky: real
//! time timer 32,768 Hz, clock 128 Hz.

use redpoll_base::Duration;

use super::{DutyConfig, Method, Release};

/// Ticks of the real time timer a second.
const RTIMER_HZ: u64 = 32_768;

/// So many ticks of the real time timer, to the nearest microsecond.
pub(super) const fn rt(ticks: u64) -> Duration {
    let us = ticks
        .saturating_mul(1_000_000)
        .saturating_add(RTIMER_HZ / 2)
        / RTIMER_HZ;
    Duration::from_micros(us)
}

/// A tick of the clock that Contiki's CSMA layer runs on: 7.8125 ms.
pub(super) const CLOCK_HZ: u64 = 128;

/// So many ticks of the clock, to the nearest microsecond.
pub(super) const fn ct(ticks: u64) -> Duration {
    rt(ticks.saturating_mul(RTIMER_HZ / CLOCK_HZ))
}

/// The constants of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timing {
    /// From one wake-up to the next.
    pub(super) cycle: Duration,
    /// The cycle in ticks of the clock: the CSMA layer's time base.
    pub(super) cycle_ticks: u64,
    /// ContikiMAC, receiving: between two assessments of a wake-up.
    pub(super) pause: Duration,
    /// From one look at the channel to the next while something is in it.
    pub(super) look: Duration,
    /// How long a receiver waits at most for a frame whose energy it found.
    pub(super) listen: Duration,
    /// Clear looks in a row, of which one more sends it back to sleep.
    pub(super) silent_looks: u8,
    /// Looks without the beginning of a frame, of which one more does.
    pub(super) fruitless_looks: u8,
    /// How long it waits for a frame that was promised.
    pub(super) burst: Duration,
    /// Sending: assessments before the first copy.
    pub(super) assessments: u8,
    /// How long a frame is repeated, and if the receiver is awake or its phase known.
    pub(super) strobe: Duration,
    pub(super) locked_strobe: Duration,
    /// How long before a neighbour's phase the sender begins.
    pub(super) guard: Duration,
    /// As in [`Strobe`](crate::Strobe).
    pub(super) gap: Duration,
    pub(super) detect: Duration,
    /// X-MAC: how long the receiver is on each cycle, and the time from strobe to strobe.
    pub(super) on: Duration,
    pub(super) strobe_period: Duration,
    /// LPP: how long the receiver listens behind its probe.
    pub(super) listen_tick: Duration,
    /// LPP: how long a frame waits for its receiver's probe, and a broadcast for all.
    pub(super) lifetime: Duration,
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

    /// With X-MAC's figures where they differ from ContikiMAC's; LPP detects as X-MAC.
    fn of_method(self, method: Method, cycle_rt: u64) -> Self {
        match method {
            Method::CxMac => Timing {
                on: ct(1),
                strobe_period: rt(178),
                ..self.of_method(Method::XMac, cycle_rt)
            },
            Method::XMac | Method::Lpp => Timing {
                // Four times on, and off.
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

/// How long X-MAC's receiver is on, in ticks of the real time timer.
const ON_RT: u64 = 204;

#[cfg(test)]
mod tests {
    use super::*;

    /// Contiki 2.5 to 3.0, contikimac.c, worked out for a Tmote Sky at 8 and 16 Hz.
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

    /// Contiki 2.5 to 2.7, xmac.c and lpp.c, at 8 Hz.
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
