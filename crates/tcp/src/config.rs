//! Parameters of a connection.

use core::num::NonZero;

use redpoll_base::{Duration, divide};

use crate::{Standard, UserTimeoutOption};

/// Parameters of a connection. Each connection may have its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config<A = Standard> {
    /// MSS option, in bytes: the largest payload of a segment *without* options, sent or received
    /// (RFC 6691 §2). With timestamps each segment carries 12 bytes less. Minimum 64. Default 1220,
    /// the default for IPv6 (RFC 9293 §3.7.1).
    pub mss: u16,
    /// Whether the Nagle algorithm delays small segments (RFC 9293 §3.7.4). If it is off, a
    /// full-sized segment that would wait alone for a delayed ACK is sent in two halves. Default
    /// true.
    pub nagle: bool,
    /// Whether to offer and accept timestamps (RFC 7323). Default true.
    pub timestamps: bool,
    /// Whether to offer and accept selective acknowledgments (RFC 2018), and
    /// with them loss detection by time (RFC 8985). Default true.
    pub sack: bool,
    /// Conditions for the use of explicit congestion notification (RFC 3168). Default
    /// [`EcnUse::Asked`].
    pub ecn: EcnUse,
    /// Longest delay of an acknowledgment. A value above 479 ms becomes 479 ms, because RFC 9293
    /// §3.8.6.3 requires less than 500 ms and the timer may be 20 ms late. Default 200 ms, the
    /// delay that tail loss probes of other stacks allow for.
    pub delayed_ack: Duration,
    /// Number of segments, 1 to 255, after which an acknowledgment is sent without delay. RFC 5681
    /// §4.2 allows at most 2. Default 2.
    pub ack_every: u8,
    /// Retransmission timeout before the first measurement (RFC 6298 §2.1). Default 1 s.
    pub initial_rto: Duration,
    /// Minimum retransmission timeout (RFC 6298 §2.4, SHOULD be 1 s). Default 300 ms.
    ///
    /// The default is below 1 s because in a low-power network, a window is two to four segments.
    /// After a lost acknowledgment there is often no further segment that would elicit another one,
    /// and 1 s is five round trips of 200 ms. A lower value would mistake a delayed acknowledgment
    /// (200 ms plus the way back) for a loss. Timestamps or D-SACK reveal a spurious timeout, and
    /// the window is restored (RFC 3522, RFC 4015); one segment is wasted. If the peer supports
    /// neither, use 1 s.
    pub min_rto: Duration,
    /// Maximum retransmission timeout, at least 60 s by RFC 6298 §2.5, and the longest interval
    /// between window probes. Default 60 s.
    pub max_rto: Duration,
    /// Retransmissions of a segment before the connection fails (R2 of RFC 9293 §3.8.3), and the
    /// limit of unanswered window probes. Default 12.
    pub max_retries: u8,
    /// Retransmissions of a SYN before the attempt fails. Default 7, which takes 3 minutes
    /// (MUST-23).
    pub syn_retries: u8,
    /// Probing of idle connections. Default off (RFC 9293 §3.8.4, MUST-25).
    pub keepalive: Option<Keepalive>,
    /// Duration of TIME-WAIT: two maximum segment lifetimes. Default 60 s, twice the common 30 s;
    /// RFC 9293 has 2 minutes for one lifetime.
    pub time_wait: Duration,
    /// Time that an orphaned connection ([`Connection::orphan`](crate::Connection::orphan)) has to
    /// close. Default 3 minutes, the time that RFC 9293 §3.8.3 gives a SYN (MUST-23). This suffices
    /// for a sleeping peer and bounds how long a peer can hold memory. A connection that is closed
    /// but not orphaned receives without a time limit (RFC 9293 §3.6).
    pub orphan: Duration,
    /// Time after which a connection with unacknowledged data is aborted (RFC 9293 §3.10.8), also
    /// while the peer's window is closed. It replaces `max_retries`. Default none.
    pub user_timeout: Option<Duration>,
    /// Whether to announce our user timeout to the peer, and to adopt the peer's if `user_timeout`
    /// is `None` (RFC 5482). Default `None`: no option is sent or adopted.
    pub user_timeout_option: Option<UserTimeoutOption>,
    /// Choice of algorithms. Default [`Standard`].
    pub algorithms: A,
}

