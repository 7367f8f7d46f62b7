//! Parses the payload of a frame into a packet or a fragment of one.

use redpoll_base::copy;
use redpoll_wire::Error;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::{Contexts, Dispatch, dispatch, fragment, iphc};

use crate::DropReason;
use crate::duplicates::Key;

/// Buffer for the expanded headers of one frame: 40 bytes of IPv6, and padded extension headers.
pub(crate) type HeaderScratch = [u8; 192];

/// Consecutive bytes of an uncompressed datagram: expanded headers, and the rest of the frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// Offset in the datagram in bytes, a multiple of eight.
    pub(crate) offset: usize,
    pub(crate) head: &'a [u8],
    pub(crate) body: &'a [u8],
}

/// The first fragment of a datagram, and the IPv6 header that it contains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstFragment<'a> {
    pub(crate) piece: &'a Piece<'a>,
    pub(crate) header: &'a Ipv6Header,
}

impl Piece<'_> {
    pub(crate) fn len(&self) -> usize {
        self.head.len().saturating_add(self.body.len())
    }

    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        let parts = bytes.split_at_checked(self.head.len());
        parts.is_some_and(|(head, body)| head == self.head && body == self.body)
    }

    /// Writes the piece to the start of `out`, which has room for it.
    pub(crate) fn write(&self, out: &mut [u8]) {
        if let Some((head, body)) = out.split_at_mut_checked(self.head.len()) {
            copy(self.head, head);
            copy(self.body, body);
        }
    }
}

pub(crate) enum Arrival<'a> {
    Whole(Piece<'a>),
    Fragment(Key, Piece<'a>),
}

/// Parses a frame's payload. Expands headers into `scratch`.
pub(crate) fn parse<'a>(
    payload: &'a [u8],
    src: Address,
    dst: Address,
    contexts: &Contexts,
    scratch: &'a mut HeaderScratch,
) -> Result<Arrival<'a>, DropReason> {
    match dispatch(payload) {
        Dispatch::Iphc | Dispatch::Ipv6Uncompressed => {
            beginning(payload, src, dst, contexts, None, scratch).map(Arrival::Whole)
        }
        Dispatch::First | Dispatch::Next => {
            let (header, rest) = fragment::Header::parse(payload).map_err(reason)?;
            let key = Key {
                src,
                dst,
                size: header.size(),
                tag: header.tag(),
            };
            let piece = match header {
                fragment::Header::First { size, .. } => {
                    beginning(rest, src, dst, contexts, Some(usize::from(size)), scratch)?
                }
                // Only a FRAG1 can have offset 0: a FRAGN has no dispatch for the headers.
                fragment::Header::Next { offset: 0, .. } => return Err(DropReason::Malformed),
                fragment::Header::Next { offset, .. } => Piece {
                    offset: usize::from(offset),
                    head: &[],
                    body: rest,
                },
            };
            Ok(Arrival::Fragment(key, piece))
        }
        // The caller has handled these dispatches, or they are unsupported.
        Dispatch::Recoverable
        | Dispatch::RecoverableAck
        | Dispatch::Mesh
        | Dispatch::Bc0
        | Dispatch::NotALowpan
        | Dispatch::Unknown(_) => Err(DropReason::Unsupported),
    }
}

/// Parses the beginning of a datagram of `size` bytes, or a whole packet if `size` is `None`. The
/// expanded IPv6 header gets the payload length that follows from the size.
fn beginning<'a>(
    bytes: &'a [u8],
    src: Address,
    dst: Address,
    contexts: &Contexts,
    size: Option<usize>,
    scratch: &'a mut HeaderScratch,
) -> Result<Piece<'a>, DropReason> {
    let (head, body): (&[u8], &[u8]) = match (dispatch(bytes), bytes) {
        (Dispatch::Iphc, _) => {
            let done =
                iphc::decompress(bytes, src, dst, contexts, size, scratch).map_err(reason)?;
            let head = scratch.get(..done.written).ok_or(DropReason::Malformed)?;
            (
                head,
                bytes.get(done.consumed..).ok_or(DropReason::Malformed)?,
            )
        }
        (Dispatch::Ipv6Uncompressed, [_, packet @ ..]) => (&[], uncompressed(packet, size)?),
        (_, []) => return Err(DropReason::Malformed),
        _ => return Err(DropReason::Unsupported),
    };
    Ok(Piece {
        offset: 0,
        head,
        body,
    })
}

/// Parses the beginning of a datagram of `size` bytes, headers compressed (RFC 8931 §5.1).
pub(crate) fn beginning_of<'a>(
    bytes: &'a [u8],
    src: Address,
    dst: Address,
    contexts: &Contexts,
    size: usize,
    scratch: &'a mut HeaderScratch,
) -> Result<Piece<'a>, DropReason> {
    if dispatch(bytes) != Dispatch::Iphc {
        let packet = size.checked_sub(1).ok_or(DropReason::Malformed)?;
        return beginning(bytes, src, dst, contexts, Some(packet), scratch);
    }
    let done = iphc::decompress_of(bytes, src, dst, contexts, size, scratch).map_err(reason)?;
    Ok(Piece {
        offset: 0,
        head: scratch.get(..done.written).ok_or(DropReason::Malformed)?,
        body: bytes.get(done.consumed..).ok_or(DropReason::Malformed)?,
    })
}

/// Checks the length field of an uncompressed packet: against the `size` of the datagram or, if the
/// packet is not fragmented (`None`), against the received bytes. Returns `packet` without the
/// bytes beyond this length.
fn uncompressed(packet: &[u8], size: Option<usize>) -> Result<&[u8], DropReason> {
    let (header, payload) = Ipv6Header::parse_partial(packet).map_err(reason)?;
    let announced = Ipv6Header::LEN.saturating_add(usize::from(header.payload_len));
    match size {
        Some(size) if size != announced => Err(DropReason::Malformed),
        Some(_) => Ok(packet),
        None if payload.len() < usize::from(header.payload_len) => Err(DropReason::Malformed),
        None => packet.get(..announced).ok_or(DropReason::Malformed),
    }
}

pub(crate) fn reason(error: Error) -> DropReason {
    match error {
        Error::Unsupported => DropReason::Unsupported,
        _ => DropReason::Malformed,
    }
}
