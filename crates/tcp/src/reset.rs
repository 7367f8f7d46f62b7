//! Making resets (RFC 9293 §3.5.2).

use redpoll_base::checksum::Checksum;

use crate::{Fields, Flags, Header, IpMeta, Request, Segment, SeqNum, TimestampOption};

/// The reset that answers a segment for which there is no connection, or
/// `None` if nothing is to be answered (RFC 9293 §3.10.7.1).
///
/// It goes from `meta.dst` to `meta.src`.
pub fn reset_reply(meta: &IpMeta, seg: &Segment<'_>) -> Option<Header> {
    reset_between(&Request::new(meta, seg), seg)
}

/// Likewise, for a segment of which a request was made.
#[inline(never)]
pub(crate) fn reset_between(ends: &Request, seg: &Segment<'_>) -> Option<Header> {
    let Request { local, remote, .. } = ends;
    // Nothing that came from, or went to, a group is answered (RFC 9293
    // §3.9.2.3, MUST-57).
    if remote.addr.is_multicast() || local.addr.is_multicast() || remote.addr.is_unspecified() {
        return None;
    }
    let fields = Reset::answering(seg)?.fields();
    Some(Header::encode_over(
        &fields,
        local,
        remote,
        0,
        Checksum::new(),
    ))
}

/// A reset waiting to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reset {
    number: Number,
    /// RFC 7323 §5.2: the TSval of the segment that it answers.
    echo: Option<u32>,
}

/// Where in the sequence space a reset stands.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// `<SEQ=n><CTL=RST>`
    Seq(SeqNum),
    /// `<SEQ=0><ACK=n><CTL=RST,ACK>`
    Ack(SeqNum),
}

impl Reset {
    /// In answer to a segment; never to another reset.
    pub(crate) fn answering(seg: &Segment<'_>) -> Option<Reset> {
        if seg.flags.rst() {
            return None;
        }
        // "If the incoming segment has an ACK field, the reset takes its
        // sequence number from the ACK field of the segment."
        let number = if seg.flags.ack() {
            Number::Seq(seg.ack)
        } else {
            Number::Ack(seg.end())
        };
        let echo = seg.options.timestamps.map(|theirs| theirs.value);
        Some(Reset { number, echo })
    }

    /// Of our own accord (RFC 9293 §3.10.5): `<SEQ=SND.NXT><CTL=RST>`.
    pub(crate) fn aborting(nxt: SeqNum) -> Reset {
        Reset {
            number: Number::Seq(nxt),
            echo: None,
        }
    }

    pub(crate) fn fields(self) -> Fields {
        let (seq, ack, flags) = match self.number {
            Number::Seq(seq) => (seq, SeqNum(0), Flags::RST),
            Number::Ack(ack) => (SeqNum(0), ack, Flags::RST.with(Flags::ACK)),
        };
        let mut fields = Fields {
            seq,
            ack,
            flags,
            ..Fields::default()
        };
        fields.options.timestamps = self.echo.map(|echo| TimestampOption { value: 0, echo });
        fields
    }
}
