//! Parameters of a connection.

use core::num::NonZero;

use redpoll_base::{Duration, divide};

use crate::{Standard, UserTimeoutOption};

/// Parameters of a connection. All of them may differ between connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config<A = Standard> {
    /// The MSS option that is announced, in bytes: the largest payload of a
    /// segment *without* options, sent or received (RFC 6691 §2). With
    /// timestamps every segment carries 12 bytes less. 64 at least. Default
    /// 1220, IPv6's own (RFC 9293 §3.7.1).
    pub mss: u16,
    /// Whether small segments wait for company (RFC 9293 §3.7.4). Without that,
    /// a full-sized segment that would wait alone for a delayed ACK goes in two
    /// halves, too. Default true.
    pub nagle: bool,
    /// Whether to offer and accept timestamps (RFC 7323). Default true.
    pub timestamps: bool,
    /// Whether to offer and accept selective acknowledgments (RFC 2018), and
    /// with them loss detection by time (RFC 8985). Default true.
    pub sack: bool,
    /// Who asks for explicit congestion notification (RFC 3168). Default
    /// [`EcnUse::Asked`].
    pub ecn: EcnUse,
    /// How long an acknowledgment may wait, below 500 ms (RFC 9293 §3.8.6.3).
    /// Default 200 ms, what other stacks' tail-loss probes allow for.
    pub delayed_ack: Duration,
    /// After how many segments an acknowledgment no longer waits, 1 to 255.
    /// More than 2 is outside RFC 5681 §4.2. Default 2.
    pub ack_every: u8,
    /// Retransmission timeout before the first measurement (RFC 6298 §2.1).
    /// Default 1 s.
    pub initial_rto: Duration,
    /// The least retransmission timeout (RFC 6298 §2.4, SHOULD be 1 s).
    /// Default 300 ms.
    ///
    /// Below a second because a window here is two to four segments: when an
    /// acknowledgment is lost there is often nothing left that could bring
    /// another, and a second is five round trips of silence. Not lower, lest a
    /// delayed acknowledgment (200 ms and a way back) be taken for a loss. A
    /// timeout that was premature is found out by timestamps or reported
    /// duplicates, and the window restored (RFC 3522, RFC 4015); it costs one
    /// segment sent in vain. With a peer that has neither, one second is safer.
    pub min_rto: Duration,
    /// The greatest retransmission timeout, 60 s at least by RFC 6298 §2.5, and
    /// the longest interval between window probes. Default 60 s.
    pub max_rto: Duration,
    /// How often a segment is sent again before the connection fails (R2 of
    /// RFC 9293 §3.8.3); also the number of window probes that may go
    /// unanswered. Default 12.
    pub max_retries: u8,
    /// How often a SYN is sent again before the attempt fails. Default 7, which gives 3 minutes (MUST-23).
    pub syn_retries: u8,
    /// Probing of idle connections. Default off (RFC 9293 §3.8.4, MUST-25).
    pub keepalive: Option<Keepalive>,
    /// How long TIME-WAIT lasts: two maximum segment lifetimes. Default 60 s,
    /// two times the 30 s that is common instead of RFC 9293's 2 minutes.
    pub time_wait: Duration,
    /// How long TCP may take to come to an end for an application that has let
    /// go ([`Connection::release`](crate::Connection::orphan)). Default 3
    /// minutes, what RFC 9293 §3.8.3 gives a SYN (MUST-23): enough for a
    /// sleeping peer, and no peer holds memory longer. An application that has
    /// only closed may receive without a limit (RFC 9293 §3.6).
    pub orphan: Duration,
    /// How long sent data may stay unacknowledged before the connection is
    /// aborted (RFC 9293 §3.10.8), behind a closed window as well. It takes the
    /// place of `max_retries`. Default none.
    pub user_timeout: Option<Duration>,
    /// Whether to tell the peer of our user timeout, and to heed its own where
    /// `user_timeout` is none (RFC 5482). Default none: neither.
    pub user_timeout_option: Option<UserTimeoutOption>,
    /// The algorithms, of which there is a choice. Default [`Standard`].
    pub algorithms: A,
}

