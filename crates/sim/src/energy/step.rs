//! What a node's processor is woken for, told apart at the seams of
//! `redpoll_stack::Node` alone.
//!
//! The image `firmware/src/bin/mesh.rs`, in which the instructions of each step
//! are counted, is compiled with this very file, so that what is counted there
//! and what is counted here are the same. So it uses neither the standard
//! library nor the rest of this crate.

use redpoll_stack::mac::RadioResult;
use redpoll_stack::wire::ieee802154::{FrameHeader, FrameType};
use redpoll_stack::wire::sixlowpan::fragment::Header;
use redpoll_stack::{Node, Profile};

/// One call into a node, by what came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A packet of this node's own is made, and the first of its frames: with
    /// the application's call that sent the data.
    PacketOut,
    /// The last frame of a packet for this node: with what the packet's upper
    /// layer makes of it, and the application's call that takes the data.
    PacketIn,
    /// As `PacketOut`, of a datagram in UDP: with the call that sent it.
    DatagramOut,
    /// As `PacketIn`, of a datagram in UDP: with the call that takes it.
    DatagramIn,
    /// A message of CoAP is made, for a datagram: by a call of the application, or
    /// as the answer to another.
    MessageOut,
    /// A message of CoAP, out of a datagram, becomes what the application hears.
    MessageIn,
    /// The first frame of a packet of another node.
    RelayedOut,
    /// The last frame of a packet that goes on to another node.
    RelayedIn,
    /// A later frame of any packet is built.
    FragmentOut,
    /// A frame that completes nothing.
    FragmentIn,
    /// A data request is built.
    RequestOut,
    /// A sleepy node asks.
    RequestIn,
    /// A frame that is dropped: a repetition, say.
    RefusedIn,
    /// The radio is told to do something else than to load a frame.
    Order,
    /// The radio has loaded a frame.
    Loaded,
    /// It has sent one, and it was acknowledged if it asked for that.
    Sent,
    /// The channel was busy, or no acknowledgement came.
    Failed,
    /// A timer.
    Timer,
    /// Before the processor sleeps again: there is nothing left to do, and when
    /// it must wake up.
    Rest,
}

impl Step {
    /// Every step.
    pub const ALL: [Step; 19] = [
        Step::PacketOut,
        Step::PacketIn,
        Step::DatagramOut,
        Step::DatagramIn,
        Step::MessageOut,
        Step::MessageIn,
        Step::RelayedOut,
        Step::RelayedIn,
        Step::FragmentOut,
        Step::FragmentIn,
        Step::RequestOut,
        Step::RequestIn,
        Step::RefusedIn,
        Step::Order,
        Step::Loaded,
        Step::Sent,
        Step::Failed,
        Step::Timer,
        Step::Rest,
    ];

    /// Those of which there is one for each packet that comes up to IPv6 or goes down
    /// from it: a relay does both, each at its time.
    pub const PACKETS: [Step; 6] = [
        Step::PacketOut,
        Step::PacketIn,
        Step::DatagramOut,
        Step::DatagramIn,
        Step::RelayedOut,
        Step::RelayedIn,
    ];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Step::PacketOut => "packet_out",
            Step::PacketIn => "packet_in",
            Step::DatagramOut => "datagram_out",
            Step::DatagramIn => "datagram_in",
            Step::MessageOut => "message_out",
            Step::MessageIn => "message_in",
            Step::RelayedOut => "relayed_out",
            Step::RelayedIn => "relayed_in",
            Step::FragmentOut => "fragment_out",
            Step::FragmentIn => "fragment_in",
            Step::RequestOut => "request_out",
            Step::RequestIn => "request_in",
            Step::RefusedIn => "refused_in",
            Step::Order => "order",
            Step::Loaded => "loaded",
            Step::Sent => "sent",
            Step::Failed => "failed",
            Step::Timer => "timer",
            Step::Rest => "rest",
        }
    }

    /// Of what the radio has done.
    pub fn of_result<D>(result: RadioResult<D>) -> Step {
        match result {
            RadioResult::Loaded => Step::Loaded,
            RadioResult::Sent | RadioResult::Acked { .. } => Step::Sent,
            // Also the results of a duty-cycled MAC's works, for which nothing has been
            // counted.
            _ => Step::Failed,
        }
    }
}

