//! The segments and acknowledgements of a connection over time, for its plot.

use redpoll_wire::tcp::SeqNum;

use super::datagrams::Datagram;

/// Maximum number of segments and acknowledgements of a direction; later ones are left out.
const POINTS_MAX: usize = 8_192;

/// A segment that left its sender's node.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at_us: u64,
    /// Offset of the first byte from the start of the first segment; `len`: number of bytes.
    pub from: u32,
    pub len: u32,
    pub is_again: bool,
}

/// The data of one direction.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    first: Option<SeqNum>,
    next: Option<SeqNum>,
    pub sent: Vec<Sent>,
    /// Acknowledgements that advance: the time of arrival in microseconds, and the bytes
    /// acknowledged since the first segment.
    pub acked: Vec<(u64, u32)>,
}

impl Trace {
    /// Handles a segment that left its sender's node.
    pub fn left(&mut self, datagram: &Datagram) {
        let segment = &datagram.segment;
        if segment.span() == 0 {
            return;
        }
        let first = *self.first.get_or_insert(segment.seq);
        let is_again = self.next.is_some_and(|next| segment.seq < next);
        if !is_again {
            self.next = Some(segment.seq + segment.span());
        }
        if self.sent.len() < POINTS_MAX {
            self.sent.push(Sent {
                at_us: datagram.first.start_us,
                from: segment.seq - first,
                len: segment.len,
                is_again,
            });
        }
    }

    /// Handles an acknowledgement that arrived at the sender's node.
    pub fn acknowledged(&mut self, datagram: &Datagram) {
        let Some((ack, first)) = datagram.segment.ack.zip(self.first) else {
            return;
        };
        let acked = ack - first;
        let is_new = self.acked.last().is_none_or(|last| last.1 < acked);
        if is_new && self.acked.len() < POINTS_MAX {
            self.acked.push((datagram.end_us, acked));
        }
    }

    /// Returns the end of the sent data, in bytes since the start of the first segment.
    pub fn most(&self) -> u32 {
        let ends = self.sent.iter().map(|sent| sent.from + sent.len);
        ends.max().unwrap_or_default()
    }
}
