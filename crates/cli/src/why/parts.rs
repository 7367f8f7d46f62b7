//! Parts of datagrams: fragments by RFC 4944 and by RFC 8931.

use redpoll_dissect::lowpan::expand::Whole;
use redpoll_dissect::lowpan::{Body, Lowpan};
use redpoll_wire::ieee802154::Address;

/// Identifies a datagram on a link. RFC 4944 and RFC 8931 have separate tag spaces, and each pair
/// of mesh header ends has its own tags.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    Fragments(u16, Ends),
    Recoverable(u8, Ends),
}

/// Originator and final destination of a mesh header, if there is one.
type Ends = Option<(Address, Address)>;

pub struct Part {
    pub label: Label,
    /// Form and length of the whole datagram, if this part is the first one.
    pub head: Option<Whole>,
    place: PartPlace,
}

enum PartPlace {
    /// Fragments of RFC 4944, which are sent in order.
    InOrder { is_last: bool },
    /// Fragments of RFC 8931: number, and length in bytes within the compressed datagram.
    Numbered { sequence: u8, len: usize },
}

impl Part {
    /// Returns the part in a fragment; `None` if the frame is not a fragment.
    pub fn of(lowpan: &Lowpan<'_>) -> Option<Part> {
        let ends = lowpan.mesh.map(|mesh| (mesh.originator, mesh.last));
        match &lowpan.body {
            Body::First { tag, size, .. } => Some(Part {
                label: Label::Fragments(*tag, ends),
                head: Some(Whole::Expanded((*size).into())),
                place: PartPlace::InOrder { is_last: false },
            }),
            Body::Next {
                tag,
                size,
                offset,
                rest,
            } => Some(Part {
                label: Label::Fragments(*tag, ends),
                head: None,
                place: PartPlace::InOrder {
                    is_last: usize::from(*offset) + rest.len() >= usize::from(*size),
                },
            }),
            Body::Recoverable(header, _) => {
                let is_first = header.sequence == 0 && !header.is_abort();
                Some(Part {
                    label: Label::Recoverable(header.tag, ends),
                    head: is_first.then_some(Whole::Compressed(header.offset.into())),
                    place: PartPlace::Numbered {
                        sequence: header.sequence,
                        len: usize::from(header.size),
                    },
                })
            }
            _ => None,
        }
    }
}

#[derive(Default)]
pub struct Progress {
    size: usize,
    got: usize,
    numbers: u32,
    pub is_whole: bool,
}

impl Progress {
    pub fn take(&mut self, part: &Part) {
        match part.place {
            PartPlace::InOrder { is_last } => self.is_whole |= is_last,
            PartPlace::Numbered { sequence, len } => {
                if let Some(Whole::Compressed(size)) = part.head {
                    self.size = size;
                }
                let bit = 1 << (sequence & 31);
                if self.numbers & bit == 0 {
                    self.numbers |= bit;
                    self.got += len;
                }
                self.is_whole = self.size > 0 && self.got >= self.size;
            }
        }
    }
}
