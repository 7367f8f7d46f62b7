//! Fragment forwarding: datagrams pass through a relay fragment by fragment (RFC 8930), without a
//! reassembly buffer.
//!
//! The record of a datagram in transit is a *virtual reassembly buffer* (§6): its previous hop and
//! tag, and its next hop and tag. Its fragments wait for the radio in a ring, already as the frames
//! that will be sent. The caller's memory limits the records and the ring. Without a free record or
//! ring entry, a datagram is reassembled, or dropped with a reason.
//!
//! A neighbour sends the fragments of a datagram in order, and repeats a frame until it is
//! acknowledged. A fragment out of order therefore shows that another one is lost. The datagram is
//! then dropped: its destination could not complete it.

mod buffers;
mod rewrite;
mod ring;

use redpoll_base::{Duration, Instant, Memory, Wake};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::recoverable::Fragment as Recoverable;
use redpoll_wire::sixlowpan::{Contexts, fragment};

use crate::duplicates::Key;
use crate::feature::forwarding::{ForwardingRoom, room};
use crate::feature::{FORWARDS, Forwards};
use crate::receive::{FirstFragment, Piece};
use crate::recovery::Path;
use crate::{DropReason, Note};
pub(crate) use buffers::Place;
use buffers::{FRAME, PassingDatagram};
pub use buffers::{ForwardingMemory, FragmentBuffer, VirtualBuffer};
use rewrite::rewrite;

/// Bytes by which the first relay enlarges the first fragment, because it cannot elide the source's
/// address and the hop limit. The sender leaves room for them (RFC 8930 §5 does not say how).
pub(crate) const SLACK: usize = 3;

/// Acceptable lateness of the timer that gives up stalled datagrams.
const TIMEOUT_SLACK: Duration = Duration::from_millis(500);

/// The next hop of a datagram's fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Onward {
    /// The neighbour that receives the fragments.
    pub next_hop: Address,
    /// Source address of the frames.
    pub link_src: Address,
    /// Largest payload of a frame to `next_hop`, in bytes.
    pub capacity: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Front {
    pub(crate) next_hop: Address,
    pub(crate) len: usize,
    pub(crate) place: Place,
    pub(crate) repeats: Option<Note>,
}

/// Fragment forwarding, if there is memory for it. Empty without the feature `forwarding`.
pub(crate) struct Passing<M: Memory>(ForwardingRoom<Forwarding<M>>);

impl<M: Memory> Passing<M> {
    pub(crate) fn none() -> Self {
        Passing(room(None))
    }

    #[allow(dead_code, reason = "called only with the feature `forwarding`")]
    pub(crate) fn begin(&mut self, memory: ForwardingMemory<M>, timeout: Duration) {
        self.0 = room(FORWARDS.map(|by| Forwarding::new(by, memory, timeout)));
    }

    pub(crate) fn get(&self) -> Option<&Forwarding<M>> {
        self.0.as_ref()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut Forwarding<M>> {
        self.0.as_mut()
    }
}

pub(crate) struct Forwarding<M: Memory> {
    pub(crate) by: Forwards,
    datagrams: M::Table<VirtualBuffer>,
    fragments: M::Table<FragmentBuffer>,
    head: u8,
    len: u8,
    timeout: Duration,
}

impl<M: Memory> Forwarding<M> {
    fn new(by: Forwards, memory: ForwardingMemory<M>, timeout: Duration) -> Self {
        let ForwardingMemory {
            mut datagrams,
            mut fragments,
        } = memory;
        datagrams.as_mut().fill(VirtualBuffer::EMPTY);
        fragments.as_mut().fill(FragmentBuffer::EMPTY);
        Forwarding {
            by,
            datagrams,
            fragments,
            head: 0,
            len: 0,
            timeout,
        }
    }

    pub(crate) fn in_use(&self) -> (usize, usize) {
        (self.entries().count(), self.len.into())
    }

    // --- received fragments ---

    pub(crate) fn knows(&self, key: &Key) -> bool {
        self.datagrams.as_ref().iter().any(|entry| is(entry, key))
    }

    /// Accepts a first fragment: stores the entry of its datagram and queues the fragment, or does
    /// neither, as RFC 8930 §5 requires. Returns `false` if it did neither.
    pub(crate) fn on_first(
        &mut self,
        now: Instant,
        key: Key,
        first: &FirstFragment<'_>,
        onward: Onward,
        contexts: &Contexts,
        tag: u16,
    ) -> bool {
        let FirstFragment { piece, header } = *first;
        if !self.has_room() {
            return false;
        }
        let free = |entry: &&mut VirtualBuffer| entry.0.is_none();
        let Some(free) = self.datagrams.as_mut().iter_mut().find(free) else {
            return false;
        };
        let mut fragment = FragmentBuffer {
            next_hop: onward.next_hop,
            tag,
            ..FragmentBuffer::EMPTY
        };
        let (first, end) = (
            fragment::Header::First {
                size: key.size,
                tag,
            },
            onward.capacity,
        );
        let room = fragment.bytes.get_mut(..end.min(FRAME));
        let mut out = Cursor::new(room.unwrap_or_default());
        let written = first.emit(&mut out).ok();
        let written = written.and_then(|()| rewrite(&mut out, header, piece, onward, contexts));
        if written.is_none() {
            return false;
        }
        fragment.len = out.position() as u8;
        *free = VirtualBuffer(Some(PassingDatagram {
            key,
            next_hop: onward.next_hop,
            capacity: end.min(FRAME) as u8,
            tag,
            covered: piece.len() as u16,
            progress: now,
        }));
        self.push(fragment);
        true
    }

