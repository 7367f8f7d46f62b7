//! Groups transfers into datagrams: the frames of one IPv6 packet over one link.

use std::collections::HashMap;

use redpoll_dissect::ip::Packet;
use redpoll_dissect::layer::Layer;
use redpoll_dissect::lowpan::expand::{Whole, expand};
use redpoll_dissect::lowpan::{Body, Lowpan};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::Contexts;

use super::air::{Kind, Place, Transfer};
use super::parts::{Label, Part, Progress};
use super::segment::{self, Segment};

/// Maximum number of datagrams reassembled at a time. Another datagram replaces the oldest.
const ASSEMBLED_MAX: usize = 4_096;
/// Maximum number of sleepy nodes whose last data request is remembered.
const ASKERS_MAX: usize = 4_096;
/// Time after which a receiver discards an incomplete datagram (RFC 4944 §5.3).
const REASSEMBLY_US: u64 = 60_000_000;

/// A fragment that waited for the next data request of its sleepy receiver.
#[derive(Clone, Copy, Debug)]
pub struct Polled {
    pub request: Place,
    pub fragment: Place,
    /// Microseconds from the end of the previous fragment to the beginning of this one.
    pub wait_us: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The first frame of the datagram was sent; the others follow.
    Begun,
    Arrived,
    /// The sender gave up the datagram at one of its frames: the frame's last attempt and number of
    /// attempts. `hidden` is a hidden node's frame, if at least half of the attempts collided with
    /// one.
    Lost {
        last: Place,
        attempts: u32,
        hidden: Option<Place>,
        /// Whether the loss is certain, because the last attempt was not acknowledged. If it was
        /// acknowledged, the sender did not receive the acknowledgement, or sends no more fragments
        /// because of an earlier loss.
        is_sure: bool,
    },
    /// The outcome is not judged: the datagram arrived earlier, or was in transit at the end of the
    /// capture. Its attempts are counted.
    Tried,
}

/// A TCP segment over one link, with the observed facts about its transmission.
#[derive(Clone, Debug)]
pub struct Datagram {
    pub src: Address,
    pub dst: Address,
    pub segment: Segment,
    pub first: Place,
    /// Time at which the last attempt of the last frame ended, in microseconds.
    pub end_us: u64,
    pub attempts: u32,
    /// Number of attempts that were acknowledged, whether or not the sender received the
    /// acknowledgement.
    pub acked: u32,
    pub fate: Fate,
    pub polled: Vec<Polled>,
    /// Attempts that collided with a hidden node's frame: one of the two senders did not hear the
    /// other.
    pub collided: u64,
    /// Attempts that failed while the receiver or one of its neighbours was on the air.
    pub disturbed: u32,
}

type Link = (Address, Address, Label);

struct Assembly {
    datagram: Option<Datagram>,
    first: Place,
    progress: Progress,
    attempts: u32,
    acked: u32,
    frame: Frame,
    /// Whether the sender has begun another fragmented datagram for the same receiver since the
    /// latest frame of this datagram.
    is_passed: bool,
    polled: Vec<Polled>,
    collided: u64,
    disturbed: u32,
}

/// All attempts at a frame, including those after an acknowledgement that the sender missed.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    last: Place,
    attempts: u32,
    /// Whether the latest transfer of the frame, with all its attempts, was not acknowledged.
    is_lost: bool,
    collided: usize,
    /// The last frame with which an attempt collided.
    hidden: Option<Place>,
}

impl Frame {
    fn take(&mut self, transfer: &Transfer) {
        if !transfer.repeats {
            *self = Frame::default();
        }
        self.last = transfer.last;
        self.attempts += transfer.attempts;
        self.is_lost = !transfer.arrived;
        self.collided += transfer.collided.len();
        self.hidden = transfer.collided.last().copied().or(self.hidden);
    }

    /// Returns the outcome of a datagram whose sender gives up at this frame.
    fn given_up(&self) -> Fate {
        let mostly = 2 * self.collided >= self.attempts as usize;
        Fate::Lost {
            last: self.last,
            attempts: self.attempts,
            hidden: self.hidden.filter(|_| mostly),
            is_sure: self.is_lost,
        }
    }
}

pub struct Datagrams {
    contexts: Contexts,
    assembled: HashMap<Link, Assembly>,
    /// The last fragmented datagram that arrived on each link; its sender may retransmit frames.
    complete: HashMap<(Address, Address), (Label, Datagram)>,
    asked: HashMap<Address, Place>,
    /// Number of datagrams that are not TCP, or cannot be parsed.
    pub others: u64,
}

impl Datagrams {
    pub fn set_contexts(&mut self, contexts: Contexts) {
        self.contexts = contexts;
    }

    pub fn new(contexts: Contexts) -> Datagrams {
        Datagrams {
            contexts,
            assembled: HashMap::new(),
            complete: HashMap::new(),
            asked: HashMap::new(),
            others: 0,
        }
    }

