//! The datagram being sent (in service) and its frames, each as full as possible.
//!
//! RFC 4944 §5.3: offsets count eight-byte units of the *uncompressed* datagram, so every fragment
//! but the last covers a multiple of eight bytes of it. The first fragment carries the compressed
//! headers and fills the rest of its frame. A segment with the MSS of
//! [`mss_for_frames`](crate::mss_for_frames) also fills the last frame.

use redpoll_base::Memory;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::sixlowpan::{Contexts, fragment, iphc};
use redpoll_wire::udp::UdpHeader;
use redpoll_wire::{Cursor, NoRoom};

use crate::feature::{Forwards, Recovers};
use crate::pool::Pool;
use crate::sizing::whole_units;
use crate::waiting::{Indirect, SendProgress};
use crate::{LossReason, Note, PayloadSource, PulledDatagram, SlotId};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    Slot(SlotId),
    Forwarded(Forwards),
    /// A segment in the transport's buffer; the headers are in the [`PulledDatagram`].
    Pulled,
    Recoverable(u8, Recovers),
    Acknowledgment(Recovers),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct InService {
    pub(crate) origin: Origin,
    pub(crate) next_hop: Address,
    /// Bytes of the uncompressed datagram.
    size: usize,
    /// Number of the datagram's bytes in the frames built so far.
    covered: usize,
    /// `datagram_tag` of all fragments (RFC 4944 §5.3).
    tag: u16,
    pub(crate) indirect: bool,
    /// The note that `step_back` received, if the next frame was built before.
    pub(crate) repeats: Option<Note>,
    /// The value of `covered` before the last frame was built.
    before: u16,
    pub(crate) broken: bool,
    /// Frames built so far; 255 may mean more.
    pub(crate) frames: u8,
}

impl InService {
    pub(crate) fn new(origin: Origin, next_hop: Address, size: usize) -> Self {
        InService {
            origin,
            next_hop,
            size,
            covered: 0,
            tag: 0,
            indirect: false,
            repeats: None,
            before: 0,
            broken: false,
            frames: 0,
        }
    }

    pub(crate) fn resume(id: SlotId, size: usize, from: &Indirect) -> Self {
        InService {
            covered: usize::from(from.covered),
            tag: from.tag,
            indirect: true,
            repeats: from.repeats,
            ..InService::new(Origin::Slot(id), from.next_hop, size)
        }
    }

    /// Makes the next call of [`Self::build`] repeat the last frame; `note` is stored in `repeats`.
    pub(crate) fn step_back(&mut self, note: Note) {
        self.covered = usize::from(self.before);
        self.repeats = Some(note);
    }

    pub(crate) fn progress(&self) -> SendProgress {
        SendProgress {
            covered: u16::try_from(self.covered).unwrap_or(u16::MAX),
            tag: self.tag,
            repeats: self.repeats,
        }
    }

    pub(crate) fn is_covered(&self) -> bool {
        self.covered >= self.size
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn is_recoverable(&self, index: u8) -> bool {
        matches!(self.origin, Origin::Recoverable(it, _) if it == index)
    }

    pub(crate) fn on_built(&mut self, is_last: bool) {
        self.before = u16::try_from(self.covered).unwrap_or(u16::MAX);
        self.covered = if is_last { self.size } else { 0 };
        self.frames = self.frames.saturating_add(1);
    }

    /// Builds the next frame into `out`, whose length is the limit, and returns the frame's length.
    /// A datagram that needs fragments takes its tag from `next_tag`.
    pub(crate) fn build<M: Memory, S: PayloadSource>(
        &mut self,
        context: &Sending<'_, M>,
        source: &mut S,
        next_tag: &mut u16,
        out: &mut [u8],
    ) -> Result<usize, LossReason> {
        let mut out = Cursor::new(out);
        self.before = u16::try_from(self.covered).unwrap_or(u16::MAX);
        let covered = if let Origin::Forwarded(_) | Origin::Acknowledgment(_) = self.origin {
            out.put(context.forwarded)?;
            self.size
        } else if self.covered == 0 {
            self.build_first(context, source, next_tag, &mut out)?
        } else {
            self.build_later(context, source, &mut out)?
        };
        self.covered = covered;
        self.frames = self.frames.saturating_add(1);
        Ok(out.position())
    }

    fn build_first<M: Memory, S: PayloadSource>(
        &mut self,
        context: &Sending<'_, M>,
        source: &mut S,
        next_tag: &mut u16,
        out: &mut Cursor<'_>,
    ) -> Result<usize, LossReason> {
        let mut scratch = [0; iphc::MAX_COMPRESSED_LEN];
        let mut headers = Cursor::new(&mut scratch);
        let uncompressed_len = context.compress(self, &mut headers)?;
        let rest = self.size.saturating_sub(uncompressed_len);

        // RFC 4944 §5.3: a datagram that fits into one frame is not fragmented.
        if headers.position().saturating_add(rest) <= out.remaining() {
            out.put(headers.written())?;
            context.copy(self, source, uncompressed_len, rest, out)?;
            return Ok(self.size);
        }
        let size = u16::try_from(self.size).map_err(|_| LossReason::Unsendable)?;
        if size > fragment::MAX_DATAGRAM {
            return Err(LossReason::Unsendable);
        }
        // A repeated first fragment keeps its tag.
        let fresh = self.repeats.is_none();
        let tag = if fresh { *next_tag } else { self.tag };
        fragment::Header::First { size, tag }.emit(out)?;
        // RFC 6282 §2: compressed headers must fit into the first fragment.
        out.put(headers.written())?;
        let room = out.remaining().saturating_sub(context.slack);
        let len = whole_units(room.min(rest));
        context.copy(self, source, uncompressed_len, len, out)?;
        // RFC 4944 §5.3: "The sender SHALL increment datagram_tag for
        // successive, fragmented datagrams", wrapping.
        if fresh {
            *next_tag = tag.wrapping_add(1);
        }
        self.tag = tag;
        Ok(uncompressed_len.saturating_add(len))
    }

    fn build_later<M: Memory, S: PayloadSource>(
        &self,
        context: &Sending<'_, M>,
        source: &mut S,
        out: &mut Cursor<'_>,
    ) -> Result<usize, LossReason> {
        let number = |n: usize| u16::try_from(n).map_err(|_| LossReason::Unsendable);
        fragment::Header::Next {
            size: number(self.size)?,
            tag: self.tag,
            offset: number(self.covered)?,
        }
        .emit(out)?;
        let rest = self.size.saturating_sub(self.covered);
        let room = out.remaining();
        let len = if rest <= room {
            rest
        } else {
            whole_units(room)
        };
        if len == 0 {
            return Err(LossReason::Unsendable);
        }
        context.copy(self, source, self.covered, len, out)?;
        Ok(self.covered.saturating_add(len))
    }
}

pub(crate) struct Sending<'a, M: Memory> {
    pub(crate) pool: &'a Pool<M>,
    pub(crate) pulled: Option<&'a PulledDatagram>,
    pub(crate) contexts: &'a Contexts,
    pub(crate) link_src: Address,
    pub(crate) forwarded: &'a [u8],
    /// Bytes that a first fragment leaves free, because its headers grow at a relay.
    pub(crate) slack: usize,
}

