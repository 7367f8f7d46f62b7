//! The layers above IPv6.
//!
//! - [`tcp`], [`udp`], [`icmp`]: one module for each protocol;
//! - [`nd`] and [`rpl`]: messages within ICMPv6;
//! - [`coap`], [`tmf`] and [`mle`]: messages within UDP.

pub mod coap;
pub mod icmp;
pub mod mle;
pub mod nd;
pub mod rpl;
pub mod tcp;
pub mod tmf;
pub mod udp;

use redpoll_wire::ipv6::next_header;

use crate::ip::Packet;
use crate::layer::Layer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Wrong,
    Right,
    /// Not verified: the packet is incomplete, or a context is unknown.
    Unchecked,
}

impl Verdict {
    pub(crate) fn of(is_right: Option<bool>) -> Verdict {
        match is_right {
            Some(true) => Verdict::Right,
            Some(false) => Verdict::Wrong,
            None => Verdict::Unchecked,
        }
    }

    fn number(self) -> u8 {
        match self {
            Verdict::Wrong => 0,
            Verdict::Right => 1,
            Verdict::Unchecked => 2,
        }
    }

    pub(crate) fn show(self, name: &'static str, layer: &mut Layer) {
        layer.number(name, self.number());
        if self == Verdict::Wrong {
            layer.say("(wrong checksum)");
        }
    }
}

pub(crate) fn show(packet: &Packet, protocol: u8, layers: &mut Vec<Layer>) {
    match protocol {
        next_header::TCP => tcp::show(packet, layers),
        next_header::UDP => udp::show(packet, layers),
        next_header::ICMPV6 => icmp::show(packet, layers),
        next_header::NONE => say("no next header".to_owned(), layers),
        // The protocol is unknown, or the packet has more headers than are parsed.
        other => say(
            format!("next header {other}, {} B", packet.body_len()),
            layers,
        ),
    }
}

fn say(title: String, layers: &mut Vec<Layer>) {
    layers.push(Layer {
        title,
        ..Layer::new("redpoll")
    });
}
