//! TCP alone: connections and listeners in the caller's memory, segments in and out.
//!
//! `include/redpoll_tcp.h` is the interface. Without nodes and sockets, the caller's IPv6 stack
//! passes segments with their addresses to [`segments`], and sends the segments that it returns.
//!
//! - this file: the configuration, and the state that the connections of a host share;
//! - `listed.rs`: the objects in the caller's memory;
//! - `connection.rs`: calls of a connection;
//! - `passive.rs`: listeners, and connections that wait at them;
//! - `segments.rs`: segments and ICMPv6 errors in, segments out.

pub mod connection;
pub(crate) mod listed;
pub mod passive;
pub mod segments;

use redpoll_base::{Addr, Duration, Instant};
use redpoll_socket::Errno;
use redpoll_tcp::{Config, EcnUse, IsnGenerator, Keepalive, Recycled};

use crate::error::{Code, code, reference, value};
use connection::{Conn, RpTcpConnection};
use listed::{Kind, List, Listed};
use passive::{Listening, RpTcpListener};
use segments::{Reply, ResetLimit};

/// The minimum MTU of IPv6 (RFC 8200 §5), without the headers of IPv6 and TCP, in bytes: the
/// largest MSS without path MTU discovery.
const MSS: u16 = 1_220;
/// Longest delay of acknowledgements in units of 10 ms; RFC 9293 §3.8.6.3: less than 500 ms.
const ACK_DELAY_MAX: u8 = 47;

/// `struct rp_tcp_config`; `redpoll_tcp.h` describes each member.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RpTcpConfig {
    pub secret: [u8; 16],
    pub time_wait_ms: u32,
    pub keepalive_idle_ms: u32,
    pub keepalive_interval_ms: u32,
    pub user_timeout_ms: u32,
    pub min_rto_ms: u16,
    pub mss: u16,
    pub keepalive_count: u8,
    pub hop_limit: u8,
    pub ack_delay: u8,
    pub max_retries: u8,
    pub syn_retries: u8,
    pub ecn: u8,
    pub nagle: u8,
    pub sack: u8,
    pub timestamps: u8,
    pub reserved: [u8; 3],
}

impl RpTcpConfig {
    /// The default configuration; the secret is 0.
    const DEFAULT: RpTcpConfig = RpTcpConfig {
        secret: [0; 16],
        time_wait_ms: 60_000,
        keepalive_idle_ms: 0,
        keepalive_interval_ms: 75_000,
        user_timeout_ms: 0,
        min_rto_ms: 300,
        mss: MSS,
        keepalive_count: 8,
        hop_limit: 64,
        ack_delay: 20,
        max_retries: 12,
        syn_retries: 7,
        ecn: 2,
        nagle: 1,
        sack: 1,
        timestamps: 1,
        reserved: [0; 3],
    };

    /// Returns the parameters of connections; `EINVAL` for a number out of range.
    fn config(&self) -> Result<Config, Errno> {
        let ecn = match self.ecn {
            0 => EcnUse::Off,
            1 => EcnUse::Agreed,
            2 => EcnUse::Asked,
            _ => return Err(Errno::EINVAL),
        };
        let refused = self.secret == [0; 16]
            || self.mss < 64
            || (self.mss > MSS && !redpoll_tcp::PATH_MTU)
            || self.hop_limit == 0
            || self.min_rto_ms == 0
            || self.time_wait_ms == 0
            || !(1..=ACK_DELAY_MAX).contains(&self.ack_delay)
            || self.nagle.max(self.sack).max(self.timestamps) > 1;
        if refused {
            return Err(Errno::EINVAL);
        }
        let (idle, interval) = (self.keepalive_idle_ms, self.keepalive_interval_ms);
        Ok(Config {
            mss: self.mss,
            nagle: self.nagle != 0,
            timestamps: self.timestamps != 0,
            sack: self.sack != 0,
            ecn,
            delayed_ack: Duration::from_millis(10).times(self.ack_delay.into()),
            min_rto: Duration::from_millis_u32(self.min_rto_ms.into()),
            max_retries: self.max_retries,
            syn_retries: self.syn_retries,
            keepalive: keepalive(idle, interval, self.keepalive_count)?,
            time_wait: Duration::from_millis_u32(self.time_wait_ms),
            user_timeout: (self.user_timeout_ms != 0)
                .then(|| Duration::from_millis_u32(self.user_timeout_ms)),
            ..Config::default()
        })
    }
}