/// A node's counters before a frame came in.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    delivered: u32,
    datagrams: u32,
    forwarded: u32,
    requests: u32,
    frames: u32,
}

impl Before {
    /// To be called before `Node::input_frame`.
    pub fn of<P: Profile>(node: &Node<P>) -> Before {
        let (ip, mac) = (node.counters(), node.mac_counters());
        Before {
            delivered: ip.delivered,
            datagrams: ip.datagrams,
            forwarded: ip.forwarded,
            requests: mac.rx_data_requests,
            frames: mac.rx_frames,
        }
    }

    /// The step that this frame was, and the bytes of the packet that it
    /// completed.
    pub fn step<P: Profile>(self, node: &Node<P>, frame: &[u8]) -> (Step, u16) {
        let after = Before::of(node);
        if after.datagrams != self.datagrams {
            (Step::DatagramIn, Part::of(frame).bytes)
        } else if after.delivered != self.delivered {
            (Step::PacketIn, Part::of(frame).bytes)
        } else if after.forwarded != self.forwarded {
            (Step::RelayedIn, Part::of(frame).bytes)
        } else if after.requests != self.requests {
            (Step::RequestIn, 0)
        } else if after.frames != self.frames {
            (Step::FragmentIn, 0)
        } else {
            (Step::RefusedIn, 0)
        }
    }
}

/// What a node has loaded into its radio so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loads {
    originated: u32,
    submitted: u32,
}

impl Loads {
    /// The step that a `Node::poll_radio` with this frame to load was, and the
    /// bytes of the packet that the frame begins.
    pub fn step<P: Profile>(&mut self, node: &Node<P>, frame: &[u8]) -> (Step, u16) {
        let submitted = node.mac_counters().submitted;
        if submitted == self.submitted {
            // The same frame once more, as it is.
            return (Step::Order, 0);
        }
        self.submitted = submitted;
        let part = Part::of(frame);
        match part.kind {
            Kind::Command => (Step::RequestOut, 0),
            Kind::Later => (Step::FragmentOut, 0),
            Kind::Sealed if node.counters().originated == self.originated => (Step::FragmentOut, 0),
            Kind::Sealed => {
                self.originated = self.originated.wrapping_add(1);
                (Step::PacketOut, 0)
            }
            Kind::First { .. } if node.counters().originated == self.originated => {
                (Step::RelayedOut, part.bytes)
            }
            Kind::First { is_datagram } => {
                self.originated = self.originated.wrapping_add(1);
                let step = match is_datagram {
                    true => Step::DatagramOut,
                    false => Step::PacketOut,
                };
                (step, part.bytes)
            }
        }
    }
}

enum Kind {
    Command,
    /// The first frame of a packet, or its only one.
    First {
        is_datagram: bool,
    },
    Later,
    /// Nobody sees which.
    Sealed,
}

/// LOWPAN_IPHC (RFC 6282 §3.1.1): its dispatch, and NH, "the next header is
/// compressed", which here is done with UDP's alone.
const IPHC: u8 = 0b0110_0000;
const IPHC_MASK: u8 = 0b1110_0000;
const NEXT_HEADER: u8 = 0b0000_0100;

impl Kind {
    /// Of a packet whose compressed header begins so.
    fn first(header: &[u8]) -> Kind {
        let is_datagram = header
            .first()
            .is_some_and(|byte| byte & IPHC_MASK == IPHC && byte & NEXT_HEADER != 0);
        Kind::First { is_datagram }
    }
}

/// A frame's place in a packet.
struct Part {
    kind: Kind,
    /// Of the whole packet; of what is in the air if this is all of it.
    bytes: u16,
}

impl Part {
    fn of(frame: &[u8]) -> Part {
        let Ok((header, payload)) = FrameHeader::parse(frame) else {
            return Part {
                kind: Kind::Later,
                bytes: 0,
            };
        };
        let (kind, bytes) = match Header::parse(payload) {
            _ if header.security && header.frame_type == FrameType::Data => (Kind::Sealed, 0),
            _ if header.frame_type != FrameType::Data => (Kind::Command, 0),
            Ok((Header::First { size, .. }, rest)) => (Kind::first(rest), size),
            Ok((Header::Next { size, .. }, _)) => (Kind::Later, size),
            Err(_) => (Kind::first(payload), payload.len() as u16),
        };
        Part { kind, bytes }
    }
}