/// Conditions for the use of explicit congestion notification (RFC 3168 §6.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnUse {
    /// Never: the connection neither requests nor accepts ECN.
    Off,
    /// On request: a passive open accepts ECN, but an active open does not request it.
    Agreed,
    /// Always: an active open requests ECN, and a passive open accepts it.
    Asked,
}

impl EcnUse {
    /// Returns whether an active open requests ECN, or a `passive` one accepts it.
    pub(crate) fn wants(self, passive: bool) -> bool {
        match self {
            EcnUse::Off => false,
            EcnUse::Agreed => passive,
            EcnUse::Asked => true,
        }
    }
}

/// Probing of an idle connection (RFC 9293 §3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// Idle time before the first probe, 24 days at most. Default 2 hours (MUST-28).
    pub idle: Duration,
    /// Interval between probes. Default 75 s. A probe of a sleeping node may be late by half the
    /// interval ([`Wake::slack`](redpoll_base::Wake)).
    pub interval: Duration,
    /// Number of unanswered probes before the connection fails, 2 (MUST-29) to 127. Default 8.
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
    /// Returns the same parameters with other [algorithms](crate::Algorithms).
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

/// A time in milliseconds, stored in two bytes to keep connections small. The lower 13 bits are a
/// number up to 8,191, and the upper three bits the exponent of a power of ten that multiplies it.
/// Usual settings are exact, up to 49 days; other values are rounded up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Millis(NonZero<u16>);

/// Mask of the number. The bits above are the exponent.
const DIGITS: u16 = (1 << 13) - 1;

impl Millis {
    /// Returns `ms` milliseconds, 8,191 at most.
    pub(crate) const fn exactly(ms: u16) -> Millis {
        match NonZero::new(ms & DIGITS) {
            Some(bits) => Millis(bits),
            None => Millis(NonZero::<u16>::MIN),
        }
    }

    #[inline(never)] // size
    pub(crate) fn get(self) -> u32 {
        let bits = self.0.get();
        let mut ms = u32::from(bits & DIGITS);
        for _ in 0..bits / (DIGITS + 1) {
            // Saturates without a 64-bit product.
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

    /// Rounds `ms` milliseconds up to a value that can be stored. Zero becomes 1.
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

/// [`Config`] as stored in a connection: packed, and with the nearest valid value in place of each
/// invalid one.
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
    /// 0 if keep-alive is off.
    pub(crate) keepalive_count: u8,
    pub(crate) ack_every: u8,
    pub(crate) max_retries: u8,
    pub(crate) syn_retries: u8,
}

/// RFC 9293 §3.8.6.3, MUST-40: the delay of an ACK is below 500 ms, including the slack of the
/// node's timer.
const LONGEST_ACK_DELAY: Millis = Millis::new(479);

/// RFC 9293 §3.8.4, MUST-29: an unanswered probe alone does not prove that the connection is dead.
pub(crate) const LEAST_PROBES: u8 = 2;

/// Minimum MSS that is announced or accepted. Smaller segments would consist mostly of headers.
pub(crate) const LEAST_MSS: u16 = 64;

impl Params {
    /// Returns the parameters that the application or the peer may have changed: the user timeout
    /// (0 for none), and the idle time, the interval and the count of keep-alive probes. Times are
    /// in milliseconds.
    pub(crate) fn frozen(&self) -> ([u32; 3], u8) {
        let user_timeout = self.user_timeout.map_or(0, Millis::get);
        let (idle, interval) = (self.keepalive_idle.get(), self.keepalive_interval.get());
        ([user_timeout, idle, interval], self.keepalive_count)
    }

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
