//! Recording of the air for a viewer.

use redpoll_base::Instant;

use super::ledger::{FrameClass, Outcome};

/// Recorded frames and packets since the last call of [`Tape::take`].
#[derive(Debug, Default)]
pub struct Tape {
    changes: Changes,
}

/// Events since the previous [`World::live_changes`](crate::World::live_changes).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Changes {
    pub until: Instant,
    pub frames: Vec<Frame>,
    /// Outcomes of frames, including frames that an earlier call returned.
    pub fates: Vec<Fate>,
    /// Packets between the border router and its host, in order.
    pub packets: Vec<HostPacket>,
    /// Number of frames, fates and packets that were discarded because their list was full.
    pub skipped: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    pub id: u64,
    /// Beginning of the frame's first bit.
    pub start: Instant,
    /// End of the frame's last bit.
    pub end: Instant,
    /// Index of the sending node.
    pub from: u32,
    pub to: Addressee,
    pub kind: FrameClass,
    /// The frame without its frame check sequence.
    pub mpdu: Box<[u8]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addressee {
    Node(u32),
    All,
    Nobody,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fate {
    pub id: u64,
    /// Index of the addressee; of the sender, if the frame has no addressee.
    pub at: u32,
    pub outcome: Outcome,
}

/// An IPv6 packet between the border router and its host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPacket {
    pub at: Instant,
    pub into_mesh: bool,
    /// The first bytes of the packet, at most 160: enough for the headers with all options.
    pub bytes: Box<[u8]>,
    /// Length of the whole packet in bytes.
    pub len: usize,
}

impl Tape {
    /// Maximum number of recorded frames, and of packets. Four times as many outcomes are recorded.
    pub const FRAMES: usize = 4_096;
    /// Recorded bytes of each [`HostPacket`], enough for the headers with all options.
    pub const PACKET_BYTES: usize = 160;

    pub(crate) fn frame(&mut self, frame: Frame) {
        if self.changes.frames.len() < Self::FRAMES {
            self.changes.frames.push(frame);
        } else {
            self.changes.skipped += 1;
        }
    }

    pub(crate) fn fate(&mut self, fate: Fate) {
        if self.changes.fates.len() < 4 * Self::FRAMES {
            self.changes.fates.push(fate);
        } else {
            self.changes.skipped += 1;
        }
    }

    /// Records a packet between the border router and its host.
    pub(crate) fn packet(&mut self, at: Instant, into_mesh: bool, packet: &[u8]) {
        if self.changes.packets.len() >= Self::FRAMES {
            self.changes.skipped += 1;
            return;
        }
        let kept = packet.len().min(Self::PACKET_BYTES);
        self.changes.packets.push(HostPacket {
            at,
            into_mesh,
            bytes: packet[..kept].into(),
            len: packet.len(),
        });
    }

    pub(crate) fn take(&mut self, now: Instant) -> Changes {
        self.changes.until = now;
        std::mem::take(&mut self.changes)
    }
}
