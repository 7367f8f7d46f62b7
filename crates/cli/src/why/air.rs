//! Groups frames into transfers: the attempts to send a frame, and whether it was acknowledged.

use std::collections::{HashMap, HashSet, VecDeque};

use redpoll_dissect::Keys;
use redpoll_dissect::mac::{self, Mac};
use redpoll_wire::ieee802154::{Address, DATA_REQUEST, FCS_LEN, timing};

/// Maximum number of senders with a transfer in progress. Another sender closes the transfer of the
/// sender that was silent for longest.
const SENDERS_MAX: usize = 4_096;
const NEIGHBOURS_MAX: usize = 65_536;
/// Number of latest frames that are compared with a new frame for overlap.
const RECENT_MAX: usize = 64;
/// Age in microseconds from which an equal frame of the same sender is a new frame, not a retry.
const SAME_FRAME_US: u64 = 30_000_000;
/// Longest time from the end of a frame to its acknowledgement: macAckWaitDuration, doubled to
/// allow for the sniffer's clock error.
const ACK_WITHIN_US: u64 = 2 * timing::ACK_WAIT_US;
/// If a frame begins more than this time after the start of another signal, the frame's sender
/// assessed the channel during the signal and did not hear the signal. The time is two assessments
/// and two turnarounds.
const HEARD_AFTER_US: u64 = 2 * (timing::CCA_US + timing::TURNAROUND_US);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the frame in the capture, counted from 1 as Wireshark does.
    pub number: u64,
    /// Time at which the first bit was on the air, in microseconds.
    pub start_us: u64,
    /// Time at which the last bit was on the air, in microseconds.
    pub end_us: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Data,
    /// A data request of a sleepy node to its parent (IEEE 802.15.4-2015 §7.5.5).
    Request,
}

#[derive(Clone, Debug)]
pub struct Transfer {
    pub src: Address,
    pub dst: Address,
    pub kind: Kind,
    pub first: Place,
    pub last: Place,
    pub attempts: u32,
    /// Whether the frame was acknowledged, or requested no acknowledgement.
    pub arrived: bool,
    /// Whether the frame arrived before, and is retransmitted for lack of an acknowledgement.
    pub repeats: bool,
    /// Bytes after the MAC header; empty if the frame is secured and was not decrypted.
    pub payload: Vec<u8>,
    /// Frames of the receiver's neighbours with which attempts collided. One of the two colliding
    /// senders had not heard the other.
    pub collided: Vec<Place>,
    /// Attempts that failed while the receiver or one of its neighbours was on the air.
    pub disturbed: u32,
}

struct Open {
    transfer: Transfer,
    dsn: Option<u8>,
    len: usize,
    asked: bool,
    /// A frame, with its sender, that overlapped the last attempt although one of the two senders
    /// had assessed the channel during the frame of the other.
    over: Option<(Place, Address)>,
    /// Whether the receiver or one of its neighbours was on the air during the last attempt.
    is_disturbed: bool,
}

/// Sequence number, length and receiver of a frame.
type Identity = (Option<u8>, usize, Address);

#[derive(Clone, Copy)]
struct Recent {
    place: Place,
    src: Address,
    dst: Address,
}

#[derive(Default)]
pub struct Air {
    open: HashMap<Address, Open>,
    recent: VecDeque<Recent>,
    /// The last acknowledged frame of each sender: its identity, and the time at which it began.
    last: HashMap<Address, (Identity, u64)>,
    neighbours: HashSet<(Address, Address)>,
    keys: Keys,
    /// Number of frames whose payload is secured and was not decrypted.
    pub secured: u64,
    pub opened: u64,
    pub acks: u64,
    pub malformed: u64,
}

impl Air {
    pub fn with(keys: Keys) -> Air {
        Air {
            keys,
            ..Air::default()
        }
    }

    pub fn set_keys(&mut self, keys: Keys) {
        self.keys = keys;
    }

    /// Handles the next frame, without its check sequence; puts completed transfers into `done`.
    pub fn input(&mut self, number: u64, start_us: u64, mpdu: &[u8], done: &mut Vec<Transfer>) {
        let air_us = timing::air_time_us(mpdu.len() + FCS_LEN);
        let place = Place {
            number,
            start_us,
            end_us: start_us + air_us,
        };
        let Ok(mut header) = Mac::parse(mpdu) else {
            self.malformed += 1;
            return;
        };
        let is_request = header.security || header.payload.first() == Some(&DATA_REQUEST);
        let kind = match header.kind {
            mac::Kind::Ack => return self.acknowledgment(&header, place, done),
            mac::Kind::Command if is_request => Kind::Request,
            mac::Kind::Beacon | mac::Kind::Command => return,
            mac::Kind::Data | mac::Kind::Multipurpose => Kind::Data,
            mac::Kind::Other(_) => {
                self.malformed += 1;
                return;
            }
        };
        let plain = self.plain(&header, mpdu);
        let is_readable = header.is_readable() || plain.is_some();
        if let Some(plain) = &plain {
            header.opened(plain);
        }
        let readable = if is_readable {
            header.payload.to_vec()
        } else {
            Vec::new()
        };
        let sent = Recent {
            place,
            src: header.src,
            dst: header.dst,
        };
        let (over, is_disturbed) = self.overlap(sent, true);
        if let Some(open) = self.open.get_mut(&header.src)
            && open.is_repeated_by(&header, mpdu.len(), place)
        {
            open.failed(&self.neighbours);
            open.transfer.last = place;
            open.transfer.attempts += 1;
            open.over = over;
            open.is_disturbed = is_disturbed;
            return;
        }
        self.close(header.src, false, done);
        let same = (header.dsn, mpdu.len(), header.dst);
        let last = self.last.get(&header.src);
        let repeats = last.is_some_and(|(last, at_us)| {
            *last == same && start_us.saturating_sub(*at_us) < SAME_FRAME_US
        });
        self.make_room(done);
        let open = Open {
            transfer: Transfer {
                src: header.src,
                dst: header.dst,
                kind,
                first: place,
                last: place,
                attempts: 1,
                arrived: false,
                repeats,
                payload: readable,
                collided: Vec::new(),
                disturbed: 0,
            },
            dsn: header.dsn,
            len: mpdu.len(),
            asked: header.ack_request,
            over,
            is_disturbed,
        };
        self.open.insert(header.src, open);
        if !header.ack_request {
            self.close(header.src, true, done);
        }
    }

