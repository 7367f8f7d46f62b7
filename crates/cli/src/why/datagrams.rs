//! From transfers to datagrams: the frames of one IPv6 packet over one link.

use std::collections::HashMap;

use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::{Contexts, Dispatch, dispatch, fragment, iphc, recoverable};

use super::air::{Kind, Place, Transfer};
use super::segment::{self, Segment};

/// Datagrams that are put together at the same time; with one more, the oldest goes.
const ASSEMBLED_MAX: usize = 4_096;
/// Sleepy nodes whose last request is remembered.
const ASKERS_MAX: usize = 4_096;
/// Room for what a frame's compressed headers expand to.
const HEADERS_MAX: usize = 256;

/// A fragment that waited until the sleepy node that it is for had asked once more.
#[derive(Clone, Copy, Debug)]
pub struct Polled {
    /// The request.
    pub request: Place,
    /// The fragment.
    pub fragment: Place,
    /// From the end of the fragment before it to its beginning.
    pub wait_us: u64,
}

/// What became of a datagram on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrived,
    /// One of its frames was not acknowledged: its last attempt, how many there were, and the
    /// frame of a hidden node with which one collided, if half or more did so.
    Lost {
        last: Place,
        attempts: u32,
        hidden: Option<Place>,
    },
}

/// A TCP segment over one link.
#[derive(Clone, Debug)]
pub struct Datagram {
    pub src: Address,
    pub dst: Address,
    pub segment: Segment,
    /// Its first frame.
    pub first: Place,
    /// When the last attempt of its last frame was over.
    pub end_us: u64,
    pub frames: u32,
    pub attempts: u32,
    pub fate: Fate,
    pub polled: Vec<Polled>,
    /// Attempts that collided with a frame of somebody who had not heard the sender, or whom
    /// the sender had not heard.
    pub collided: u64,
}

/// Labels of datagrams: RFC 4944's and RFC 8931's tags are counted apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Label {
    Fragments(u16),
    Recoverable(u8),
}

struct Assembly {
    datagram: Option<Datagram>,
    first: Place,
    progress: Progress,
    last_end_us: u64,
    frames: u32,
    attempts: u32,
    lost: Option<Fate>,
    polled: Vec<Polled>,
    collided: u64,
}

/// One frame's part of a datagram.
struct Part<'a> {
    label: Label,
    /// What the first one begins with, and bytes of the whole.
    head: Option<(&'a [u8], usize)>,
    place: PartPlace,
}

/// Where a part belongs.
enum PartPlace {
    /// Of RFC 4944's, which go in order.
    InOrder { is_last: bool },
    /// Of RFC 8931's: its number, and bytes of the compressed datagram.
    Numbered { sequence: u8, len: usize },
}

/// How much of a datagram has arrived.
#[derive(Default)]
struct Progress {
    /// Bytes of the whole, if parts are numbered.
    size: usize,
    got: usize,
    numbers: u32,
    is_whole: bool,
}