    /// Handles a transfer; puts datagrams of TCP that have begun or ended into `done`.
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
        let lowpan = Lowpan::parse(&transfer.payload, transfer.src, transfer.dst);
        match Part::of(&lowpan) {
            Some(part) => self.fragment(transfer, &lowpan, &part, done),
            None => self.whole(transfer, &lowpan, done),
        }
    }

    /// Handles the end of the capture. An incomplete datagram counts as lost only if its last frame
    /// was not acknowledged.
    pub fn finish(&mut self, done: &mut Vec<Datagram>) {
        let mut left: Vec<Assembly> = self.assembled.drain().map(|(_, it)| it).collect();
        left.sort_by_key(|it| it.first.start_us);
        done.extend(left.into_iter().filter_map(Assembly::left));
    }

    fn whole(&mut self, transfer: &Transfer, lowpan: &Lowpan<'_>, done: &mut Vec<Datagram>) {
        let Some(segment) = self.segment(lowpan, Whole::Here) else {
            self.others += u64::from(!transfer.repeats);
            return;
        };
        let begun = Datagram::begun(transfer, segment);
        if !transfer.repeats {
            self.give_up(transfer, None, Some(&begun.segment), done);
            done.push(begun.clone());
        }
        let mut frame = Frame::default();
        frame.take(transfer);
        let fate = match (transfer.repeats, transfer.arrived) {
            (true, _) => Fate::Tried,
            (false, true) => Fate::Arrived,
            (false, false) => frame.given_up(),
        };
        done.push(begun.tried(transfer, fate));
    }

    fn segment(&self, lowpan: &Lowpan<'_>, whole: Whole) -> Option<Segment> {
        let head = match lowpan.body {
            Body::Whole(bytes) => bytes,
            Body::First { rest, .. } | Body::Recoverable(_, rest) => rest,
            _ => return None,
        };
        let ends = (lowpan.src, lowpan.dst);
        let mut layer = Layer::default();
        let expanded = expand(head, ends, &self.contexts, whole, &mut layer).ok()?;
        let packet = Packet::parse(expanded.packet, whole != Whole::Here, &expanded.unknown);
        let mesh = lowpan.mesh.map(|mesh| mesh.hops_left);
        segment::parse(&packet, expanded.tunnel_hop_limit.or(mesh))
    }

    fn fragment(
        &mut self,
        transfer: &Transfer,
        lowpan: &Lowpan<'_>,
        part: &Part,
        done: &mut Vec<Datagram>,
    ) {
        let key = (transfer.src, transfer.dst, part.label);
        if let Some(whole) = part.head
            && !transfer.repeats
        {
            let segment = self.segment(lowpan, whole);
            if !self.goes_on(key, segment.as_ref()) {
                self.give_up(transfer, Some(key), segment.as_ref(), done);
                self.make_room(done);
                self.others += u64::from(segment.is_none());
                let datagram = segment.map(|it| Datagram::begun(transfer, it));
                done.extend(datagram.clone());
                self.assembled
                    .insert(key, Assembly::new(transfer, datagram));
            }
        }
        let Some(assembly) = self.assembled.get_mut(&key) else {
            // The sender repeats a datagram that has arrived, because it received no
            // acknowledgement.
            if let Some((label, datagram)) = self.complete.get(&(key.0, key.1))
                && (transfer.repeats || matches!(label, Label::Recoverable(..)))
                && *label == part.label
            {
                done.push(datagram.clone().tried(transfer, Fate::Tried));
            }
            return;
        };
        let asked = self.asked.get(&transfer.dst).copied();
        assembly.take(transfer, part, asked);
        if assembly.progress.is_whole {
            let assembly = self.assembled.remove(&key);
            let arrived = assembly.and_then(|it| it.told(Fate::Arrived));
            let link = (key.0, key.1);
            if let Some(datagram) = &arrived
                && (self.complete.len() < ASSEMBLED_MAX || self.complete.contains_key(&link))
            {
                let mut datagram = datagram.clone();
                datagram.polled.clear();
                self.complete.insert(link, (key.2, datagram));
            }
            done.extend(arrived);
        }
    }

    /// Returns whether a first fragment belongs to an earlier datagram. RFC 8931 senders retransmit
    /// single fragments, even after the datagram was lost at a later hop.
    fn goes_on(&self, key: Link, segment: Option<&Segment>) -> bool {
        let is_complete = |(label, datagram): &(Label, Datagram)| {
            *label == key.2 && segment.is_some_and(|it| datagram.segment.repeats(it))
        };
        matches!(key.2, Label::Recoverable(..))
            && (self
                .assembled
                .get(&key)
                .is_some_and(|it| it.carries(segment))
                || self.complete.get(&(key.0, key.1)).is_some_and(is_complete))
    }

    /// Handles the beginning of a datagram. Reports each earlier datagram on this link that its
    /// sender has given up. The earlier datagram has the same label or segment as the new one,
    /// exceeds the reassembly time, or has a lost frame and the new one is fragmented. If the same
    /// segment was lost on another link, reports that loss, too.
    fn give_up(
        &mut self,
        transfer: &Transfer,
        key: Option<Link>,
        segment: Option<&Segment>,
        done: &mut Vec<Datagram>,
    ) {
        let now_us = transfer.first.start_us;
        let mut over = Vec::new();
        for (link, it) in &mut self.assembled {
            let is_same = it.carries(segment);
            let is_over = if (link.0, link.1) == (transfer.src, transfer.dst) {
                let is_old = now_us.saturating_sub(it.frame.last.end_us) > REASSEMBLY_US;
                let is_lost = it.frame.is_lost && key.is_some();
                is_lost || is_same || is_old || key == Some(*link)
            } else {
                is_same && (it.frame.is_lost || it.is_passed)
            };
            if is_over {
                over.push((it.first.start_us, *link));
            } else if (link.0, link.1) == (transfer.src, transfer.dst) {
                it.is_passed |= key.is_some();
            }
        }
        over.sort_by_key(|(start_us, _)| *start_us);
        for (_, link) in over {
            let assembly = self.assembled.remove(&link);
            done.extend(assembly.and_then(Assembly::given_up));
        }
    }

    fn make_room(&mut self, done: &mut Vec<Datagram>) {
        if self.assembled.len() < ASSEMBLED_MAX {
            return;
        }
        let oldest = self
            .assembled
            .iter()
            .min_by_key(|(_, it)| it.frame.last.end_us);
        if let Some(key) = oldest.map(|(key, _)| *key) {
            let assembly = self.assembled.remove(&key);
            done.extend(assembly.and_then(Assembly::left));
        }
    }
}