    /// Accepts a fragment after the first one (RFC 8930 §5) of a [known](Self::knows) datagram. It
    /// must begin where the previous one ended. Returns whether the fragment is the last.
    ///
    /// # Errors
    /// The fragment is dropped, and its datagram too, unless the reason is `DropReason::Duplicate`.
    pub(crate) fn on_later(
        &mut self,
        now: Instant,
        key: &Key,
        piece: &Piece<'_>,
    ) -> Result<bool, DropReason> {
        let has_room = self.has_room();
        let mut entries = self.datagrams.as_mut().iter_mut();
        let Some(slot) = entries.find(|entry| is(entry, key)) else {
            return Err(DropReason::Orphan);
        };
        let Some(entry) = &mut slot.0 else {
            return Err(DropReason::Orphan);
        };
        match piece.offset.cmp(&usize::from(entry.covered)) {
            core::cmp::Ordering::Less => return Err(DropReason::Duplicate),
            core::cmp::Ordering::Equal => {}
            core::cmp::Ordering::Greater => return Err(DropReason::FragmentGap),
        }
        if !has_room {
            return Err(DropReason::NoFragmentBuffer);
        }
        let mut fragment = FragmentBuffer {
            next_hop: entry.next_hop,
            tag: entry.tag,
            place: Place::Middle,
            ..FragmentBuffer::EMPTY
        };
        let next = fragment::Header::Next {
            size: key.size,
            tag: entry.tag,
            offset: entry.covered,
        };
        let room = fragment.bytes.get_mut(..usize::from(entry.capacity));
        let mut out = Cursor::new(room.unwrap_or_default());
        let written = next.emit(&mut out).and_then(|()| out.put(piece.body));
        written.map_err(|_| DropReason::TooLarge)?;
        fragment.len = out.position() as u8;
        entry.covered = entry.covered.saturating_add(piece.len() as u16);
        entry.progress = now;
        let is_last = entry.covered >= key.size;
        if is_last {
            fragment.place = Place::Last;
            *slot = VirtualBuffer::EMPTY;
        }
        self.push(fragment);
        Ok(is_last)
    }

    pub(crate) fn give_up(&mut self, key: &Key) {
        let mut entries = self.datagrams.as_mut().iter_mut();
        let entry = entries.find(|entry| is(entry, key));
        if let Some(PassingDatagram { tag, .. }) = entry.and_then(|entry| entry.0.take()) {
            self.kill(tag, false);
        }
    }

    pub(crate) fn expired(&self, now: Instant) -> Option<Key> {
        let due = |entry: &&PassingDatagram| now >= entry.progress + self.timeout;
        self.entries().find(due).map(|entry| entry.key)
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        let progress = self.entries().map(|entry| entry.progress).min()?;
        Some(Wake::within(progress + self.timeout, TIMEOUT_SLACK))
    }

    // --- received recoverable fragments ---

    /// Queues the first fragment of a recoverable datagram for the next hop of `path`.
    ///
    /// # Errors
    /// No fragment buffer is free, or the fragment does not fit into a frame. It is dropped.
    pub(crate) fn on_recoverable_first(
        &mut self,
        path: &mut Path,
        header: &Recoverable,
        ip: &Ipv6Header,
        piece: &Piece<'_>,
        contexts: &Contexts,
    ) -> Result<(), DropReason> {
        let mut fragment = self.recoverable(path, Place::First)?;
        let room = fragment.bytes.get_mut(..path.onward.capacity.min(FRAME));
        let mut out = Cursor::new(room.unwrap_or_default());
        let written = out.put_zeros(Recoverable::LEN).ok();
        let written = written.and_then(|()| rewrite(&mut out, ip, piece, path.onward, contexts));
        written.ok_or(DropReason::TooLarge)?;
        let size = out.position().saturating_sub(Recoverable::LEN) as u16;
        let header = path
            .first(&self.marked(header), size)
            .ok_or(DropReason::Malformed)?;
        let mut front = Cursor::new(out.written_mut());
        header.emit(&mut front).map_err(|_| DropReason::TooLarge)?;
        fragment.len = out.position() as u8;
        self.push(fragment);
        Ok(())
    }

