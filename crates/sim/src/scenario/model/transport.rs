//! The TCPs that nodes may have.

use redpoll_base::Duration;
use redpoll_lowpan::mss_for_frames;
use redpoll_replay::CongestionChoice;
use redpoll_rivals::blip::BlipConfig;
use redpoll_rivals::linux::LinuxConfig;
use redpoll_rivals::uip::UipConfig;
use redpoll_tcp::EcnUse;

/// How large a full segment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mss {
    /// As much payload as surely fits into this many full frames.
    Frames(u8),
    /// So many bytes of payload.
    Bytes(u16),
}

/// Transport parameters, the same in every node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpParams {
    /// Payload of a full segment.
    pub mss: Mss,
    /// Bytes of the longest compressed IPv6 header: 13 where nothing leaves
    /// the mesh, else 27; with RPL its packet information, 8 bytes, behind it.
    pub compressed_header_max: u16,
    /// Bytes of the send buffer of a connection.
    pub send_buffer: u32,
    /// Bytes of the receive buffer of a connection: its largest window.
    pub receive_buffer: u32,
    /// Nagle's algorithm (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// The timestamps option (RFC 7323).
    pub timestamps: bool,
    /// How long an acknowledgment may wait (RFC 9293 §3.8.6.3); zero sends
    /// every one at once.
    pub delayed_ack: Duration,
    /// An acknowledgment at the latest at every so many full segments.
    pub ack_every: u8,
    /// RTO before the first sample (RFC 6298 §2.1).
    pub initial_rto: Duration,
    /// Lower bound of the RTO (RFC 6298 §2.4).
    pub min_rto: Duration,
    /// Upper bound of the RTO (RFC 6298 §2.5).
    pub max_rto: Duration,
    /// Retransmissions of one segment before the connection fails.
    pub max_retries: u8,
    /// Retransmissions of a SYN before the attempt fails.
    pub syn_retries: u8,
    /// Keepalive probes; `None` is off.
    pub keepalive: Option<Keepalive>,
    /// How long TIME-WAIT lasts (twice the MSL).
    pub time_wait: Duration,
    /// Bulk transfers begin with the SYN where they can (RFC 7413).
    pub fast_open: bool,
    /// Servers whose Fast Open a node remembers (RFC 7413 §4.1.3).
    pub fast_open_servers: u8,
    /// Offer selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Who asks for explicit congestion notification (RFC 3168).
    pub ecn: EcnUse,
    /// Which mechanisms find and repair losses.
    pub repair: LossRepair,
    /// Added to every estimated retransmission timeout.
    pub rto_margin: Duration,
    /// TCP hears that the link has given a segment up.
    pub link_feedback: bool,
    /// Segments are made as soon as TCP may send, and wait in slots.
    pub queue_window: bool,
    /// Bytes that a frame carries behind its MAC header.
    pub frame_payload: u16,
}

/// Which mechanisms find and repair losses. Without any of them three duplicates and the
/// timer do (RFC 6582, 6675), as in FreeBSD 10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossRepair {
    /// Loss detection by time (RFC 8985).
    pub rack: bool,
    /// Tail loss probes (RFC 8985 §7), with `rack` alone.
    pub tail_probes: bool,
    /// Proportional rate reduction (RFC 9937).
    pub prr: bool,
    /// Doubts about a timeout (RFC 5682).
    pub f_rto: bool,
    /// The first data begins the estimate of the round trip anew if it is slower than the
    /// handshake (RFC 6298 §1).
    pub new_start: bool,
}

/// Which congestion control a node's TCP has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CongestionSpec {
    /// One of the engine's.
    Engine(CongestionChoice),
    /// One of that name, which whoever runs the scenario brings along
    /// ([`congestion`](crate::congestion)).
    Given(String),
}

impl Default for CongestionSpec {
    fn default() -> CongestionSpec {
        CongestionSpec::Engine(CongestionChoice::NewReno)
    }
}

/// Keepalive probes (RFC 9293 §3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// Silence before the first probe.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Unanswered probes before the connection fails.
    pub count: u8,
}

/// The longest compressed IPv6 header between two nodes of the mesh, in bytes
/// (RFC 6282 §3.1): encoding 2, contexts 1, traffic class and flow label 4, next
/// header 1, hop limit 1, and of either address the last two bytes.
pub const HEADER_MAX_INSIDE: u16 = 13;

/// That of a packet whose other end is outside: one of the addresses in full.
pub const HEADER_MAX_OUTSIDE: u16 = 27;

/// Bytes of the TCP header without options.
const TCP_HEADER: u16 = 20;

/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS: u16 = 12;

impl TcpParams {
    /// Payload bytes of a full segment.
    ///
    /// For [`Mss::Frames`] it is what fits whatever a header of the mesh takes,
    /// compressed to [`compressed_header_max`](Self::compressed_header_max)
    /// bytes at worst.
    pub fn payload_bytes(&self) -> u16 {
        match self.mss {
            Mss::Bytes(bytes) => bytes,
            Mss::Frames(n) => {
                let header_max = usize::from(self.compressed_header_max);
                let capacity = usize::from(self.frame_payload);
                let beside_timestamps = mss_for_frames(n.max(1), header_max, capacity);
                beside_timestamps + TIMESTAMPS - self.options_bytes()
            }
        }
    }

    /// Bytes of the IPv6 packet, not compressed, that carries a full segment.
    pub fn packet_bytes(&self) -> u16 {
        const IPV6_HEADER: u16 = 40;
        let headers = IPV6_HEADER + TCP_HEADER;
        headers.saturating_add(self.announced_mss())
    }

    /// The value of the MSS option: payload and options, without the fixed
    /// header (RFC 6691 §2), so that a full segment carries
    /// [`payload_bytes`](Self::payload_bytes).
    pub fn announced_mss(&self) -> u16 {
        self.payload_bytes().saturating_add(self.options_bytes())
    }

    fn options_bytes(&self) -> u16 {
        if self.timestamps { TIMESTAMPS } else { 0 }
    }
}

/// Which TCP a node has.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum TransportSpec {
    /// Redpoll's own.
    #[default]
    Redpoll,
    /// One unacknowledged segment a connection, as uIP's.
    Uip(UipConfig),
    /// BLIP's.
    Blip {
        /// What can be chosen of it.
        config: BlipConfig,
        /// Bytes of a connection's transmit buffer.
        buffer: u16,
    },
    /// One that behaves as Linux's.
    Linux {
        /// What can be chosen of it.
        config: LinuxConfig,
        /// Bytes of a connection's send buffer, and of its receive buffer.
        buffer: u16,
    },
    /// smoltcp's own, with the segments and buffers of Redpoll's.
    #[cfg(feature = "smoltcp")]
    Smoltcp {
        /// Reno, or no congestion control.
        reno: bool,
    },
}
