#![doc = include_str!("../README.md")]
//!
//! # Interface
//!
//! A slot holds a whole uncompressed IPv6 packet. Reassembling, complete, queued and being sent are
//! states of a slot, and a change of state copies no bytes. A relay edits the hop limit or the ECN
//! field in place, and compresses the headers again for each link.
//!
//! A node's own transport has no slots. When the link can start a datagram,
//! [`Lowpan::wants_segment`] reports it, the caller passes headers to
//! [`Lowpan::start_segment`], and each frame reads its payload from a [`PayloadSource`] when it
//! is built. Own and queued datagrams take turns.
//!
//! There is one radio, which sends one frame at a time:
//!
//! 1. [`Lowpan::next_frame`] builds a frame once; if necessary, the MAC repeats it;
//! 2. with [`Lowpan::on_frame_done`], the caller reports whether the frame was acknowledged;
//! 3. [`Lowpan::poll_event`] reports the outcome of the datagram.
//!
//! Datagrams for nodes that sleep wait in a separate queue ([`Lowpan::queue_indirect`]) until their
//! node requests them, and then leave first. A relay reassembles the datagrams that it forwards,
//! unless it has memory for [`Lowpan::forward_fragments`]. To forward recoverable fragments, it
//! also needs memory for [`Lowpan::recover_fragments`].
//!
//! The MAC drops repeated frames of unfragmented packets, by their sequence numbers.
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
