//! What is left of connections that had to leave TIME-WAIT early.
//!
//! RFC 9293 §3.6.1: TIME-WAIT is there to acknowledge the peer's FIN again, if the first
//! acknowledgment is lost. A node short of memory gives the slot to another connection
//! before its time. A FIN that comes again then meets no connection: a reset would be the
//! answer (§3.10.7.1), or silence while it may be of a handshake that is kept by a SYN
//! cookie, and the peer stays in LAST-ACK for minutes. All that the acknowledgment needs
//! stands in the FIN itself; what is lost with the slot is only that it is owed. That is
//! kept here, four bytes a connection.
//!
//! The same memory holds the ends of frozen connections, whose late packets are dropped.

use redpoll_base::Bytes;
use redpoll_base::checksum::Checksum;

use crate::isn::Purpose;
use crate::send::SendStore;
use crate::{
    Algorithms, Connection, Endpoint, Flags, Header, Incoming, IsnGenerator, Request, SeqNum,
    TimestampOption,
};

/// How many are remembered, the last ones: more than slots that nodes have.
const MOST: usize = 8;

/// Stands for SND.NXT and RCV.NXT of a frozen connection, of which any packet may come late.
const FROZEN: [SeqNum; 2] = [SeqNum(0); 2];

/// The last connections whose slot was taken from them in TIME-WAIT, or that were frozen.
#[derive(Debug, Default)]
pub struct Recycled {
    /// Hashes of both ends, SND.NXT and RCV.NXT; 0 for none.
    marks: [u32; MOST],
    next: u8,
}

impl Recycled {
    /// A connection in TIME-WAIT makes room for another.
    pub fn remember<B: Bytes, S: SendStore, A: Algorithms>(
        &mut self,
        isn: &IsnGenerator,
        connection: &Connection<B, S, A>,
    ) {
        self.put(isn, connection, connection.next_numbers());
    }

    /// A connection is [frozen](Connection::freeze). Its peer may still send packets.
    pub fn remember_frozen<B: Bytes, S: SendStore, A: Algorithms>(
        &mut self,
        isn: &IsnGenerator,
        connection: &Connection<B, S, A>,
    ) {
        self.put(isn, connection, FROZEN);
    }

    /// A connection that was frozen continues.
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

    /// Whether a segment is of a frozen connection, and not a request for a new one. Such a
    /// segment is dropped, as if the link had lost it: RFC 9293 §3.10.7.1 has a reset for a
    /// connection that does not exist, and this one continues later.
    pub fn is_frozen(&self, isn: &IsnGenerator, incoming: &Incoming<'_>) -> bool {
        let &Incoming { meta, seg, .. } = incoming;
        let Request { local, remote, .. } = Request::new(meta, seg);
        seg.flags.ack() && self.marks.contains(&mark(isn, &local, &remote, FROZEN))
    }

    /// The acknowledgment of a segment, if it is the FIN of such a connection: what TIME-WAIT
    /// answers (RFC 9293 §3.10.7.4, eighth step). With the timestamps of the connection,
    /// if it had some (RFC 7323 §3.2).
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
