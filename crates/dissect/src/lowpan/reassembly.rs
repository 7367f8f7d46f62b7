//! Datagrams of several fragments (RFC 4944 §5.3, RFC 8930, RFC 8931).

use std::collections::HashMap;

use redpoll_wire::ieee802154::Address;

use super::{Body, Lowpan};

/// Maximum number of datagrams in reassembly. A further one replaces the longest inactive one.
const DATAGRAMS_MAX: usize = 256;
/// Time after which a receiver discards an incomplete datagram (RFC 4944 §5.3).
const TIMEOUT_US: u64 = 60_000_000;

/// Label of a datagram. RFC 4944 and RFC 8931 have separate tag spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Label {
    Fragments { tag: u16, size: u16 },
    Recoverable(u8),
}

/// Transmitter, originator of a mesh frame, receiver or final destination, and label.
type Key = (Address, Address, Address, Label);

/// A datagram that arrived in several fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Complete {
    /// Fragments of RFC 4944, whose offsets count uncompressed bytes. `first` is the first
    /// fragment as received, with compressed headers.
    Expanded {
        first: Vec<u8>,
        /// The uncompressed datagram, with zeros for the bytes that the first fragment represents.
        bytes: Vec<u8>,
    },
    Compressed(Vec<u8>),
}

#[derive(Debug, Default)]
struct Assembly {
    bytes: Vec<u8>,
    has: Vec<bool>,
    first: Option<Vec<u8>>,
    size: Option<usize>,
    last_us: u64,
    order: u64,
}

/// All datagrams in reassembly.
#[derive(Debug, Default)]
pub struct Reassembly {
    open: HashMap<Key, Assembly>,
    order: u64,
    /// Datagrams that were discarded before they were complete.
    pub discarded: u64,
}

impl Reassembly {
    /// Adds the fragment in a frame. `covered` is the number of uncompressed bytes that a first
    /// fragment represents. Returns the datagram when it is complete.
    pub fn input(
        &mut self,
        lowpan: &Lowpan<'_>,
        link: (Address, Address),
        at_us: u64,
        covered: usize,
    ) -> Option<Complete> {
        let (label, offset, size, bytes) = match &lowpan.body {
            Body::First { tag, size, rest } => {
                let (tag, size) = (*tag, *size);
                (Label::Fragments { tag, size }, None, Some(size), *rest)
            }
            Body::Next {
                tag,
                size,
                offset,
                rest,
            } => {
                let (tag, size) = (*tag, *size);
                (
                    Label::Fragments { tag, size },
                    Some(*offset),
                    Some(size),
                    *rest,
                )
            }
            Body::Recoverable(header, rest) => {
                let label = Label::Recoverable(header.tag);
                if header.is_abort() {
                    self.open.remove(&key(lowpan, link, label));
                    return None;
                }
                match header.sequence {
                    0 => (label, None, Some(header.offset), *rest),
                    _ => (label, Some(header.offset), None, *rest),
                }
            }
            _ => return None,
        };
        let key = key(lowpan, link, label);
        self.make_room(key, at_us);
        self.order += 1;
        let order = self.order;
        let assembly = self.open.entry(key).or_insert_with(|| Assembly {
            order,
            ..Assembly::default()
        });
        assembly.last_us = at_us;
        assembly.size = size.map(usize::from).or(assembly.size);
        let is_compressed = matches!(label, Label::Recoverable(_));
        match offset {
            None => {
                assembly.first = Some(bytes.to_vec());
                match is_compressed {
                    true => assembly.take(0, bytes),
                    false => assembly.take(0, &vec![0; covered.min(usize::from(u16::MAX))]),
                }
            }
            Some(offset) => assembly.take(offset.into(), bytes),
        }
        if !assembly.is_complete() {
            return None;
        }
        let mut assembly = self.open.remove(&key)?;
        assembly.bytes.truncate(assembly.size?);
        Some(match is_compressed {
            true => Complete::Compressed(assembly.bytes),
            false => Complete::Expanded {
                first: assembly.first?,
                bytes: assembly.bytes,
            },
        })
    }

    fn make_room(&mut self, key: Key, now_us: u64) {
        let is_old = |it: &Assembly| now_us.saturating_sub(it.last_us) > TIMEOUT_US;
        if self.open.get(&key).is_some_and(is_old) {
            self.open.remove(&key);
            self.discarded += 1;
        }
        if self.open.len() < DATAGRAMS_MAX || self.open.contains_key(&key) {
            return;
        }
        let oldest = self
            .open
            .iter()
            .min_by_key(|(_, it)| (it.last_us, it.order));
        if let Some(oldest) = oldest.map(|(key, _)| *key) {
            self.open.remove(&oldest);
            self.discarded += 1;
        }
    }
}

fn key(lowpan: &Lowpan<'_>, link: (Address, Address), label: Label) -> Key {
    match lowpan.mesh {
        // The transmitter's address separates the copies of a fragment on the hops of a mesh.
        Some(mesh) => (link.0, mesh.originator, mesh.last, label),
        None => (link.0, Address::Absent, link.1, label),
    }
}

impl Assembly {
    fn take(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
            self.has.resize(end, false);
        }
        if let Some(place) = self.bytes.get_mut(at..end) {
            place.copy_from_slice(bytes);
        }
        if let Some(place) = self.has.get_mut(at..end) {
            place.fill(true);
        }
    }

    fn is_complete(&self) -> bool {
        let whole = self.size.and_then(|size| self.has.get(..size));
        self.first.is_some() && whole.is_some_and(|whole| whole.iter().all(|has| *has))
    }
}