/// Who asks for explicit congestion notification (RFC 3168 §6.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnUse {
    /// Nobody: it is neither asked for nor agreed to.
    Off,
    /// The peer: it is agreed to where the peer opens the connection and asks.
    Agreed,
    /// Either end: an active open asks for it, too.
    Asked,
}

impl EcnUse {
    /// Whether an open asks, or agrees if it is `passive`.
    pub(crate) fn wants(self, passive: bool) -> bool {
        match self {
            EcnUse::Off => false,
            EcnUse::Agreed => passive,
            EcnUse::Asked => true,
        }
    }
}

/// How an idle connection is probed (RFC 9293 §3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// Silence before the first probe, 24 days at most as for every timer.
    /// Default 2 hours (MUST-28).
    pub idle: Duration,
    /// Silence between probes. Default 75 s. Any probe may be late by half of
    /// it, if a node sleeps that long ([`Wake::slack`](redpoll_base::Wake)).
    pub interval: Duration,
    /// Unanswered probes before the connection fails, 2 at least (MUST-29) and
    /// 127 at most. Default 8.
    pub count: u8,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            mss: 1220,
            nagle: true,
            timestamps: true,
            sack: true,
            ecn: EcnUse::Asked,
            delayed_ack: Duration::from_millis(200),
            ack_every: 2,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(300),
            max_rto: Duration::from_secs(60),
            max_retries: 12,
            syn_retries: 7,
            keepalive: None,
            time_wait: Duration::from_secs(60),
            orphan: Duration::from_secs(180),
            user_timeout: None,
            user_timeout_option: None,
            algorithms: Standard,
        }
    }
}

impl<A> Config<A> {
    /// The same parameters with other [algorithms](crate::Algorithms).
    #[inline(always)] // size
    pub fn with_algorithms<O>(self, algorithms: O) -> Config<O> {
        Config {
            algorithms,
            mss: self.mss,
            nagle: self.nagle,
            timestamps: self.timestamps,
            sack: self.sack,
            ecn: self.ecn,
            delayed_ack: self.delayed_ack,
            ack_every: self.ack_every,
            initial_rto: self.initial_rto,
            min_rto: self.min_rto,
            max_rto: self.max_rto,
            max_retries: self.max_retries,
            syn_retries: self.syn_retries,
            keepalive: self.keepalive,
            time_wait: self.time_wait,
            orphan: self.orphan,
            user_timeout: self.user_timeout,
            user_timeout_option: self.user_timeout_option,
        }
    }
}

impl Keepalive {
    /// The defaults.
    pub const DEFAULT: Keepalive = Keepalive {
        idle: Duration::from_secs(2 * 60 * 60),
        interval: Duration::from_secs(75),
        count: 8,
    };
}

impl Default for Keepalive {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A span in milliseconds, in two bytes: how a connection stores its
/// parameters, because there may be many connections and little memory.
///
/// Four decimal digits and how many zeros follow, so that what people choose is
/// kept exactly, up to 49 days; anything finer is rounded up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Millis(NonZero<u16>);

/// The upper bits say how many zeros follow.
const DIGITS: u16 = (1 << 13) - 1;

impl Millis {
    /// So few milliseconds: 8,191 at most.
    pub(crate) const fn exactly(ms: u16) -> Millis {
        match NonZero::new(ms & DIGITS) {
            Some(bits) => Millis(bits),
            None => Millis(NonZero::<u16>::MIN),
        }
    }

    /// In milliseconds, one at least.
    #[inline(never)] // size
    pub(crate) fn get(self) -> u32 {
        let bits = self.0.get();
        let mut ms = u32::from(bits & DIGITS);
        for _ in 0..bits / (DIGITS + 1) {
            // Saturates; the usual way is a product of 64 bits.
            ms = if ms > u32::MAX / 10 {
                u32::MAX
            } else {
                ms.wrapping_mul(10)
            };
        }
        ms
    }

    pub(crate) fn duration(self) -> Duration {
        Duration::from_millis_u32(self.get())
    }

