//! Decodes captured frames to layers.

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::Contexts;
use serde_json::{Map, Value as Json};

use crate::capture::{Captured, Content, Record, Trailer};
use crate::ip::Packet;
use crate::keys::Keys;
use crate::layer::{Layer, Value};
use crate::lowpan::expand::{Expanded, Whole, expand, is_datagram};
use crate::lowpan::reassembly::{Complete, Reassembly};
use crate::lowpan::{Body, Lowpan};
use crate::mac::{Kind, Mac};
use crate::upper::{self, Verdict};

#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Prefixes that compressed addresses elide.
    pub contexts: Contexts,
    pub keys: Keys,
}

impl Reading {
    /// Returns a reading with `prefix` as context 0 and without keys.
    pub fn of(prefix: Addr) -> Reading {
        Reading {
            contexts: Contexts::with_prefix(prefix),
            keys: Keys::default(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Frame {
    pub layers: Vec<Layer>,
    pub packet: Option<Packet>,
    /// Contexts that the compressed addresses use; bit n stands for context n.
    pub contexts: u16,
    /// Contexts that the compressed addresses use and that are unknown; bit n stands for context n.
    pub unknown_contexts: u16,
    pub is_shut: bool,
}

impl Frame {
    pub fn summary(&self) -> String {
        let titles = self.layers.iter().map(|layer| layer.title.as_str());
        let titles: Vec<&str> = titles.filter(|title| !title.is_empty()).collect();
        titles.join(" ")
    }

    pub fn checksum(&self) -> Option<Verdict> {
        const NAMES: [&str; 3] = [
            "tcp.checksum.status",
            "udp.checksum.status",
            "icmpv6.checksum.status",
        ];
        // The first checksum is the packet's; a packet quoted by an ICMPv6 error has its own.
        let mut layers = self.layers.iter();
        let value = layers.find_map(|layer| NAMES.iter().find_map(|name| layer.get(name)))?;
        Some(match value {
            Value::Number(0) => Verdict::Wrong,
            Value::Number(1) => Verdict::Right,
            _ => Verdict::Unchecked,
        })
    }

    /// Returns the frame as a JSON object, with its number and its time in seconds.
    pub fn json(&self, number: u64, at_us: Option<u64>) -> Json {
        let mut object = Map::new();
        object.insert("number".to_owned(), Json::from(number));
        let time = at_us.map(|us| format!("{}.{:06}", us / 1_000_000, us % 1_000_000));
        object.insert("time".to_owned(), Json::from(time));
        object.insert("summary".to_owned(), Json::from(self.summary()));
        let layers = self.layers.iter().filter(|layer| !layer.fields.is_empty());
        let layers: Vec<Json> = layers.map(Layer::json).collect();
        object.insert("layers".to_owned(), Json::from(layers));
        Json::Object(object)
    }
}

/// Decodes frames, and reassembles datagrams.
#[derive(Debug, Default)]
pub struct Dissector {
    reading: Reading,
    reassembly: Reassembly,
}

impl Dissector {
    pub fn new(reading: Reading) -> Dissector {
        Dissector {
            reading,
            reassembly: Reassembly::default(),
        }
    }

    /// Returns the contexts and keys, including those that the frames have revealed.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    pub fn record(&mut self, record: &Record) -> Frame {
        let at_us = record.at_us.unwrap_or(0);
        match record.content() {
            Ok(Content::Frame(captured)) => self.captured(&captured, at_us),
            Ok(Content::Lowpan {
                bytes,
                src,
                dst,
                missing,
            }) => {
                let mut frame = Frame::default();
                let mut layer = Layer::new("eth");
                layer.title = format!("{src} > {dst} LoWPAN in Ethernet");
                frame.layers.push(layer);
                self.lowpan(bytes, src, dst, at_us, missing > 0, &mut frame);
                frame.cut_off(missing);
                frame
            }
            Ok(Content::Packet { bytes, missing }) => {
                let mut frame = Frame::default();
                let packet = Packet::parse(bytes.to_vec(), missing > 0, &[]);
                packet.show(&mut frame.layers);
                frame.packet = Some(packet);
                frame.cut_off(missing);
                frame
            }
            Ok(Content::ZepAck(number)) => complaint(format!("ZEP acknowledgment of {number}")),
            Ok(Content::Foreign(name)) => {
                complaint(format!("malformed: {name}, which is not IEEE 802.15.4"))
            }
            Err(problem) => complaint(format!("malformed: {problem}")),
        }
    }

    /// Decodes a complete frame without check sequence.
    pub fn mpdu(&mut self, mpdu: &[u8], at_us: u64) -> Frame {
        self.captured(&Captured::of(mpdu), at_us)
    }

    pub fn captured(&mut self, captured: &Captured<'_>, at_us: u64) -> Frame {
        let mut frame = Frame::default();
        match Mac::parse(captured.mpdu) {
            Ok(mac) => self.frame(captured, mac, at_us, &mut frame),
            Err(problem) => {
                let len = captured.mpdu.len();
                frame.say(format!("malformed frame ({problem}) [{len} B]"));
            }
        }
        frame.trailer(captured);
        frame.cut_off(captured.missing);
        frame
    }

    fn frame(&mut self, captured: &Captured<'_>, mac: Mac<'_>, at_us: u64, frame: &mut Frame) {
        let mut mac = mac;
        let plain = match mac.is_readable() {
            true => None,
            false => self.reading.keys.open(captured.mpdu, &mac),
        };
        let is_open = mac.is_readable() || plain.is_some();
        if let Some(plain) = &plain {
            mac.opened(plain);
        }
        frame.is_shut = !is_open;
        frame.layers.push(mac.layer(captured.mpdu.len(), is_open));
        let is_data = match mac.kind {
            Kind::Data => true,
            Kind::Multipurpose => is_datagram(mac.payload),
            _ => false,
        };
        if is_open && is_data {
            let is_cut = captured.missing > 0;
            let (src, dst) = (mac.src, mac.dst);
            self.lowpan(mac.payload, src, dst, at_us, is_cut, frame);
            self.mle(src, dst, frame);
        }
    }

    /// Decrypts a secured MLE message of a Thread network, and stores what the message reveals.
    fn mle(&mut self, src: Address, dst: Address, frame: &mut Frame) {
        let Reading { contexts, keys } = &mut self.reading;
        let (Some(thread), Some(packet), Address::Extended(src)) =
            (keys.thread(), &frame.packet, src)
        else {
            return;
        };
        let is_mle = frame.layers.last().is_some_and(|it| it.name == "mle");
        if packet.is_part || !is_mle {
            return;
        }
        let Some(header) = packet.ips.last().map(|ip| ip.header) else {
            return;
        };
        // The message follows the UDP header of eight bytes.
        let payload = packet.body().get(8..).unwrap_or_default();
        let Some(opened) = thread.open_mle((header.src, header.dst), src, payload) else {
            return;
        };
        let dst = match dst {
            Address::Extended(dst) => Some(dst),
            _ => None,
        };
        thread.learn(&opened, (src, dst), contexts);
        frame.layers.pop();
        frame.layers.push(upper::mle::opened(&opened.plain));
    }

    fn lowpan(
        &mut self,
        payload: &[u8],
        src: Address,
        dst: Address,
        at_us: u64,
        is_cut: bool,
        frame: &mut Frame,
    ) {
        let lowpan = Lowpan::parse(payload, src, dst);
        let mut layer = Layer::new("6lowpan");
        lowpan.show(&mut layer);
        let (whole, head) = match &lowpan.body {
            Body::Whole(bytes) => (Whole::Here, Some(*bytes)),
            Body::First { size, rest, .. } => (Whole::Expanded((*size).into()), Some(*rest)),
            Body::Recoverable(header, rest) if header.sequence == 0 && !header.is_abort() => {
                (Whole::Compressed(header.offset.into()), Some(*rest))
            }
            _ => (Whole::Here, None),
        };
        let expanded = head.map(|head| {
            let ends = (lowpan.src, lowpan.dst);
            expand(head, ends, &self.reading.contexts, whole, &mut layer)
        });
        let covered = match &expanded {
            Some(Ok(expanded)) => expanded.packet.len(),
            _ => 0,
        };
        let complete = match is_cut {
            true => None,
            false => self.reassembly.input(&lowpan, (src, dst), at_us, covered),
        };
        match (complete, expanded) {
            (Some(complete), expanded) => {
                let first = expanded.and_then(Result::ok);
                self.complete(complete, first, &lowpan, layer, frame);
            }
            (None, Some(Ok(expanded))) => {
                frame.layers.push(layer);
                let is_part = is_cut || whole != Whole::Here;
                frame.packet(expanded, is_part);
            }
            (None, Some(Err(problem))) => {
                layer.say(problem);
                frame.layers.push(layer);
            }
            (None, None) => frame.layers.push(layer),
        }
    }

    fn complete(
        &self,
        complete: Complete,
        here: Option<Expanded>,
        lowpan: &Lowpan<'_>,
        mut layer: Layer,
        frame: &mut Frame,
    ) {
        let contexts = &self.reading.contexts;
        let ends = (lowpan.src, lowpan.dst);
        // The fields of the first fragment's headers were shown with that fragment.
        let mut hidden = Layer::new("6lowpan");
        let len = match &complete {
            Complete::Compressed(bytes) | Complete::Expanded { bytes, .. } => bytes.len(),
        };
        let expanded = match complete {
            Complete::Compressed(bytes) => expand(&bytes, ends, contexts, Whole::Here, &mut hidden),
            Complete::Expanded { first, bytes } => {
                let whole = Whole::Expanded(bytes.len());
                expand(&first, ends, contexts, whole, &mut hidden).map(|mut head| {
                    let rest = bytes.get(head.packet.len()..).unwrap_or_default();
                    head.packet.extend_from_slice(rest);
                    head
                })
            }
        };
        match expanded {
            Ok(expanded) => {
                if here.is_none() {
                    layer.say(format!("reassembled {len} B"));
                    layer.number("6lowpan.reassembled.length", len as u64);
                }
                frame.layers.push(layer);
                frame.packet(expanded, false);
            }
            Err(problem) => {
                layer.say(format!("reassembled {problem}"));
                frame.layers.push(layer);
            }
        }
    }
}

fn complaint(words: String) -> Frame {
    let mut frame = Frame::default();
    frame.say(words);
    frame
}

impl Frame {
    fn say(&mut self, words: String) {
        self.layers.push(Layer {
            title: words,
            ..Layer::new("redpoll")
        });
    }

    fn packet(&mut self, expanded: Expanded, is_part: bool) {
        self.contexts |= expanded.used;
        for unknown in &expanded.unknown {
            for cid in [unknown.src, unknown.dst].into_iter().flatten() {
                self.unknown_contexts |= 1 << (cid & 0x0f);
            }
        }
        let mut packet = Packet::parse(expanded.packet, is_part, &expanded.unknown);
        packet.is_udp_elided = expanded.is_udp_elided;
        packet.show(&mut self.layers);
        self.packet = Some(packet);
    }

    fn trailer(&mut self, captured: &Captured<'_>) {
        let mut words = Vec::new();
        let is_right = captured.is_right();
        let Some(layer) = self.layers.first_mut() else {
            return;
        };
        match captured.trailer {
            Trailer::Absent => {}
            Trailer::Crc16(fcs) => layer.hex("wpan.fcs", fcs, 4),
            Trailer::Crc32(fcs) => layer.hex("wpan.fcs32", fcs, 8),
            Trailer::Ti {
                rssi, correlation, ..
            } => {
                layer.add("wpan.rssi", Value::Signed(rssi.into()));
                layer.number("wpan.correlation", correlation);
                words.push(format!("(RSSI {rssi} correlation {correlation})"));
            }
        }
        if let Some(is_right) = is_right {
            layer.flag("wpan.fcs_ok", is_right);
        }
        if is_right == Some(false) {
            words.push("(wrong FCS)".to_owned());
        }
        words.into_iter().for_each(|words| self.say(words));
    }

    fn cut_off(&mut self, missing: usize) {
        if missing > 0 {
            self.say(format!("({missing} B not captured)"));
        }
    }
}
