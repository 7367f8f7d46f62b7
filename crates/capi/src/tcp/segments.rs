//! Segments and ICMPv6 errors in, segments out.

use redpoll_base::{Addr, Ecn, Instant};
use redpoll_socket::Errno;
use redpoll_stack::wire::ipv6::{Ipv6Header, next_header};
use redpoll_tcp::{
    Endpoint, Header, IcmpKind, Incoming, IpMeta, Segment, SegmentDesc, SeqNum, reset_reply,
};

use super::connection::{Conn, Open, endpoint};
use super::listed::Listed;
use super::passive::{listener_at, request, source};
use super::{Host, RpTcp};
use crate::error::{Code, bytes, bytes_mut, code, reference, value};

/// Least length of the memory for a segment: the headers, and some payload.
const SEGMENT_MIN: usize = 128;
/// Maximum number of resets in each second that answer segments without a connection.
const RESETS: u8 = 10;

/// `struct rp_tcp_ip`; `redpoll_tcp.h` describes each member.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RpTcpIp {
    pub source: [u8; 16],
    pub destination: [u8; 16],
    pub ecn: u8,
    pub hop_limit: u8,
}

/// A segment to send that belongs to no connection.
#[derive(Debug)]
pub(crate) struct Reply {
    header: Header,
    src: Addr,
    dst: Addr,
}

impl Reply {
    /// Returns the answer to a segment.
    pub(crate) fn to(meta: &IpMeta, header: Header) -> Reply {
        Reply {
            header,
            src: meta.dst,
            dst: meta.src,
        }
    }
}

/// Limits the resets that answer segments without a connection.
#[derive(Debug, Default)]
pub(crate) struct ResetLimit {
    /// Number of resets that were due in the current second.
    count: u8,
    /// Start of the current second, in milliseconds modulo 2^32.
    since: u32,
}

impl ResetLimit {
    /// Returns a reset as the answer, if the limit permits it.
    pub(crate) fn reply(&mut self, incoming: &Incoming<'_>, header: Header) -> Option<Reply> {
        let now = incoming.now.millis_wrapping();
        if now.wrapping_sub(self.since) >= 1_000 {
            (self.count, self.since) = (0, now);
        }
        self.count = self.count.saturating_add(1);
        (self.count <= RESETS).then(|| Reply::to(incoming.meta, header))
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to a `struct rp_tcp` whose connections and
/// listeners are valid, `ip` to a `struct rp_tcp_ip`, and `segment` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_input(
    tcp: *mut RpTcp,
    now_us: u64,
    ip: *const RpTcpIp,
    segment: *const u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, ip, segment) = unsafe { (Listed::find(tcp), value(ip), bytes(segment, len)) };
    code(found.and_then(|tcp| {
        let ip = ip?;
        let meta = IpMeta {
            src: Addr(ip.source),
            dst: Addr(ip.destination),
            ecn: Ecn::from_bits(ip.ecn),
            hop_limit: ip.hop_limit,
        };
        let seg = Segment::parse(&meta, segment?).or(Err(Errno::EINVAL))?;
        let incoming = Incoming {
            now: Instant::from_micros(now_us),
            local: 0,
            meta: &meta,
            seg: &seg,
        };
        // SAFETY: by this function's conditions.
        if let Some(reply) = unsafe { input(&mut tcp.it, &incoming) } {
            // A waiting answer is sent first, because its peer has waited longer. The new answer is
            // dropped.
            tcp.it.reply.get_or_insert(reply);
        }
        Ok(0)
    }))
}

/// Processes a segment. If the segment belongs to no connection, returns the answer to it, if any.
///
/// # Safety
/// The memory of the host's connections and listeners is valid.
unsafe fn input(host: &mut Host, incoming: &Incoming<'_>) -> Option<Reply> {
    let &Incoming { now, meta, seg, .. } = incoming;
    // SAFETY: by this function's conditions.
    let (mut connections, listener) = unsafe {
        let to = Endpoint::new(meta.dst, seg.dst_port);
        (host.connections.walk(), listener_at(host, to))
    };
    let place = connections.find(|it| {
        let open = it.it.open();
        open.is_some_and(|open| open.matches(meta, seg) && !open.is_closed())
    });
    if let Some(place) = place
        && let Some(open) = place.it.open_mut()
    {
        // RFC 9293 §3.6.1, MAY-2: a new connection may replace one in TIME-WAIT, if a listener
        // accepts the request.
        if listener.is_none() || !open.yields_to(seg) {
            open.input(now, meta, seg);
            return None;
        }
        place.it = Conn::Over(true);
    }
    if let Some(header) = host.recycled.answer(&host.isn, incoming) {
        return Some(Reply::to(meta, header));
    }
    match listener {
        // SAFETY: by this function's conditions.
        Some(listener) => unsafe { request(host, listener, incoming) },
        None => host.resets.reply(incoming, reset_reply(meta, seg)?),
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to a `struct rp_tcp` whose connections are
/// valid, and `message` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_input_icmp(
    tcp: *mut RpTcp,
    now_us: u64,
    message: *const u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, message) = unsafe { (Listed::find(tcp), bytes(message, len)) };
    code(found.and_then(|tcp| {
        let (report, local, remote, quoted) = parse(message?).ok_or(Errno::EINVAL)?;
        let now = Instant::from_micros(now_us);
        // SAFETY: by this function's conditions.
        let mut all = unsafe { tcp.it.connections.walk() };
        // RFC 5927 §4: an error is reported to a connection only if the quoted addresses, ports
        // and sequence number match.
        let open = all.find_map(|it| {
            let open = it.it.open_mut()?;
            let is_it = open.local() == local && open.remote() == remote && !open.is_closed();
            is_it.then_some(open)
        });
        if let Some(open) = open {
            match report {
                Report::Error(kind) => open.on_icmp(now, kind, quoted),
                Report::TooBig(mtu) => open.on_packet_too_big(now, mtu, quoted),
            }
        }
        Ok(0)
    }))
}

