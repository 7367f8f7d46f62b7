//! A table of connections that left TIME-WAIT early.
//!
//! RFC 9293 §3.6.1: TIME-WAIT acknowledges the peer's FIN again if the first acknowledgment is
//! lost. A node short of memory gives the memory of such a connection to a new connection before
//! TIME-WAIT is over. A repeated FIN then matches no connection. The node would answer with a reset
//! (§3.10.7.1), or not at all if the segment might complete a handshake by SYN cookie, and the peer
//! would stay in LAST-ACK for minutes. The FIN itself contains what its acknowledgment needs, so
//! four bytes per connection suffice to recognise it.
//!
//! The same table holds frozen connections, whose late packets are dropped.

use redpoll_base::Bytes;
use redpoll_base::checksum::Checksum;

use crate::isn::Purpose;
use crate::send::SendStore;
use crate::{
    Algorithms, Connection, Endpoint, Flags, Header, Incoming, IsnGenerator, Request, SeqNum,
    TimestampOption,
};

/// Number of connections that are remembered; nodes have memory for fewer connections.
const MOST: usize = 8;

/// Value in place of SND.NXT and RCV.NXT of a frozen connection, because any of its packets may
/// arrive late.
const FROZEN: [SeqNum; 2] = [SeqNum(0); 2];

/// The last connections that lost their memory in TIME-WAIT or were frozen.
#[derive(Debug, Default)]
pub struct Recycled {
    /// A hash of both ends, SND.NXT and RCV.NXT for each remembered connection; 0 if unused.
    marks: [u32; MOST],
    next: u8,
}

impl Recycled {
    /// Remembers a connection in TIME-WAIT whose memory another connection takes.
    pub fn remember<B: Bytes, S: SendStore, A: Algorithms>(
        &mut self,
        isn: &IsnGenerator,
        connection: &Connection<B, S, A>,
    ) {
        self.put(isn, connection, connection.next_numbers());
    }

    /// Remembers a [frozen](Connection::freeze) connection, whose peer may still send packets.
    pub fn remember_frozen<B: Bytes, S: SendStore, A: Algorithms>(
        &mut self,
        isn: &IsnGenerator,
        connection: &Connection<B, S, A>,
    ) {
        self.put(isn, connection, FROZEN);
    }

    /// Forgets a frozen connection that was thawed.
    pub fn on_thawed<B: Bytes, S: SendStore, A: Algorithms>(
        &mut self,
        isn: &IsnGenerator,
        connection: &Connection<B, S, A>,
    ) {
        let (local, remote) = (connection.local(), connection.remote());
        let its = mark(isn, &local, &remote, FROZEN);
        for mark in self.marks.iter_mut().filter(|mark| **mark == its) {
            *mark = 0;
        }
    }

    fn put<B: Bytes, S: SendStore, A: Algorithms>(
        &mut self,
        isn: &IsnGenerator,
        connection: &Connection<B, S, A>,
        numbers: [SeqNum; 2],
    ) {
        let (local, remote) = (connection.local(), connection.remote());
        let mark = mark(isn, &local, &remote, numbers);
        if let Some(place) = self.marks.get_mut(usize::from(self.next) % MOST) {
            *place = mark;
        }
        self.next = self.next.wrapping_add(1);
    }

    /// Returns whether a segment belongs to a frozen connection and does not request a new one. The
    /// node drops such a segment, as if the link had lost it. A reset (RFC 9293 §3.10.7.1) would
    /// end the connection, which continues later.
    pub fn is_frozen(&self, isn: &IsnGenerator, incoming: &Incoming<'_>) -> bool {
        let &Incoming { meta, seg, .. } = incoming;
        let Request { local, remote, .. } = Request::new(meta, seg);
        seg.flags.ack() && self.marks.contains(&mark(isn, &local, &remote, FROZEN))
    }

    /// Returns the acknowledgment of the segment if it is the FIN of a remembered connection, as
    /// TIME-WAIT would answer it (RFC 9293 §3.10.7.4, eighth step). It carries timestamps if the
    /// segment does (RFC 7323 §3.2).
    pub fn answer(&self, isn: &IsnGenerator, incoming: &Incoming<'_>) -> Option<Header> {
        let &Incoming { now, meta, seg, .. } = incoming;
        if !seg.flags.contains(Flags::FIN.with(Flags::ACK)) || seg.flags.syn() || seg.flags.rst() {
            return None;
        }
        let Request { local, remote, .. } = Request::new(meta, seg);
        let wanted = mark(isn, &local, &remote, [seg.ack, seg.end()]);
        self.marks.iter().find(|mark| **mark == wanted)?;
        let mut header = Header::EMPTY;
        header.begin(Flags::ACK, 0, seg.ack, seg.end());
        let timestamps = seg.options.timestamps.map(|theirs| TimestampOption {
            value: isn
                .timestamp_offset(&local, &remote)
                .wrapping_add(now.millis_wrapping()),
            echo: theirs.value,
        });
        header.put_timestamps(timestamps, false);
        header.end(&local, &remote, 0, Checksum::new());
        Some(header)
    }
}

fn mark(isn: &IsnGenerator, local: &Endpoint, remote: &Endpoint, [nxt, ack]: [SeqNum; 2]) -> u32 {
    isn.hash(Purpose::Recycled, local, remote, [nxt.0, ack.0]) | 1
}