impl<M: Memory> Sending<'_, M> {
    /// Writes the compressed headers. Returns their length in bytes before compression.
    pub(crate) fn compress(
        &self,
        datagram: &InService,
        out: &mut Cursor<'_>,
    ) -> Result<usize, LossReason> {
        let (ip, transport) = match datagram.origin {
            Origin::Slot(id) => {
                let (ip, payload) =
                    Ipv6Header::parse(self.pool.packet(id)).map_err(|_| LossReason::Malformed)?;
                // The payload length is elided and restored from the size of the datagram, so the
                // two must agree.
                if payload.len().saturating_add(Ipv6Header::LEN) != datagram.size {
                    return Err(LossReason::Malformed);
                }
                (ip, payload)
            }
            Origin::Forwarded(_) | Origin::Recoverable(..) | Origin::Acknowledgment(_) => {
                return Err(LossReason::Malformed);
            }
            Origin::Pulled => {
                let pulled = self.pulled.ok_or(LossReason::Gone)?;
                (pulled.ip_header(), pulled.transport_header())
            }
        };
        // The compressor leaves a UDP header with a wrong length field uncompressed.
        let udp = match (ip.next_header, transport.first_chunk::<8>()) {
            (next_header::UDP, Some(bytes)) => Some(udp_header(bytes)),
            _ => None,
        };
        let upper = match &udp {
            Some(udp) => iphc::Upper::Udp(udp),
            None => iphc::Upper::Other,
        };
        let done = iphc::compress(
            &ip,
            upper,
            self.link_src,
            datagram.next_hop,
            self.contexts,
            out,
        )?;
        Ok(done.uncompressed_len)
    }

    pub(crate) fn copy<S: PayloadSource>(
        &self,
        datagram: &InService,
        source: &mut S,
        from: usize,
        len: usize,
        out: &mut Cursor<'_>,
    ) -> Result<(), LossReason> {
        match datagram.origin {
            Origin::Slot(id) => {
                let bytes = self.pool.packet(id).get(from..from.saturating_add(len));
                out.put(bytes.ok_or(LossReason::Malformed)?)?;
            }
            Origin::Forwarded(_) | Origin::Recoverable(..) | Origin::Acknowledgment(_) => {
                return Err(LossReason::Malformed);
            }
            Origin::Pulled => {
                let pulled = self.pulled.ok_or(LossReason::Gone)?;
                // The IPv6 header is always compressed, so it is not in the bytes to copy.
                let from = from.saturating_sub(Ipv6Header::LEN);
                let header = pulled.transport_header();
                let head = header.get(from..).unwrap_or_default();
                let head = head.get(..len).unwrap_or(head);
                out.put(head)?;
                let room = out.reserve(len.saturating_sub(head.len()))?;
                if !room.is_empty() {
                    let offset = from.saturating_sub(header.len());
                    let wanted = room.len();
                    let read = source.read(pulled.handle, offset, room);
                    if read != Ok(wanted) {
                        return Err(LossReason::Gone);
                    }
                }
            }
        }
        Ok(())
    }
}

impl PulledDatagram {
    pub(crate) fn len(&self) -> usize {
        Ipv6Header::LEN.saturating_add(usize::from(self.ip_header().payload_len))
    }

    pub(crate) fn transport_header(&self) -> &[u8] {
        let len = usize::from(self.header_len);
        self.header.get(..len).unwrap_or(&self.header)
    }

    fn ip_header(&self) -> Ipv6Header {
        let header_len = self.transport_header().len() as u16;
        Ipv6Header {
            payload_len: self.payload_len.saturating_add(header_len),
            ..self.ip
        }
    }
}

/// Parses a UDP header without its payload, which may be in later fragments.
pub(crate) fn udp_header(bytes: &[u8; 8]) -> UdpHeader {
    let [a, b, c, d, e, f, g, h] = *bytes;
    UdpHeader {
        src_port: u16::from_be_bytes([a, b]),
        dst_port: u16::from_be_bytes([c, d]),
        length: u16::from_be_bytes([e, f]),
        checksum: u16::from_be_bytes([g, h]),
    }
}

impl From<NoRoom> for LossReason {
    fn from(_: NoRoom) -> Self {
        LossReason::Unsendable
    }
}
