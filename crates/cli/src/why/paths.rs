//! The paths of a direction's segments through the mesh, hop by hop.

use std::collections::VecDeque;

use redpoll_wire::ieee802154::Address;
use redpoll_wire::tcp::SeqNum;

use super::datagrams::Datagram;

/// Maximum number of remembered steps. A step is one link on the path of a segment.
const STEPS_MAX: usize = 128;

/// The paths of segments, hop by hop.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The last links that segments took, from the oldest to the newest.
    steps: VecDeque<Step>,
    /// Largest number of hops of a segment, without its first hop.
    pub most: u8,
}

/// A segment on one link of its path.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Sequence number, length and acknowledgement number.
    segment: (SeqNum, u32, Option<SeqNum>),
    /// The link's receiver.
    to: Address,
    limits: Limits,
    /// Number of hops before this link.
    hops: u8,
}

/// Hop limits of a packet, and of the tunnel or the mesh header around it.
type Limits = (u8, Option<u8>);

impl Paths {
    /// Handles the beginning of a datagram on a link, which is the first link if `is_first`.
    ///
    /// Several copies of a segment can be in the mesh at the same time. The hop limits on the
    /// previous link of a path are higher than on this link. Links with equal or lower hop limits,
    /// which another copy has reached, are therefore ignored.
    pub fn follow(&mut self, datagram: &Datagram, is_first: bool) {
        let segment = &datagram.segment;
        let limits = segment.hop_limits;
        let segment = (segment.seq, segment.span(), segment.ack);
        // The previous link ends at this link's sender, unless the capture lacks frames.
        let before = self.steps.iter().rev().filter(|it| it.segment == segment);
        let before = before.map(|it| (it.to != datagram.src, fallen(it.limits, limits), it.hops));
        let nearest = before
            .filter(|(_, fallen, _)| *fallen > 0)
            .min_by_key(|(is_apart, fallen, _)| (*is_apart, *fallen));
        let hops = match nearest {
            Some((_, fallen, hops)) if !is_first => hops.saturating_add(fallen),
            _ => 0,
        };
        self.most = self.most.max(hops);
        if self.steps.len() == STEPS_MAX {
            self.steps.pop_front();
        }
        self.steps.push_back(Step {
            segment,
            to: datagram.dst,
            limits,
            hops,
        });
    }
}

/// Returns the number of hops between two links. In a tunnel only the tunnel's hop limit decreases;
/// the nodes at its ends reduce the hop limit of the packet inside by one.
fn fallen(before: Limits, after: Limits) -> u8 {
    match (before.0.saturating_sub(after.0), before.1.zip(after.1)) {
        (0, Some((before, after))) => before.saturating_sub(after),
        (fallen, _) => fallen,
    }
}