    /// If the table is full, closes the transfer of the sender that was silent for longest.
    fn make_room(&mut self, done: &mut Vec<Transfer>) {
        if self.open.len() < SENDERS_MAX {
            return;
        }
        let transfers = self.open.values().map(|it| &it.transfer);
        let oldest = transfers.min_by_key(|it| it.last.start_us);
        if let Some(oldest) = oldest.map(|it| it.src) {
            self.close(oldest, false, done);
        }
    }

    /// Returns the decrypted payload of a frame, if a key opens it.
    fn plain(&mut self, header: &Mac<'_>, mpdu: &[u8]) -> Option<Vec<u8>> {
        if header.is_readable() {
            return None;
        }
        let plain = self.keys.open(mpdu, header);
        match plain {
            Some(_) => self.opened += 1,
            None => self.secured += 1,
        }
        plain
    }

    /// Handles the end of the capture.
    pub fn finish(&mut self, done: &mut Vec<Transfer>) {
        let mut senders: Vec<Address> = self.open.keys().copied().collect();
        senders.sort_by_key(|sender| self.open[sender].transfer.last.start_us);
        for sender in senders {
            self.close(sender, false, done);
        }
    }

    fn acknowledgment(&mut self, ack: &Mac<'_>, place: Place, done: &mut Vec<Transfer>) {
        self.acks += 1;
        let waits = |open: &&Open| {
            let end = open.transfer.last.end_us;
            open.asked
                && open.dsn == ack.dsn
                && (ack.dst.is_empty() || ack.dst == open.transfer.src)
                && place.start_us + timing::TURNAROUND_US > end
                && place.start_us < end + ACK_WITHIN_US
        };
        let whose = self.open.values().filter(waits);
        let nearest = whose.max_by_key(|open| open.transfer.last.end_us);
        if let Some((src, dst)) = nearest.map(|open| (open.transfer.src, open.transfer.dst)) {
            self.close(src, true, done);
            let sent = Recent {
                place,
                src: dst,
                dst: src,
            };
            self.overlap(sent, false);
        }
    }

    /// Marks attempts that the new frame `sent` disturbs. Returns a frame on the air that the
    /// sender of `sent` did not hear, and whether a frame disturbs `sent`. `has_listened` is false
    /// for acknowledgements, which are sent without channel assessment.
    fn overlap(&mut self, sent: Recent, has_listened: bool) -> (Option<(Place, Address)>, bool) {
        let Recent { place, src, dst } = sent;
        let mut found = None;
        let mut is_disturbed = false;
        let disturbs = |receiver: Address, by: Address| {
            receiver == by || self.neighbours.contains(&(receiver, by))
        };
        for other in &self.recent {
            let later_us = place.start_us.saturating_sub(other.place.start_us);
            let unheard = has_listened && later_us > HEARD_AFTER_US;
            let together = other.place.end_us > place.start_us;
            if !together || other.src == src {
                continue;
            }
            is_disturbed |= disturbs(dst, other.src);
            let open = self.open.get_mut(&other.src);
            let mut open = open.filter(|it| it.transfer.last.number == other.place.number);
            if let Some(open) = &mut open {
                open.is_disturbed |= disturbs(other.dst, src);
            }
            if !unheard || other.src == dst {
                continue;
            }
            found = Some((other.place, other.src));
            if let Some(open) = open
                && other.dst != src
            {
                open.over = Some((place, src));
            }
        }
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(sent);
        (found, is_disturbed)
    }

    fn close(&mut self, sender: Address, arrived: bool, done: &mut Vec<Transfer>) {
        let Some(mut open) = self.open.remove(&sender) else {
            return;
        };
        open.transfer.arrived = arrived;
        let (src, dst) = (open.transfer.src, open.transfer.dst);
        if !arrived {
            open.failed(&self.neighbours);
        } else if open.asked {
            if self.neighbours.len() < NEIGHBOURS_MAX {
                self.neighbours.insert((src, dst));
                self.neighbours.insert((dst, src));
            }
            if self.last.len() < SENDERS_MAX || self.last.contains_key(&src) {
                let same = (open.dsn, open.len, dst);
                self.last.insert(src, (same, open.transfer.last.start_us));
            }
        }
        done.push(open.transfer);
    }
}

impl Open {
    fn is_repeated_by(&self, header: &Mac<'_>, len: usize, place: Place) -> bool {
        let last = &self.transfer.last;
        (self.dsn, self.len, self.transfer.dst) == (header.dsn, len, header.dst)
            && place.start_us.saturating_sub(last.start_us) < SAME_FRAME_US
    }

    fn failed(&mut self, neighbours: &HashSet<(Address, Address)>) {
        self.transfer.disturbed += u32::from(std::mem::take(&mut self.is_disturbed));
        let Some((other, who)) = self.over.take() else {
            return;
        };
        // Overlapping frames of senders out of the receiver's range have no effect on this frame.
        if neighbours.contains(&(self.transfer.dst, who)) {
            self.transfer.collided.push(other);
        }
    }
}
