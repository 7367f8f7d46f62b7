//! Resets (RFC 9293 §3.5.2).

use redpoll_base::checksum::Checksum;

use crate::{Flags, Header, IpMeta, Request, Segment, SeqNum, TimestampOption};

/// Returns the reset, from `meta.dst` to `meta.src`, that answers a segment without a connection.
/// `None` if the segment calls for no answer (RFC 9293 §3.10.7.1).
pub fn reset_reply(meta: &IpMeta, seg: &Segment<'_>) -> Option<Header> {
    reset_between(&Request::new(meta, seg), seg)
}

/// Returns the reset that answers `seg`, a segment between the two ends of `ends`; `None` if `seg`
/// must not be answered.
#[inline(never)] // size
pub(crate) fn reset_between(ends: &Request, seg: &Segment<'_>) -> Option<Header> {
    let Request { local, remote, .. } = ends;
    // RFC 9293 §3.9.2.3, MUST-57: segments from or to a group are not answered.
    if remote.addr.is_multicast() || local.addr.is_multicast() || remote.addr.is_unspecified() {
        return None;
    }
    let reset = Reset::answering(seg)?;
    let mut header = Header::EMPTY;
    reset.begin(&mut header, None);
    header.end(local, remote, 0, Checksum::new());
    Some(header)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reset {
    /// The n of `<SEQ=n><CTL=RST>`, or of `<SEQ=0><ACK=n><CTL=RST,ACK>` if `is_ack`.
    number: SeqNum,
    is_ack: bool,
    /// RFC 7323 §5.2: TSval of the answered segment, if it had one.
    echo: u32,
    has_echo: bool,
}

impl Reset {
    /// Creates the reset that answers `seg`, unless `seg` is a reset.
    pub(crate) fn answering(seg: &Segment<'_>) -> Option<Reset> {
        if seg.flags.rst() {
            return None;
        }
        // RFC 9293 §3.5.2: "If the incoming segment has an ACK field, the reset takes its sequence
        // number from the ACK field of the segment."
        let is_ack = !seg.flags.ack();
        let theirs = seg.options.timestamps;
        Some(Reset {
            number: if is_ack { seg.end() } else { seg.ack },
            is_ack,
            echo: theirs.map_or(0, |theirs| theirs.value),
            has_echo: theirs.is_some(),
        })
    }

    /// Creates the reset of an abort (RFC 9293 §3.10.5): `<SEQ=SND.NXT><CTL=RST>`.
    pub(crate) fn aborting(nxt: SeqNum) -> Reset {
        Reset {
            number: nxt,
            is_ack: false,
            echo: 0,
            has_echo: false,
        }
    }

    /// Writes the header except for its end. RFC 7323 §5.2: the reset of an abort carries
    /// timestamps (`ours`) if they are in use; §3.2: without ACK it echoes nothing.
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