/// The contents of an ICMPv6 error.
enum Report {
    Error(IcmpKind),
    TooBig(u16),
}

/// Returns the contents of an ICMPv6 error, and the ends and the sequence number of the segment
/// that it quotes. `None` if it is not an error about a segment.
fn parse(message: &[u8]) -> Option<(Report, Endpoint, Endpoint, SeqNum)> {
    let (&[kind, code, _, _, m0, m1, m2, m3], quoted) = message.split_first_chunk()?;
    let report = match (kind, code) {
        (1, 1) => Report::Error(IcmpKind::Prohibited),
        (1, 3) => Report::Error(IcmpKind::AddressUnreachable),
        (1, 4) => Report::Error(IcmpKind::PortUnreachable),
        (1, _) => Report::Error(IcmpKind::NoRoute),
        (2, _) => {
            let mtu = u32::from_be_bytes([m0, m1, m2, m3]);
            Report::TooBig(u16::try_from(mtu).unwrap_or(u16::MAX))
        }
        (3, _) => Report::Error(IcmpKind::TimeExceeded),
        (4, _) => Report::Error(IcmpKind::ParameterProblem),
        _ => return None,
    };
    let (ip, rest) = Ipv6Header::parse_partial(quoted).ok()?;
    let (&[s0, s1, d0, d1, q0, q1, q2, q3], _) = rest.split_first_chunk()?;
    if ip.next_header != next_header::TCP {
        return None;
    }
    let (local, remote) = (endpoint(ip.src, [s0, s1]), endpoint(ip.dst, [d0, d1]));
    let quoted = SeqNum(u32::from_be_bytes([q0, q1, q2, q3]));
    Some((report, local, remote, quoted))
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to a `struct rp_tcp` whose connections and
/// listeners are valid, `out` to `len` bytes, and `ip` to a `struct rp_tcp_ip`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_output(
    tcp: *mut RpTcp,
    now_us: u64,
    out: *mut u8,
    len: usize,
    ip: *mut RpTcpIp,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, out, ip) = unsafe { (Listed::find(tcp), bytes_mut(out, len), reference(ip)) };
    code(found.and_then(|tcp| {
        let (host, out, ip) = (&mut tcp.it, out?, ip?);
        if out.len() < SEGMENT_MIN {
            return Err(Errno::EINVAL);
        }
        // SAFETY: by this function's conditions.
        let sent = unsafe { output(host, Instant::from_micros(now_us), out) };
        let Some(sent) = sent else {
            return Ok(0);
        };
        *ip = RpTcpIp {
            source: sent.src.0,
            destination: sent.dst.0,
            ecn: sent.ecn.bits(),
            hop_limit: host.hop_limit,
        };
        Ok(sent.len)
    }))
}

/// A segment that was written to the caller's buffer.
struct Sent {
    src: Addr,
    dst: Addr,
    ecn: Ecn,
    len: usize,
}

impl Sent {
    fn without_connection(header: &Header, src: Addr, dst: Addr, out: &mut [u8]) -> Sent {
        let len = redpoll_base::copy(header.as_bytes(), out);
        let ecn = Ecn::NotEct;
        Sent { src, dst, ecn, len }
    }
}

/// Writes the next segment.
///
/// # Safety
/// The memory of the host's connections and listeners is valid.
unsafe fn output(host: &mut Host, now: Instant, out: &mut [u8]) -> Option<Sent> {
    if let Some(Reply { header, src, dst }) = host.reply.take() {
        return Some(Sent::without_connection(&header, src, dst, out));
    }
    // SAFETY: by this function's conditions.
    for listener in unsafe { host.listeners.walk() } {
        let terms = listener.it.terms(host);
        let from = source(listener.it.at.addr);
        if let Some(it) = listener.it.half_open.poll_segment(now, &terms, from) {
            return Some(Sent::without_connection(&it.header, it.src, it.dst, out));
        }
    }
    // Polls first the connections after the one that sent last, and then the other connections.
    for is_later in [true, false] {
        // SAFETY: by this function's conditions.
        for (number, it) in (1u16..).zip(unsafe { host.connections.walk() }) {
            if (number > host.turn) != is_later {
                continue;
            }
            if let Some(open) = it.it.open_mut()
                && let Some(desc) = open.poll_segment(now, out.len())
            {
                host.turn = number;
                return Some(write(open, now, &desc, out));
            }
        }
    }
    None
}

/// Writes a segment of a connection.
fn write(open: &mut Open, now: Instant, desc: &SegmentDesc, out: &mut [u8]) -> Sent {
    let header = redpoll_base::copy(desc.header.as_bytes(), out);
    let payload = out.get_mut(header..).unwrap_or(&mut []);
    // `Gone` cannot occur, because the segment was made just now.
    let _ = open.read(desc.token, 0, payload);
    open.on_segment_sent(desc.token, now);
    Sent {
        src: open.local().addr,
        dst: open.remote().addr,
        ecn: desc.ecn,
        len: header.saturating_add(desc.payload_len.into()),
    }
}
