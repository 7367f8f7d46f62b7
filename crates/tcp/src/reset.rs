//! Making resets (RFC 9293 §3.5.2).

use redpoll_base::checksum::Checksum;

use crate::{Flags, Header, IpMeta, Request, Segment, SeqNum, TimestampOption};

/// The reset that answers a segment for which there is no connection, or
/// `None` if nothing is to be answered (RFC 9293 §3.10.7.1).
///
/// It goes from `meta.dst` to `meta.src`.
pub fn reset_reply(meta: &IpMeta, seg: &Segment<'_>) -> Option<Header> {
    reset_between(&Request::new(meta, seg), seg)
}

/// The reset that answers a segment of which a request was made, if it is to be answered.
#[inline(never)] // size
pub(crate) fn reset_between(ends: &Request, seg: &Segment<'_>) -> Option<Header> {
    let Request { local, remote, .. } = ends;
    // Nothing that came from, or went to, a group is answered (RFC 9293
    // §3.9.2.3, MUST-57).
    if remote.addr.is_multicast() || local.addr.is_multicast() || remote.addr.is_unspecified() {
        return None;
    }
    let reset = Reset::answering(seg)?;
    let mut header = Header::EMPTY;
    reset.begin(&mut header, None);
    header.end(local, remote, 0, Checksum::new());
    Some(header)
}

/// A reset waiting to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reset {
    /// `<SEQ=n><CTL=RST>`, or `<SEQ=0><ACK=n><CTL=RST,ACK>` if it `is_ack`.
    number: SeqNum,
    is_ack: bool,
    /// RFC 7323 §5.2: the TSval of the segment that it answers, if that had one.
    echo: u32,
    has_echo: bool,
}

impl Reset {
    /// In answer to a segment; never to another reset.
    pub(crate) fn answering(seg: &Segment<'_>) -> Option<Reset> {
        if seg.flags.rst() {
            return None;
        }
        // "If the incoming segment has an ACK field, the reset takes its
        // sequence number from the ACK field of the segment."
        let is_ack = !seg.flags.ack();
        let theirs = seg.options.timestamps;
        Some(Reset {
            number: if is_ack { seg.end() } else { seg.ack },
            is_ack,
            echo: theirs.map_or(0, |theirs| theirs.value),
            has_echo: theirs.is_some(),
        })
    }

    /// Of our own accord (RFC 9293 §3.10.5): `<SEQ=SND.NXT><CTL=RST>`.
    pub(crate) fn aborting(nxt: SeqNum) -> Reset {
        Reset {
            number: nxt,
            is_ack: false,
            echo: 0,
            has_echo: false,
        }
    }

    /// All of the header but its end. RFC 7323 §5.2: an abort's reset carries
    /// timestamps as well, `ours` if there are any; §3.2: without ACK it echoes
    /// nothing.
    pub(crate) fn begin(self, header: &mut Header, ours: Option<TimestampOption>) {
        let (flags, seq, ack) = if self.is_ack {
            (Flags::RST.with(Flags::ACK), SeqNum(0), self.number)
        } else {
            (Flags::RST, self.number, SeqNum(0))
        };
        header.begin(flags, 0, seq, ack);
        let timestamps = if self.has_echo {
            Some(TimestampOption {
                value: 0,
                echo: self.echo,
            })
        } else {
            ours
        };
        header.put_timestamps(timestamps, false);
    }
}