    /// `ms` milliseconds. Zero counts as one.
    #[inline(never)] // size
    pub(crate) const fn new(ms: u32) -> Self {
        let mut digits = if ms == 0 { 1 } else { ms };
        let mut zeros = 0u16;
        while digits > DIGITS as u32 {
            digits = divide(digits.wrapping_sub(1), 10).wrapping_add(1);
            zeros = zeros.wrapping_add(1);
        }
        let bits = digits as u16 | zeros << DIGITS.count_ones();
        match NonZero::new(bits) {
            Some(bits) => Millis(bits),
            None => Millis(NonZero::<u16>::MIN),
        }
    }
}

impl From<Duration> for Millis {
    fn from(duration: Duration) -> Self {
        Millis::new(duration.millis_saturating())
    }
}

/// [`Config`] as a connection keeps it, packed and with impossible values
/// replaced by the nearest possible ones.
#[derive(Clone, Debug)]
pub(crate) struct Params {
    pub(crate) initial_rto: Millis,
    pub(crate) min_rto: Millis,
    pub(crate) max_rto: Millis,
    pub(crate) time_wait: Millis,
    pub(crate) user_timeout: Option<Millis>,
    pub(crate) keepalive_idle: Millis,
    pub(crate) keepalive_interval: Millis,
    pub(crate) delayed_ack: Millis,
    pub(crate) mss: u16,
    /// Zero: no keep-alive.
    pub(crate) keepalive_count: u8,
    pub(crate) ack_every: u8,
    pub(crate) max_retries: u8,
    pub(crate) syn_retries: u8,
}

/// RFC 9293 §3.8.6.3, MUST-40: an ACK's delay is below 500 ms, also when the
/// node wakes up as late as its timer allows.
const LONGEST_ACK_DELAY: Millis = Millis::new(479);

/// RFC 9293 §3.8.4, MUST-29: a single unanswered probe proves nothing.
pub(crate) const LEAST_PROBES: u8 = 2;

/// The least MSS that is announced or believed. Below it a segment would be
/// nearly all header.
pub(crate) const LEAST_MSS: u16 = 64;

impl Params {
    /// What the application or the peer may have changed since the connection began: the
    /// user timeout, 0 for none, and keep-alive's idle time and interval in milliseconds,
    /// and its count.
    pub(crate) fn frozen(&self) -> ([u32; 3], u8) {
        let user_timeout = self.user_timeout.map_or(0, Millis::get);
        let (idle, interval) = (self.keepalive_idle.get(), self.keepalive_interval.get());
        ([user_timeout, idle, interval], self.keepalive_count)
    }

    /// What [`frozen`](Self::frozen) said.
    pub(crate) fn restore(&mut self, [user_timeout, idle, interval]: [u32; 3], count: u8) {
        self.user_timeout = (user_timeout > 0).then(|| Millis::new(user_timeout));
        self.keepalive_idle = Millis::new(idle);
        self.keepalive_interval = Millis::new(interval);
        self.keepalive_count = count;
    }
}

impl<A> From<&Config<A>> for Params {
    fn from(config: &Config<A>) -> Self {
        let keepalive = config.keepalive.as_ref();
        let Keepalive { idle, interval, .. } = keepalive.unwrap_or(&Keepalive::DEFAULT);
        let min_rto = Millis::from(config.min_rto);
        Params {
            initial_rto: config.initial_rto.into(),
            min_rto,
            max_rto: Millis::from(config.max_rto).max(min_rto),
            time_wait: config.time_wait.into(),
            user_timeout: config.user_timeout.map(Millis::from),
            keepalive_idle: (*idle).into(),
            keepalive_interval: (*interval).into(),
            delayed_ack: Millis::from(config.delayed_ack).min(LONGEST_ACK_DELAY),
            mss: config.mss.max(LEAST_MSS),
            keepalive_count: keepalive.map_or(0, |k| k.count.max(LEAST_PROBES)),
            ack_every: config.ack_every.max(1),
            max_retries: config.max_retries,
            syn_retries: config.syn_retries,
        }
    }
}