impl Datagram {
    /// Returns the datagram whose first frame is `transfer`, without counting its attempts.
    fn begun(transfer: &Transfer, segment: Segment) -> Datagram {
        Datagram {
            src: transfer.src,
            dst: transfer.dst,
            segment,
            first: transfer.first,
            end_us: transfer.last.end_us,
            attempts: 0,
            acked: 0,
            fate: Fate::Begun,
            polled: Vec::new(),
            collided: 0,
            disturbed: 0,
        }
    }

    fn tried(self, transfer: &Transfer, fate: Fate) -> Datagram {
        Datagram {
            end_us: transfer.last.end_us,
            attempts: transfer.attempts,
            acked: u32::from(transfer.arrived),
            collided: transfer.collided.len() as u64,
            disturbed: transfer.disturbed,
            fate,
            ..self
        }
    }
}

impl Assembly {
    fn new(transfer: &Transfer, datagram: Option<Datagram>) -> Assembly {
        Assembly {
            datagram,
            first: transfer.first,
            progress: Progress::default(),
            attempts: 0,
            acked: 0,
            frame: Frame::default(),
            is_passed: false,
            polled: Vec::new(),
            collided: 0,
            disturbed: 0,
        }
    }

    fn carries(&self, segment: Option<&Segment>) -> bool {
        let datagram = self.datagram.as_ref();
        segment
            .zip(datagram)
            .is_some_and(|(segment, datagram)| datagram.segment.repeats(segment))
    }

    fn take(&mut self, transfer: &Transfer, part: &Part, asked: Option<Place>) {
        let last_end_us = self.frame.last.end_us;
        if part.head.is_none()
            && !transfer.repeats
            && let Some(request) = asked
            && request.start_us > last_end_us
            && request.start_us < transfer.first.start_us
        {
            self.polled.push(Polled {
                request,
                fragment: transfer.first,
                wait_us: transfer.first.start_us - last_end_us,
            });
        }
        self.frame.take(transfer);
        self.is_passed = false;
        self.attempts += transfer.attempts;
        self.acked += u32::from(transfer.arrived);
        self.collided += transfer.collided.len() as u64;
        self.disturbed += transfer.disturbed;
        if transfer.arrived {
            self.progress.take(part);
        }
    }

    fn told(self, fate: Fate) -> Option<Datagram> {
        let mut datagram = self.datagram?;
        datagram.end_us = self.frame.last.end_us;
        datagram.attempts = self.attempts;
        datagram.acked = self.acked;
        datagram.fate = fate;
        datagram.polled = self.polled;
        datagram.collided = self.collided;
        datagram.disturbed = self.disturbed;
        Some(datagram)
    }

    fn given_up(self) -> Option<Datagram> {
        let fate = self.frame.given_up();
        self.told(fate)
    }

    /// Ends a datagram that is still incomplete at the end of the capture, or when its table entry
    /// is needed for another one.
    fn left(self) -> Option<Datagram> {
        let fate = if self.frame.is_lost {
            self.frame.given_up()
        } else {
            Fate::Tried
        };
        self.told(fate)
    }
}
