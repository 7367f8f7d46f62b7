//! 6LoWPAN between IPv6 and the 802.15.4 MAC: header compression (RFC 6282),
//! fragmentation and reassembly (RFC 4944 §5.3), and the queue of datagrams
//! that wait for the radio.
//!
//! A datagram lies in one *slot* of the caller's memory from its first
//! fragment until its last frame has left: reassembling, complete, queued and
//! in service are states of the slot, and no byte moves between them. Slots
//! hold whole uncompressed IPv6 packets, so a relay edits the hop limit or the
//! ECN bits in place, and compression is done anew for each link.
//!
//! A node's own transport has no slots. It is *pulled*: when the link can
//! start a datagram, [`Lowpan::wants_segment`] says so, the caller hands over
//! headers with [`Lowpan::start_segment`], and the payload is read from a
//! [`PayloadSource`] at the moment each frame is built. Own and queued
//! datagrams take turns.
//!
//! One radio, one frame at a time:
//!
//! 1. [`Lowpan::next_frame`] builds a frame; it is called once per frame, link
//!    retries are the MAC's business;
//! 2. [`Lowpan::on_frame_done`] says how it ended;
//! 3. [`Lowpan::poll_event`] tells what became of the datagram.
//!
//! [`Lowpan`] has an example that sends a packet in fragments.
//!
//! Datagrams for nodes that sleep wait apart ([`Lowpan::queue_indirect`]) until
//! their node asks, and then leave before all others.
//!
//! A relay reassembles what it forwards, or, given memory for it
//! ([`Lowpan::forward_fragments`]), passes fragments on as they come (RFC 8930); the
//! feature `forwarding`, on by default, is the code for that. With more memory
//! ([`Lowpan::recover_fragments`]) fragments that are lost on the way are sent
//! again alone (RFC 8931); the feature `recovery`.
//!
//! What this crate does not do: mesh-under forwarding (RFC 4944 §5.2),
//! suppression of repeated *unfragmented* packets (the
//! MAC does that by sequence number), queue management beyond a bound.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]
#![warn(missing_docs)]

mod config;
mod counters;
mod coverage;
mod duplicates;
mod event;
mod feature;
mod forwarding;
mod indirect;
mod lowpan;
mod pool;
mod queue;
mod reassembly;
mod receive;
mod recovery;
mod red;
mod shares;
mod sizing;
mod transmit;
mod waiting;

pub use config::{LowpanConfig, LowpanMemory};
pub use counters::{LowpanCounters, Occupancy};
pub use event::{
    DropReason, FrameOut, FrameRoom, Gone, LossReason, LowpanEvent, Note, PayloadSource,
    PulledDatagram, TRANSPORT_HEADER_MAX,
};
pub use forwarding::{ForwardingMemory, FragmentBuffer, Onward, VirtualBuffer};
pub use lowpan::{Fragments, Lowpan, LowpanTables};
pub use pool::{Slot, SlotId};
pub use recovery::{
    Incoming, Outgoing, RecoveryConfig, RecoveryCounters, RecoveryMemory, SwitchedPath,
};
pub use red::RedConfig;
pub use sizing::{COMPRESSED_HEADER_MAX, MTU, TCP_HEADER_LEN, frames_needed, mss_for_frames};
