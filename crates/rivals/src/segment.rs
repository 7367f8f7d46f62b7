//! Reading segments whose checksum nobody looks at.

use redpoll_tcp::{Flags, Options, Segment, SeqNum};

/// The segment in `bytes`; `None` if it is cut short.
pub(crate) fn parse_unverified(bytes: &[u8]) -> Option<Segment<'_>> {
    let (fixed, _) = bytes.split_first_chunk::<20>()?;
    let &[
        sp0,
        sp1,
        dp0,
        dp1,
        s0,
        s1,
        s2,
        s3,
        a0,
        a1,
        a2,
        a3,
        offset,
        flags,
        w0,
        w1,
        ..,
    ] = fixed;
    let header_len = usize::from(offset >> 4) * 4;
    Some(Segment {
        flags: Flags(flags),
        src_port: u16::from_be_bytes([sp0, sp1]),
        dst_port: u16::from_be_bytes([dp0, dp1]),
        window: u16::from_be_bytes([w0, w1]),
        seq: SeqNum(u32::from_be_bytes([s0, s1, s2, s3])),
        ack: SeqNum(u32::from_be_bytes([a0, a1, a2, a3])),
        payload: bytes.get(header_len..)?,
        options: Options::parse(bytes.get(20..header_len)?),
    })
}
