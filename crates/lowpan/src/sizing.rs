//! Sizes in frames: the number of frames of a packet, and the MSS that fills them.

/// Length in bytes of the longest IPv6 packet on this link (RFC 4944 §4).
pub const MTU: usize = 1280;

/// Bytes of the longest compressed IPv6 header (RFC 6282 §3.1): two bytes of encoding, four of
/// traffic class and flow label, next header, hop limit and two full addresses. A header with
/// contexts is shorter: its extra byte saves at least eight bytes of address.
pub const COMPRESSED_HEADER_MAX: usize = 40;

/// Bytes that an MSS leaves for the TCP header: 20, and 12 for timestamps (RFC 7323 §3.2).
pub const TCP_HEADER_LEN: usize = 32;

/// Length in bytes of a FRAG1 header; `FRAGN_LEN` is that of a FRAGN header (RFC 4944 §5.3).
pub(crate) const FRAG1_LEN: usize = 4;
pub(crate) const FRAGN_LEN: usize = 5;
/// Length in bytes of the uncompressed IPv6 header.
const IPV6_LEN: usize = 40;

/// Returns `n` rounded down to the unit of fragment offsets.
pub(crate) const fn whole_units(n: usize) -> usize {
    n & !7
}

/// Returns the largest TCP payload, in bytes, whose packet fits into `frames` frames.
///
/// `header_len` is the length of the compressed IPv6 header in bytes ([`COMPRESSED_HEADER_MAX`] is
/// always safe), `capacity` the bytes a frame carries for this layer (116 with short addresses: 127
/// − 9 − 2). Room is left for a TCP header of [`TCP_HEADER_LEN`] bytes, so a segment without
/// options may be longer by those twelve bytes and still need no further frame. The packet never
/// exceeds the link's MTU of 1,280 bytes.
///
/// Returns 0 when not even the headers fit.
///
/// ```
/// use redpoll_lowpan::{COMPRESSED_HEADER_MAX, mss_for_frames};
/// assert_eq!(mss_for_frames(5, COMPRESSED_HEADER_MAX, 116), 463);
/// ```
pub fn mss_for_frames(frames: u8, header_len: usize, capacity: usize) -> u16 {
    let transport = match frames {
        0 => 0,
        1 => capacity.saturating_sub(header_len),
        // RFC 4944 §5.3: all fragments but the last have a multiple of eight bytes of the datagram.
        // The IPv6 header has 40 bytes, so this holds for their transport bytes as well.
        _ if header_len.saturating_add(FRAG1_LEN) > capacity => 0,
        _ => {
            let last = capacity.saturating_sub(FRAGN_LEN);
            let middle = usize::from(frames)
                .saturating_sub(2)
                .saturating_mul(whole_units(last));
            first_coverage(header_len, capacity)
                .saturating_add(middle)
                .saturating_add(last)
        }
    };
    let mss = transport
        .min(MTU.saturating_sub(IPV6_LEN))
        .saturating_sub(TCP_HEADER_LEN);
    u16::try_from(mss).unwrap_or(u16::MAX)
}

/// Returns the number of frames of a packet with `transport_len` bytes after its IPv6 header; see
/// [`mss_for_frames`] for the other arguments. `None` if it cannot be sent.
pub fn frames_needed(transport_len: usize, header_len: usize, capacity: usize) -> Option<usize> {
    if header_len.saturating_add(transport_len) <= capacity {
        return Some(1);
    }
    if header_len.saturating_add(FRAG1_LEN) > capacity {
        return None;
    }
    let last = capacity.saturating_sub(FRAGN_LEN);
    let rest = transport_len.saturating_sub(first_coverage(header_len, capacity));
    // The last fragment is not rounded down to eight bytes, so it may be longer than the others.
    let middle = rest
        .saturating_sub(last)
        .checked_next_multiple_of(whole_units(last))?
        .checked_div(whole_units(last))?;
    middle.checked_add(2)
}

/// Returns how many transport bytes a FRAG1 has after a compressed header of `header_len` bytes.
fn first_coverage(header_len: usize, capacity: usize) -> usize {
    whole_units(
        capacity
            .saturating_sub(FRAG1_LEN)
            .saturating_sub(header_len),
    )
}
