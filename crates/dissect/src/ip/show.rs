//! The headers of a packet as layers.

use redpoll_base::Ecn;
use redpoll_wire::ipv6::next_header;

use super::{Ip, Packet};
use crate::layer::Layer;
use crate::upper;

impl Packet {
    pub fn show(&self, layers: &mut Vec<Layer>) {
        for (at, ip) in self.ips.iter().enumerate() {
            let mut layer = ip.layer();
            if at > 0 {
                layer.title = format!("inner {}", layer.title);
            }
            layers.push(layer);
        }
        if let Some(problem) = self.problem {
            layers.push(complaint(problem));
            return;
        }
        match self.inner() {
            Some(ip) if ip.is_fragment => {
                layers.push(complaint(&format!("IPv6 fragment, {} B", self.body_len())));
            }
            Some(ip) => upper::show(self, ip.upper, layers),
            None => layers.push(complaint("malformed IPv6")),
        }
        if self.is_short {
            layers.push(complaint(
                "malformed: the packet is shorter than its length field says",
            ));
        }
    }
}

fn complaint(words: &str) -> Layer {
    Layer {
        title: words.to_owned(),
        ..Layer::new("redpoll")
    }
}

impl Ip {
    fn layer(&self) -> Layer {
        let mut layer = Layer::new("ipv6");
        let header = &self.header;
        layer.title = format!("{} > {}", self.src_text(), self.dst_text());
        if header.ecn != Ecn::NotEct {
            layer.say(format!("{:?}", header.ecn));
        }
        layer.say(format!("hlim {}", header.hop_limit));
        if let Some((stop, left)) = self.next_stop() {
            let stops = if left == 1 { "stop" } else { "stops" };
            layer.say(format!("next stop {stop} ({left} more {stops})"));
        }
        if let Some(information) = &self.information {
            layer.say(information.describe());
        }
        layer.number("ipv6.version", 6_u8);
        layer.hex("ipv6.tclass", header.traffic_class(), 2);
        layer.number("ipv6.tclass.dscp", header.dscp);
        layer.number("ipv6.tclass.ecn", header.ecn.bits());
        layer.hex("ipv6.flow", header.flow_label, 6);
        layer.number("ipv6.plen", header.payload_len);
        layer.number("ipv6.nxt", header.next_header);
        layer.number("ipv6.hlim", header.hop_limit);
        layer.addr("ipv6.src", header.src);
        layer.addr("ipv6.dst", header.dst);
        if self.next_stop().is_some() {
            layer.addr("redpoll.ipv6.final_dst", self.final_dst());
        }
        for cid in [self.unknown.src, self.unknown.dst].into_iter().flatten() {
            layer.number("redpoll.ipv6.unknown_context", cid);
        }
        for extension in &self.extensions {
            extension.show(&mut layer);
        }
        if self.upper == next_header::IPV6 {
            layer.say("IPv6");
        }
        layer
    }
}
