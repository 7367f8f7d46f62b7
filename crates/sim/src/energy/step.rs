//! Steps of a node's processor, which classify the calls of `redpoll_stack::Node`.
//!
//! The image `firmware/src/bin/mesh/main.rs`, which measures the instructions of each step, is compiled
//! with this file, so both count the same steps. Therefore this file uses neither the standard
//! library nor the rest of this crate.

use redpoll_stack::mac::RadioResult;
use redpoll_stack::wire::ieee802154::{FrameHeader, FrameType};
use redpoll_stack::wire::sixlowpan::fragment::Header;
use redpoll_stack::{Node, Profile};

/// Kind of a call into a node, by its effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Builds a packet of this node and its first frame; includes the application's sending call.
    PacketOut,
    /// Completes a packet for this node; includes its processing by the upper layer and the
    /// application's call that reads the data.
    PacketIn,
    /// Builds a UDP datagram and its first frame; includes the application's sending call.
    DatagramOut,
    /// Completes a UDP datagram; includes the application's call that reads the datagram.
    DatagramIn,
    /// Builds a CoAP message, as a response or for a call of the application.
    MessageOut,
    /// Processes a received CoAP message for the application.
    MessageIn,
    /// Builds the first frame of a relayed packet.
    RelayedOut,
    RelayedIn,
    FragmentOut,
    /// Accepts a frame that completes no packet.
    FragmentIn,
    RequestOut,
    /// Accepts a data request of a sleepy node.
    RequestIn,
    /// Drops a frame, for example a duplicate.
    RefusedIn,
    /// Starts a radio operation other than the first loading of a frame.
    Order,
    Loaded,
    /// Handles a successful transmission, with the acknowledgment if one was requested.
    Sent,
    /// Handles a busy channel or a missing acknowledgment.
    Failed,
    Timer,
    /// Determines the next wake-up before the processor sleeps.
    Rest,
}

impl Step {
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

    /// Steps that occur once for each packet that enters or leaves IPv6. A relayed packet takes two
    /// of these steps.
    pub const PACKETS: [Step; 6] = [
        Step::PacketOut,
        Step::PacketIn,
        Step::DatagramOut,
        Step::DatagramIn,
        Step::RelayedOut,
        Step::RelayedIn,
    ];

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

    pub fn of_result<D>(result: RadioResult<D>) -> Step {
        match result {
            RadioResult::Loaded => Step::Loaded,
            RadioResult::Sent | RadioResult::Acked { .. } => Step::Sent,
            // Other results count as `Failed`. The costs of duty-cycled MACs have not been
            // measured.
            _ => Step::Failed,
        }
    }
}

/// Counters of a node before a frame arrives.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    delivered: u32,
    datagrams: u32,
    forwarded: u32,
    requests: u32,
    frames: u32,
}

impl Before {
    /// Reads the counters, before the call of `Node::input_frame`.
    pub fn of<P: Profile>(node: &Node<P>) -> Before {
        let (ip, mac) = (node.counters(), node.mac().counters());
        Before {
            delivered: ip.delivered,
            datagrams: ip.datagrams,
            forwarded: ip.forwarded,
            requests: mac.rx_data_requests,
            frames: mac.rx_frames,
        }
    }

    /// Returns the step of `frame`, and the bytes of the packet that `frame` completed.
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

/// Counters of the packets and frames that a node had loaded into its radio so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loads {
    originated: u32,
    submitted: u32,
}

impl Loads {
    /// Returns the step of a `Node::poll_radio` that loads `frame`, and the length of the packet if
    /// `frame` is its first frame.
    pub fn step<P: Profile>(&mut self, node: &Node<P>, frame: &[u8]) -> (Step, u16) {
        let submitted = node.mac().counters().submitted;
        if submitted == self.submitted {
            // The radio loads the previous frame again for a retransmission.
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
    /// An encrypted frame, whose position in its packet is unknown.
    Sealed,
}

/// LOWPAN_IPHC (RFC 6282 §3.1.1): dispatch bits, and the NH bit of a compressed next header. This
/// stack compresses only UDP headers.
const IPHC: u8 = 0b0110_0000;
const IPHC_MASK: u8 = 0b1110_0000;
const NEXT_HEADER: u8 = 0b0000_0100;

impl Kind {
    fn first(header: &[u8]) -> Kind {
        let is_datagram = header
            .first()
            .is_some_and(|byte| byte & IPHC_MASK == IPHC && byte & NEXT_HEADER != 0);
        Kind::First { is_datagram }
    }
}

struct Part {
    kind: Kind,
    /// Bytes of the whole packet, if it is fragmented; otherwise the bytes of the MAC payload.
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
