//! A frame in words: one line for a list, and all layers with their fields.

use redpoll_base::Ecn;
use redpoll_dissect::layer;
use redpoll_dissect::mac::Kind;
use redpoll_wire::ipv6::next_header;
use redpoll_wire::sixlowpan::Contexts;
use redpoll_wire::tcp::Flags;
use serde::Serialize;

use super::Tcp;
use super::open::{Lowpan, Opened, Packet};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The innermost protocol that the frame shows.
    pub protocol: &'static str,
    pub info: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Layer {
    pub name: String,
    /// Name of the layer with its most important values.
    pub title: String,
    pub fields: Vec<(&'static str, String)>,
}

/// Returns a description of a frame in one line.
pub fn line(opened: Option<&Opened<'_>>) -> Line {
    let Some(opened) = opened else {
        return Line {
            protocol: "802.15.4",
            info: "not readable".to_owned(),
        };
    };
    let mac = &opened.mac;
    match (mac.kind, opened.lowpan) {
        (Kind::Ack, _) => {
            let pending = if mac.frame_pending {
                ", another frame follows"
            } else {
                ""
            };
            of(
                "ACK",
                format!("acknowledges frame {}{pending}", number(mac.dsn)),
            )
        }
        (Kind::Beacon, _) => of("802.15.4", "beacon".to_owned()),
        (Kind::Command, _) => of("802.15.4", command(mac.payload)),
        (Kind::Multipurpose, _) => of("802.15.4", "multipurpose".to_owned()),
        (Kind::Other(kind), _) => of("802.15.4", format!("frame of type {kind}")),
        (Kind::Data, None) => of(
            "802.15.4",
            if mac.security {
                "secured".to_owned()
            } else {
                "no payload".to_owned()
            },
        ),
        (Kind::Data, Some(lowpan)) => match &opened.packet {
            Some(packet) => {
                let inner = packet_line(packet);
                let info = match lowpan {
                    Lowpan::First { size, .. } => {
                        format!("{} · 1st fragment of a datagram of {size} B", inner.info)
                    }
                    Lowpan::Recoverable { .. } => format!("{} · 1st fragment", inner.info),
                    _ => inner.info,
                };
                Line { info, ..inner }
            }
            None => of("6LoWPAN", fragment(lowpan)),
        },
    }
}

/// Returns a frame's sequence number as text. IEEE 802.15.4-2015 allows frames without one.
fn number(dsn: Option<u8>) -> String {
    dsn.map_or_else(|| "(no number)".to_owned(), |dsn| dsn.to_string())
}

fn of(protocol: &'static str, info: String) -> Line {
    Line { protocol, info }
}

fn fragment(lowpan: Lowpan) -> String {
    match lowpan {
        Lowpan::Next {
            tag,
            size,
            offset,
            len,
        } => {
            let last = if usize::from(offset) + len == usize::from(size) {
                ", last"
            } else {
                ""
            };
            format!("fragment of datagram {tag}: {offset}+{len} of {size} B{last}")
        }
        Lowpan::First { tag, size } => format!("first fragment of datagram {tag} of {size} B"),
        Lowpan::Recoverable {
            tag,
            sequence,
            offset,
            len,
        } => {
            format!("recoverable fragment {sequence} of datagram {tag}: {offset}+{len} B")
        }
        Lowpan::RecoverableAck { tag, bitmap } => {
            format!("acknowledges fragments {bitmap:08x} of datagram {tag}")
        }
        Lowpan::Whole | Lowpan::Other => "not readable".to_owned(),
    }
}

fn packet_line(packet: &Packet) -> Line {
    let body = &packet.body;
    match packet.upper {
        next_header::TCP => match Tcp::parse(body, packet.body_len) {
            Some(tcp) => {
                let mut info = format!("{} → {} [{}]", tcp.ports[0], tcp.ports[1], tcp.letters());
                if let Some(ack) = tcp.ack {
                    info += &format!(" ack {ack}");
                }
                info += &format!(" seq {} len {}", tcp.seq, tcp.len);
                if !tcp.sack.is_empty() {
                    info += &format!(" SACK {}", tcp.sack.len());
                }
                of("TCP", info)
            }
            None => of("TCP", "not readable".to_owned()),
        },
        next_header::UDP => of("UDP", titles(packet, "UDP ")),
        next_header::ICMPV6 => of("ICMPv6", titles(packet, "ICMPv6 ")),
        _ => of("IPv6", titles(packet, "")),
    }
}

/// Returns the dissector's words for the layers above IPv6, without the `name` of the first one.
fn titles(packet: &Packet, name: &str) -> String {
    let titles = packet.above.iter().map(|layer| layer.title.as_str());
    let titles: Vec<&str> = titles.filter(|title| !title.is_empty()).collect();
    let all = titles.join(" · ").replace(" > ", " → ");
    all.strip_prefix(name).map_or(all.clone(), str::to_owned)
}

/// Returns the MAC command (IEEE 802.15.4-2015 §7.5).
fn command(payload: &[u8]) -> String {
    match payload.first() {
        Some(1) => "association request".to_owned(),
        Some(2) => "association response".to_owned(),
        Some(3) => "disassociation".to_owned(),
        Some(4) => "data request: asks the parent for waiting frames".to_owned(),
        Some(7) => "beacon request".to_owned(),
        Some(other) => format!("command {other}"),
        None => "no command identifier".to_owned(),
    }
}

/// Returns all layers of a frame, the outermost first. `first` is the first fragment of its
/// datagram, if the frame is a later fragment and the first is known.
pub fn layers(mpdu: &[u8], first: Option<&[u8]>, contexts: &Contexts) -> Vec<Layer> {
    let Some(opened) = Opened::of(mpdu, contexts) else {
        return vec![Layer {
            name: "802.15.4".to_owned(),
            title: format!("{} B that are not a frame", mpdu.len()),
            fields: Vec::new(),
        }];
    };
    let mut all = vec![mac_layer(&opened, mpdu.len())];
    if let Some(lowpan) = opened.lowpan {
        all.push(lowpan_layer(lowpan, opened.mac.payload.len()));
    }
    let first = first.and_then(|first| Opened::of(first, contexts));
    let packet = opened.packet.as_ref();
    let is_first_here = packet.is_some();
    if let Some(packet) = packet.or_else(|| first.as_ref()?.packet.as_ref()) {
        let mut inner = packet_layers(packet);
        if !is_first_here {
            for layer in &mut inner {
                layer.title += " (from the first fragment)";
            }
        }
        all.append(&mut inner);
    }
    all
}

fn mac_layer(opened: &Opened<'_>, len: usize) -> Layer {
    let mac = &opened.mac;
    let name = match mac.kind {
        Kind::Beacon => "beacon",
        Kind::Data => "data",
        Kind::Ack => "acknowledgement",
        Kind::Command => "command",
        Kind::Multipurpose => "multipurpose",
        Kind::Other(_) => "other",
    };
    let mut fields = vec![
        ("Frame type", name.to_owned()),
        ("Length", format!("{len} B and check sequence")),
        ("Sequence number", number(mac.dsn)),
        ("Acknowledgement requested", yes(mac.ack_request)),
        ("Frame pending", yes(mac.frame_pending)),
        ("Security", yes(mac.security)),
    ];
    if mac.kind != Kind::Ack {
        if let Some(pan) = mac.dst_pan {
            fields.push(("PAN", format!("0x{pan:04x}")));
        }
        fields.push(("Source", mac.src.to_string()));
        fields.push(("Destination", mac.dst.to_string()));
    }
    if mac.kind == Kind::Command {
        fields.push(("Command", command(mac.payload)));
    }
    Layer {
        name: "IEEE 802.15.4".to_owned(),
        title: format!("{name}, sequence number {}, {len} B", number(mac.dsn)),
        fields,
    }
}

fn lowpan_layer(lowpan: Lowpan, len: usize) -> Layer {
    let mut fields = vec![("Length", format!("{len} B"))];
    let title = match lowpan {
        Lowpan::Whole => "a whole datagram".to_owned(),
        Lowpan::First { tag, size } => {
            fields.push(("Datagram tag", tag.to_string()));
            fields.push(("Datagram size", format!("{size} B")));
            fragment(lowpan)
        }
        Lowpan::Next {
            tag, size, offset, ..
        } => {
            fields.push(("Datagram tag", tag.to_string()));
            fields.push(("Datagram size", format!("{size} B")));
            fields.push(("Datagram offset", format!("{offset} B")));
            fragment(lowpan)
        }
        Lowpan::Recoverable { tag, sequence, .. } => {
            fields.push(("Datagram tag", tag.to_string()));
            fields.push(("Fragment", sequence.to_string()));
            fragment(lowpan)
        }
        Lowpan::RecoverableAck { tag, bitmap } => {
            fields.push(("Datagram tag", tag.to_string()));
            fields.push(("Bitmap", format!("{bitmap:032b}")));
            fragment(lowpan)
        }
        Lowpan::Other => "a protocol that Redpoll does not use".to_owned(),
    };
    Layer {
        name: "6LoWPAN".to_owned(),
        title,
        fields,
    }
}

fn packet_layers(packet: &Packet) -> Vec<Layer> {
    let ip = &packet.ip;
    let ecn = match ip.ecn {
        Ecn::NotEct => "not ECN-capable",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ce => "congestion experienced",
    };
    let mut fields = vec![
        ("Source", ip.src.to_string()),
        ("Destination", packet.dst.to_string()),
        ("Hop limit", ip.hop_limit.to_string()),
        ("Payload length", format!("{} B", ip.payload_len)),
        ("ECN", ecn.to_owned()),
        ("Flow label", format!("0x{:05x}", ip.flow_label)),
    ];
    if packet.extensions > 0 {
        fields.push(("Extension headers", format!("{} B", packet.extensions)));
    }
    let mut all = vec![Layer {
        name: "IPv6".to_owned(),
        title: format!("{} → {}", ip.src, packet.dst),
        fields,
    }];
    let line = packet_line(packet);
    let length = || vec![("Length", format!("{} B", packet.body_len))];
    let mut above = packet.above.iter();
    let fields = match packet.upper {
        next_header::TCP => Tcp::parse(&packet.body, packet.body_len).map(|tcp| tcp_fields(&tcp)),
        _ => above.next().map(fields_of),
    };
    all.push(Layer {
        name: line.protocol.to_owned(),
        title: line.info,
        fields: fields.filter(|all| !all.is_empty()).unwrap_or_else(length),
    });
    all.extend(above.filter(|it| !it.fields.is_empty()).map(|layer| Layer {
        name: layer.name.to_owned(),
        title: layer.title.replace(" > ", " → "),
        fields: fields_of(layer),
    }));
    all
}

/// Returns the dissector's fields, which have Wireshark's names.
fn fields_of(layer: &layer::Layer) -> Vec<(&'static str, String)> {
    let fields = layer.fields.iter();
    fields
        .map(|field| (field.name, field.value.text()))
        .collect()
}

fn tcp_fields(tcp: &Tcp) -> Vec<(&'static str, String)> {
    const NAMES: [(Flags, &str); 8] = [
        (Flags::SYN, "SYN"),
        (Flags::ACK, "ACK"),
        (Flags::PSH, "PSH"),
        (Flags::FIN, "FIN"),
        (Flags::RST, "RST"),
        (Flags::URG, "URG"),
        (Flags::ECE, "ECE"),
        (Flags::CWR, "CWR"),
    ];
    let set = NAMES.iter().filter(|(bit, _)| tcp.flags.contains(*bit));
    let flags: Vec<&str> = set.map(|(_, name)| *name).collect();
    let mut fields = vec![
        ("Source port", tcp.ports[0].to_string()),
        ("Destination port", tcp.ports[1].to_string()),
        ("Sequence number", tcp.seq.to_string()),
    ];
    if let Some(ack) = tcp.ack {
        fields.push(("Acknowledgement number", ack.to_string()));
    }
    fields.extend([
        ("Flags", flags.join(", ")),
        ("Window", tcp.window.to_string()),
        ("Payload", format!("{} B", tcp.len)),
    ]);
    if let Some(mss) = tcp.mss {
        fields.push(("Maximum segment size", format!("{mss} B")));
    }
    if let Some(scale) = tcp.scale {
        fields.push(("Window scale", scale.to_string()));
    }
    if tcp.may_sack {
        fields.push(("SACK permitted", yes(true)));
    }
    if let Some([val, ecr]) = tcp.timestamps {
        fields.push(("Timestamps", format!("{val}, echo {ecr}")));
    }
    for [begin, end] in &tcp.sack {
        fields.push(("SACK", format!("{begin} to {end}")));
    }
    fields
}

fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}