    /// Queues a later fragment, or an abort of the datagram, for the next hop of `path`.
    ///
    /// # Errors
    /// As for [`Self::on_recoverable_first`].
    pub(crate) fn on_recoverable_later(
        &mut self,
        path: &Path,
        header: &Recoverable,
        body: &[u8],
    ) -> Result<(), DropReason> {
        let mut fragment = self.recoverable(path, Place::Middle)?;
        let header = path
            .later(&self.marked(header))
            .ok_or(DropReason::Malformed)?;
        let room = fragment.bytes.get_mut(..path.onward.capacity.min(FRAME));
        let mut out = Cursor::new(room.unwrap_or_default());
        let written = header.emit(&mut out).and_then(|()| out.put(body));
        written.map_err(|_| DropReason::TooLarge)?;
        fragment.len = out.position() as u8;
        self.push(fragment);
        Ok(())
    }

    fn recoverable(&self, path: &Path, place: Place) -> Result<FragmentBuffer, DropReason> {
        if !self.has_room() {
            return Err(DropReason::NoFragmentBuffer);
        }
        Ok(FragmentBuffer {
            next_hop: path.next_hop,
            tag: path.tag_out.into(),
            place,
            recoverable: true,
            ..FragmentBuffer::EMPTY
        })
    }

    /// Sets the ECN bit if this node is congested (RFC 8931 §4.3: "MAY"). The RFC does not define
    /// congestion; here, it means that three quarters of the fragment buffers are in use.
    fn marked(&self, header: &Recoverable) -> Recoverable {
        let spare = self.ring().saturating_sub(self.len);
        Recoverable {
            ecn: header.ecn || spare <= self.ring() / 4,
            ..*header
        }
    }

    /// Discards the waiting fragments of an aborted recoverable datagram.
    pub(crate) fn kill_recoverable(&mut self, tag: u8) {
        self.kill(tag.into(), true);
    }

    // --- sent fragments ---

    /// Returns the [`Place`] of the next fragment to send; `None` if no fragment waits.
    pub(crate) fn waiting(&self) -> Option<Place> {
        let mut waiting = (0..self.len).filter_map(|i| self.get(i));
        let next = waiting.find(|fragment| !fragment.dead);
        next.map(|fragment| fragment.place)
    }

    pub(crate) fn datagrams(&self) -> usize {
        let waiting = (0..self.len).filter_map(|i| self.get(i));
        let ends = waiting.filter(|fragment| !fragment.dead && fragment.place == Place::Last);
        self.entries().count().saturating_add(ends.count())
    }

    pub(crate) fn front(&mut self) -> Option<Front> {
        while self.get(0)?.dead {
            self.pop();
        }
        let fragment = self.get(0)?;
        Some(Front {
            next_hop: fragment.next_hop,
            len: fragment.len.into(),
            place: fragment.place,
            repeats: fragment.repeats,
        })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        let bytes = |fragment: &'_ FragmentBuffer| usize::from(fragment.len);
        let fragment = self.get(0);
        fragment
            .and_then(|fragment| fragment.bytes.get(..bytes(fragment)))
            .unwrap_or_default()
    }

    /// Returns whether the first two fragments in the ring belong to the same datagram.
    pub(crate) fn goes_on(&self) -> bool {
        let (front, next) = (self.get(0), self.get(1));
        front
            .zip(next)
            .is_some_and(|(front, next)| !next.dead && next.name() == front.name())
    }

    /// Stores `note` with the fragment at the front, which stays there to be retransmitted.
    pub(crate) fn suspend(&mut self, note: Note) {
        if let Some(fragment) = self.fragments.as_mut().get_mut(usize::from(self.head)) {
            fragment.repeats = Some(note);
        }
    }

    /// Removes the fragment at the front, which was delivered or dropped. If a fragment that is not
    /// recoverable was dropped, `drop_rest` also drops the rest of its datagram. Returns this
    /// datagram if it is still arriving.
    pub(crate) fn finish(&mut self, delivered: bool, drop_rest: bool) -> Option<Key> {
        let (tag, recoverable) = self.get(0)?.name();
        self.pop();
        if delivered || !drop_rest || recoverable {
            return None;
        }
        self.kill(tag, false);
        let of_tag = |entry: &PassingDatagram| entry.tag == tag;
        let mut entries = self.datagrams.as_mut().iter_mut();
        let entry = entries.find(|entry| entry.0.as_ref().is_some_and(of_tag))?;
        entry.0.take().map(|entry| entry.key)
    }

    fn entries(&self) -> impl Iterator<Item = &PassingDatagram> {
        self.datagrams.as_ref().iter().filter_map(|e| e.0.as_ref())
    }
}

fn is(entry: &VirtualBuffer, key: &Key) -> bool {
    entry.0.as_ref().is_some_and(|entry| entry.key == *key)
}
