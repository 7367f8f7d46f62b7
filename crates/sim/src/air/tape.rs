//! What is written down of the air while somebody looks.

use redpoll_base::Instant;

use super::ledger::{Kind, Outcome};

/// Frames and packets as they come, until somebody takes them.
#[derive(Debug, Default)]
pub struct Tape {
    changes: Changes,
}

/// What has happened since somebody took it last.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Changes {
    /// Up to here.
    pub until: Instant,
    /// Frames that have begun, in order.
    pub frames: Vec<Frame>,
    /// What became of frames, of earlier ones too.
    pub fates: Vec<Fate>,
    /// Packets that passed between the border router and its host, in order.
    pub packets: Vec<HostPacket>,
    /// Frames, fates and packets for which there was no room.
    pub skipped: u64,
}

/// A transmission.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// Its number in the run.
    pub id: u64,
    /// When its first bit leaves.
    pub start: Instant,
    /// When its last bit does.
    pub end: Instant,
    /// Index of the sending node.
    pub from: u32,
    /// Whom it is for.
    pub to: Addressee,
    /// What kind of frame.
    pub kind: Kind,
    /// The frame without its frame check sequence.
    pub mpdu: Box<[u8]>,
}

/// Whom a frame is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addressee {
    /// The node with this index.
    Node(u32),
    /// Everyone.
    All,
    /// Nobody who could hear it.
    Nobody,
}

/// What became of a frame at one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fate {
    /// The frame's number.
    pub id: u64,
    /// Index of the node that it was for; of the sender if there is none.
    pub at: u32,
    /// What became of it.
    pub outcome: Outcome,
}

/// An IPv6 packet between the border router and its host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPacket {
    /// When.
    pub at: Instant,
    /// It goes into the mesh.
    pub into_mesh: bool,
    /// Its beginning: at most [`Tape::PACKET_BYTES`].
    pub bytes: Box<[u8]>,
    /// How long it is.
    pub len: usize,
}

impl Tape {
    /// So many frames are kept until somebody takes them, and as many packets; four times
    /// as many fates.
    pub const FRAMES: usize = 4_096;
    /// So much of a host's packet is kept: headers with all options.
    pub const PACKET_BYTES: usize = 160;

    /// A frame begins.
    pub(crate) fn frame(&mut self, frame: Frame) {
        if self.changes.frames.len() < Self::FRAMES {
            self.changes.frames.push(frame);
        } else {
            self.changes.skipped += 1;
        }
    }

    /// A frame has ended at a node.
    pub(crate) fn fate(&mut self, fate: Fate) {
        if self.changes.fates.len() < 4 * Self::FRAMES {
            self.changes.fates.push(fate);
        } else {
            self.changes.skipped += 1;
        }
    }

    /// A packet passes between border router and host.
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

    /// Hands out what there is.
    pub(crate) fn take(&mut self, now: Instant) -> Changes {
        self.changes.until = now;
        std::mem::take(&mut self.changes)
    }
}