impl Progress {
    fn take(&mut self, part: &Part<'_>) {
        match part.place {
            PartPlace::InOrder { is_last } => self.is_whole |= is_last,
            PartPlace::Numbered { sequence, len } => {
                if let Some((_, size)) = part.head {
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

/// The datagrams on all links.
pub struct Datagrams {
    contexts: Contexts,
    assembled: HashMap<(Address, Address, Label), Assembly>,
    asked: HashMap<Address, Place>,
    /// Datagrams that are not TCP, or cannot be read.
    pub others: u64,
}

impl Datagrams {
    pub fn new(contexts: Contexts) -> Datagrams {
        Datagrams {
            contexts,
            assembled: HashMap::new(),
            asked: HashMap::new(),
            others: 0,
        }
    }

    /// Takes a transfer; datagrams of TCP that are over go to `done`.
    pub fn input(&mut self, transfer: &Transfer, done: &mut Vec<Datagram>) {
        if transfer.kind == Kind::Request {
            if self.asked.len() < ASKERS_MAX || self.asked.contains_key(&transfer.src) {
                self.asked.insert(transfer.src, transfer.last);
            }
            return;
        }
        if transfer.payload.is_empty() {
            return;
        }
        match part(&transfer.payload) {
            Some(part) => self.fragment(transfer, &part, done),
            None => self.whole(transfer, done),
        }
    }

    /// At the capture's end: what was lost is told, what was under way is not.
    pub fn finish(&mut self, done: &mut Vec<Datagram>) {
        let mut left: Vec<Assembly> = self.assembled.drain().map(|(_, it)| it).collect();
        left.sort_by_key(|it| it.first.start_us);
        done.extend(left.into_iter().filter_map(Assembly::lost));
    }

    fn whole(&mut self, transfer: &Transfer, done: &mut Vec<Datagram>) {
        if transfer.repeats {
            return;
        }
        let Some(segment) = self.segment(transfer, &transfer.payload, None) else {
            self.others += 1;
            return;
        };
        let fate = match transfer.arrived {
            true => Fate::Arrived,
            false => lost(transfer),
        };
        done.push(Datagram {
            src: transfer.src,
            dst: transfer.dst,
            segment,
            first: transfer.first,
            end_us: transfer.last.end_us,
            frames: u32::from(transfer.arrived),
            attempts: transfer.attempts,
            fate,
            polled: Vec::new(),
            collided: transfer.collided.len() as u64,
        });
    }

    fn segment(&self, transfer: &Transfer, head: &[u8], size: Option<usize>) -> Option<Segment> {
        let mut headers = [0; HEADERS_MAX];
        let (src, dst) = (transfer.src, transfer.dst);
        match dispatch(head) {
            Dispatch::Iphc => {
                let expanded =
                    iphc::decompress(head, src, dst, &self.contexts, size, &mut headers).ok()?;
                let mut packet = headers.get(..expanded.written)?.to_vec();
                packet.extend_from_slice(head.get(expanded.consumed..)?);
                segment::parse(&packet)
            }
            Dispatch::Ipv6Uncompressed => segment::parse(head.get(1..)?),
            _ => None,
        }
    }

    fn fragment(&mut self, transfer: &Transfer, part: &Part<'_>, done: &mut Vec<Datagram>) {
        let key = (transfer.src, transfer.dst, part.label);
        if let Some((head, size)) = part.head
            && !transfer.repeats
        {
            // Whatever of this link was lost is not taken up any more.
            let over = |(link, it): (&(Address, Address, Label), &Assembly)| {
                let is_same = (link.0, link.1) == (key.0, key.1);
                (is_same && (it.lost.is_some() || *link == key)).then_some(*link)
            };
            let over: Vec<_> = self.assembled.iter().filter_map(over).collect();
            for link in over {
                let assembly = self.assembled.remove(&link);
                done.extend(assembly.and_then(Assembly::lost));
            }
            self.make_room(done);
            let segment = self.segment(transfer, head, Some(size));
            self.others += u64::from(segment.is_none());
            self.assembled.insert(key, Assembly::new(transfer, segment));
        }
        let Some(assembly) = self.assembled.get_mut(&key) else {
            return;
        };
        let asked = self.asked.get(&transfer.dst).copied();
        assembly.take(transfer, part, asked);
        if assembly.progress.is_whole {
            let assembly = self.assembled.remove(&key);
            done.extend(assembly.and_then(Assembly::arrived));
        }
    }

    fn make_room(&mut self, done: &mut Vec<Datagram>) {
        if self.assembled.len() < ASSEMBLED_MAX {
            return;
        }
        let oldest = self.assembled.iter().min_by_key(|(_, it)| it.last_end_us);
        if let Some(key) = oldest.map(|(key, _)| *key) {
            let assembly = self.assembled.remove(&key);
            done.extend(assembly.and_then(Assembly::lost));
        }
    }
}

/// What became of the datagram of a frame that nobody acknowledged.
fn lost(transfer: &Transfer) -> Fate {
    let mostly = 2 * transfer.collided.len() >= transfer.attempts as usize;
    Fate::Lost {
        last: transfer.last,
        attempts: transfer.attempts,
        hidden: transfer.collided.last().copied().filter(|_| mostly),
    }
}

/// What a frame is of a fragmented datagram.
fn part(payload: &[u8]) -> Option<Part<'_>> {
    match dispatch(payload) {
        Dispatch::First | Dispatch::Next => {
            let (header, rest) = fragment::Header::parse(payload).ok()?;
            let size = usize::from(header.size());
            let is_first = matches!(header, fragment::Header::First { .. });
            let end = usize::from(header.offset()) + rest.len();
            Some(Part {
                label: Label::Fragments(header.tag()),
                head: is_first.then_some((rest, size)),
                place: PartPlace::InOrder {
                    is_last: !is_first && end >= size,
                },
            })
        }
        Dispatch::Recoverable => {
            let (header, rest) = recoverable::Fragment::parse(payload).ok()?;
            let is_first = header.sequence == 0 && !header.is_abort();
            Some(Part {
                label: Label::Recoverable(header.tag),
                head: is_first.then_some((rest, usize::from(header.offset))),
                place: PartPlace::Numbered {
                    sequence: header.sequence,
                    len: usize::from(header.size),
                },
            })
        }
        _ => None,
    }
}

impl Assembly {
    fn new(transfer: &Transfer, segment: Option<Segment>) -> Assembly {
        let datagram = segment.map(|segment| Datagram {
            src: transfer.src,
            dst: transfer.dst,
            segment,
            first: transfer.first,
            end_us: 0,
            frames: 0,
            attempts: 0,
            fate: Fate::Arrived,
            polled: Vec::new(),
            collided: 0,
        });
        Assembly {
            datagram,
            first: transfer.first,
            progress: Progress::default(),
            last_end_us: transfer.first.start_us,
            frames: 0,
            attempts: 0,
            lost: None,
            polled: Vec::new(),
            collided: 0,
        }
    }

    fn take(&mut self, transfer: &Transfer, part: &Part<'_>, asked: Option<Place>) {
        if part.head.is_none()
            && !transfer.repeats
            && let Some(request) = asked
            && request.start_us > self.last_end_us
            && request.start_us < transfer.first.start_us
        {
            self.polled.push(Polled {
                request,
                fragment: transfer.first,
                wait_us: transfer.first.start_us - self.last_end_us,
            });
        }
        self.last_end_us = transfer.last.end_us;
        self.attempts += transfer.attempts;
        self.collided += transfer.collided.len() as u64;
        if transfer.arrived {
            self.frames += u32::from(!transfer.repeats);
            self.progress.take(part);
            self.lost = None;
        } else {
            self.lost = Some(lost(transfer));
        }
    }

    fn told(self, fate: Fate) -> Option<Datagram> {
        let mut datagram = self.datagram?;
        datagram.end_us = self.last_end_us;
        datagram.frames = self.frames;
        datagram.attempts = self.attempts;
        datagram.fate = fate;
        datagram.polled = self.polled;
        datagram.collided = self.collided;
        Some(datagram)
    }

    fn arrived(self) -> Option<Datagram> {
        self.told(Fate::Arrived)
    }

    fn lost(self) -> Option<Datagram> {
        let fate = self.lost?;
        self.told(fate)
    }
}
