//! TCP implementations of nodes.

use redpoll_base::Duration;
use redpoll_lowpan::mss_for_frames;
use redpoll_replay::CongestionChoice;
use redpoll_rivals::blip::BlipConfig;
use redpoll_rivals::linux::LinuxConfig;
use redpoll_rivals::uip::UipConfig;
use redpoll_tcp::EcnUse;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mss {
    /// Payload that always fits into this number of full frames.
    Frames(u8),
    Bytes(u16),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpParams {
    /// Payload of a full segment.
    pub mss: Mss,
    /// Bytes of the longest compressed IPv6 header: 13 if all traffic stays in the mesh, otherwise
    /// 27. RPL packet information adds 8 bytes, and extended addresses add 12 bytes.
    pub compressed_header_max: u16,
    pub send_buffer: u32,
    /// Bytes of a connection's receive buffer, which is its largest window.
    pub receive_buffer: u32,
    /// Nagle's algorithm (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// The timestamps option (RFC 7323).
    pub timestamps: bool,
    /// Longest delay of an acknowledgment (RFC 9293 §3.8.6.3); zero disables the delay.
    pub delayed_ack: Duration,
    /// Full segments after which an acknowledgment is sent at the latest.
    pub ack_every: u8,
    /// RTO before the first RTT sample (RFC 6298 §2.1).
    pub initial_rto: Duration,
    /// Lower bound of the RTO (RFC 6298 §2.4).
    pub min_rto: Duration,
    /// Upper bound of the RTO (RFC 6298 §2.5).
    pub max_rto: Duration,
    pub max_retries: u8,
    /// Retransmissions of a SYN before the attempt fails.
    pub syn_retries: u8,
    /// Keepalive probes; `None` is off.
    pub keepalive: Option<Keepalive>,
    pub time_wait: Duration,
    /// Whether bulk transfers send data with the SYN (RFC 7413).
    pub fast_open: bool,
    /// Servers whose Fast Open cookies a node stores (RFC 7413 §4.1.3).
    pub fast_open_servers: u8,
    /// Whether selective acknowledgments are offered (RFC 2018).
    pub sack: bool,
    /// Ends that request explicit congestion notification (RFC 3168).
    pub ecn: EcnUse,
    pub repair: LossRepair,
    /// Time added to every estimated retransmission timeout.
    pub rto_margin: Duration,
    /// Whether the link layer reports to TCP a segment that it failed to deliver.
    pub link_feedback: bool,
    /// Whether segments are built as soon as TCP may send them, and wait in slots of 6LoWPAN.
    pub queue_window: bool,
    /// Bytes of a frame after its MAC header.
    pub frame_payload: u16,
}

/// Loss recovery mechanisms. Without any of them, three duplicate acknowledgments and the timer
/// detect losses (RFC 6582, 6675), as in FreeBSD 10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossRepair {
    /// Time-based loss detection (RFC 8985).
    pub rack: bool,
    /// Tail loss probes (RFC 8985 §7), only with `rack`.
    pub tail_probes: bool,
    /// Proportional rate reduction (RFC 9937).
    pub prr: bool,
    /// Detection of spurious timeouts (RFC 5682).
    pub f_rto: bool,
    /// Whether the RTT sample of the first data segment restarts the RTT estimate, if this sample
    /// exceeds that of the handshake (RFC 6298 §1).
    pub new_start: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CongestionSpec {
    Engine(CongestionChoice),
    /// An algorithm with this name, which the caller provides ([`congestion`](crate::congestion)).
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
    pub interval: Duration,
    /// Unanswered probes before the connection fails.
    pub count: u8,
}

/// Bytes of the longest compressed IPv6 header between two nodes of the mesh (RFC 6282 §3.1):
/// encoding 2, contexts 1, traffic class and flow label 4, next header 1, hop limit 1, and the last
/// two bytes of each address.
pub const HEADER_MAX_INSIDE: u16 = 13;

/// Bytes of the longest header of a packet to or from outside, with one address in full.
pub const HEADER_MAX_OUTSIDE: u16 = 27;

const TCP_HEADER: u16 = 20;

/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS: u16 = 12;

impl TcpParams {
    /// Returns the payload bytes of a full segment. For [`Mss::Frames`], the segment fits into the
    /// number of frames with every compressed IPv6 header of up to
    /// [`compressed_header_max`](Self::compressed_header_max) bytes.
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

    /// Returns the size in bytes of the uncompressed IPv6 packet that carries a full segment.
    pub fn packet_bytes(&self) -> u16 {
        const IPV6_HEADER: u16 = 40;
        let headers = IPV6_HEADER + TCP_HEADER;
        headers.saturating_add(self.announced_mss())
    }

    /// Returns the value of the MSS option: payload and options, without the fixed header (RFC 6691
    /// §2), so that a full segment carries [`payload_bytes`](Self::payload_bytes).
    pub fn announced_mss(&self) -> u16 {
        self.payload_bytes().saturating_add(self.options_bytes())
    }

    fn options_bytes(&self) -> u16 {
        if self.timestamps { TIMESTAMPS } else { 0 }
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub enum TransportSpec {
    #[default]
    Redpoll,
    /// The transport of uIP, with one unacknowledged segment per connection.
    Uip(UipConfig),
    Blip {
        config: BlipConfig,
        /// Bytes of a connection's transmit buffer.
        buffer: u16,
    },
    /// A TCP that behaves like that of Linux.
    Linux {
        config: LinuxConfig,
        /// Bytes of a connection's send buffer, and also of its receive buffer.
        buffer: u16,
    },
    /// The TCP of smoltcp, with the segment and buffer sizes that Redpoll's TCP would have.
    #[cfg(feature = "smoltcp")]
    Smoltcp {
        /// Whether smoltcp uses Reno. If false, smoltcp has no congestion control.
        reno: bool,
    },
}