/// Returns the settings of keep-alive, which an idle time of 0 turns off.
pub(crate) fn keepalive(idle: u32, interval: u32, count: u8) -> Result<Option<Keepalive>, Errno> {
    if idle == 0 {
        return Ok(None);
    }
    if interval == 0 || !(2..=127).contains(&count) {
        return Err(Errno::EINVAL);
    }
    Ok(Some(Keepalive {
        idle: Duration::from_millis_u32(idle),
        interval: Duration::from_millis_u32(interval),
        count,
    }))
}

/// State that the connections and listeners of a host share.
#[derive(Debug)]
pub struct Host {
    pub(crate) hop_limit: u8,
    /// Number of the connection that made the last segment, counted along the list.
    pub(crate) turn: u16,
    /// Counter for the choice of ports, `next_ephemeral` of RFC 6056 §3.3.3.
    pub(crate) chosen: u16,
    pub(crate) resets: ResetLimit,
    pub(crate) connections: List<Conn>,
    pub(crate) listeners: List<Listening>,
    pub(crate) isn: IsnGenerator,
    pub(crate) recycled: Recycled,
    pub(crate) config: Config,
    /// An answer that belongs to no connection and waits for the next output.
    pub(crate) reply: Option<Reply>,
}

impl Kind for Host {
    const MARK: u32 = 0x7270_7468;
}

/// `struct rp_tcp`, whose members C does not know.
pub type RpTcp = Listed<Host>;

/// Returns whether an address can be one end of a connection.
pub(crate) fn is_unicast(addr: &Addr) -> bool {
    !addr.is_unspecified() && !addr.is_multicast()
}

/// # Safety
/// `config` is null or points to a `struct rp_tcp_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_config_init(config: *mut RpTcpConfig) -> Code {
    // SAFETY: by this function's conditions.
    let config = unsafe { reference(config) };
    code(config.map(|config| {
        *config = RpTcpConfig::DEFAULT;
        0
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to `tcp_size` bytes that no other code uses
/// during the host's life, and `config` to a `struct rp_tcp_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_init(
    tcp: *mut RpTcp,
    tcp_size: usize,
    connection_size: usize,
    listener_size: usize,
    config: *const RpTcpConfig,
) -> Code {
    // SAFETY: by this function's conditions.
    let config = unsafe { value(config) };
    code(config.and_then(|config| {
        let (given, needed) = (
            [tcp_size, connection_size, listener_size],
            [
                size_of::<RpTcp>(),
                size_of::<RpTcpConnection>(),
                size_of::<RpTcpListener>(),
            ],
        );
        if given
            .iter()
            .zip(&needed)
            .any(|(given, needed)| given < needed)
        {
            return Err(Errno::ENOMEM);
        }
        let host = Host {
            hop_limit: config.hop_limit,
            turn: 0,
            chosen: 0,
            resets: ResetLimit::default(),
            connections: List::EMPTY,
            listeners: List::EMPTY,
            isn: IsnGenerator::new(config.secret),
            recycled: Recycled::default(),
            config: config.config()?,
            reply: None,
        };
        // SAFETY: by this function's conditions; the memory is large enough.
        unsafe { Listed::make(tcp, host) }.map(|()| 0)
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to a `struct rp_tcp` whose connections and
/// listeners are valid, and `at_us` to a `uint64_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_poll_at(tcp: *mut RpTcp, at_us: *mut u64) -> Code {
    // SAFETY: by this function's conditions.
    let (found, at) = unsafe { (Listed::find(tcp), reference(at_us)) };
    code(found.and_then(|tcp| {
        let at = at?;
        // SAFETY: by this function's conditions.
        let (connections, listeners) =
            unsafe { (tcp.it.connections.walk(), tcp.it.listeners.walk()) };
        let open = connections.filter_map(|it| it.it.open()?.poll_at());
        let half_open = listeners.filter_map(|it| it.it.half_open.poll_at());
        let next = open.chain(half_open).map(|wake| wake.at.as_micros()).min();
        if let Some(next) = next {
            *at = next;
        }
        Ok(next.is_some().into())
    }))
}

/// # Safety
/// `tcp` is null or points to a `struct rp_tcp`; the memory of all its connections and listeners is
/// valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_on_timeout(tcp: *mut RpTcp, now_us: u64) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { Listed::find(tcp) }.map(|tcp| {
        let (host, now) = (&tcp.it, Instant::from_micros(now_us));
        // SAFETY: by this function's conditions.
        for it in unsafe { host.connections.walk() } {
            if let Some(open) = it.it.open_mut()
                && open.poll_at().is_some_and(|wake| wake.at <= now)
            {
                open.on_timeout(now);
            }
        }
        // SAFETY: by this function's conditions.
        for it in unsafe { host.listeners.walk() } {
            it.it.half_open.on_timeout(now, &host.config);
        }
        0
    }))
}
