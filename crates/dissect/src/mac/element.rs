//! Information elements (IEEE 802.15.4-2015 §7.4).

use crate::layer::{Bytes, Layer, hex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// Element ID of a header element, or group ID of a payload element.
    pub id: u8,
    pub is_payload: bool,
    pub content: &'a [u8],
}

pub(super) struct Read<'a> {
    pub elements: Vec<Element<'a>>,
    pub problem: Option<&'static str>,
    pub payload_elements_follow: bool,
}

mod header_id {
    pub const TERMINATION_1: u8 = 0x7e;
    pub const TERMINATION_2: u8 = 0x7f;
}

mod group {
    pub const MLME: u8 = 0x1;
    pub const TERMINATION: u8 = 0xf;
}

/// The bit of an element's descriptor that marks payload elements.
const PAYLOAD: u16 = 1 << 15;

/// Reads header elements up to their termination, the first payload element or the frame's end.
pub(super) fn header<'a>(input: &mut Bytes<'a>) -> Read<'a> {
    let mut read = Read {
        elements: Vec::new(),
        problem: None,
        payload_elements_follow: false,
    };
    loop {
        let before = *input;
        if input.0.is_empty() {
            return read;
        }
        let Some(descriptor) = input.u16_le() else {
            read.problem = Some("truncated information elements");
            return read;
        };
        if descriptor & PAYLOAD != 0 {
            *input = before;
            read.payload_elements_follow = true;
            return read;
        }
        let id = (descriptor >> 7) as u8;
        let Some(content) = input.take(usize::from(descriptor & 0x7f)) else {
            *input = before;
            read.problem = Some("an information element that is longer than the frame");
            return read;
        };
        read.elements.push(Element {
            id,
            is_payload: false,
            content,
        });
        match id {
            header_id::TERMINATION_1 => {
                read.payload_elements_follow = true;
                return read;
            }
            header_id::TERMINATION_2 => return read,
            _ => {}
        }
    }
}

/// Reads payload elements up to their termination or the frame's end.
pub(super) fn payload<'a>(input: &mut Bytes<'a>) -> Read<'a> {
    let mut read = Read {
        elements: Vec::new(),
        problem: None,
        payload_elements_follow: false,
    };
    while !input.0.is_empty() {
        let before = *input;
        let Some(descriptor) = input.u16_le() else {
            read.problem = Some("truncated information elements");
            return read;
        };
        let id = (descriptor >> 11 & 0x0f) as u8;
        let content = input.take(usize::from(descriptor & 0x7ff));
        let (true, Some(content)) = (descriptor & PAYLOAD != 0, content) else {
            *input = before;
            read.problem = Some("an information element that is longer than the frame");
            return read;
        };
        read.elements.push(Element {
            id,
            is_payload: true,
            content,
        });
        if id == group::TERMINATION {
            break;
        }
    }
    read
}

impl Element<'_> {
    /// Returns the element's name (IEEE 802.15.4-2015 tables 7-7, 7-15), or its number.
    pub fn name(&self) -> String {
        let name = match (self.is_payload, self.id) {
            (false, 0x00) => "vendor",
            (false, 0x1a) => "CSL",
            (false, 0x1b) => "RIT",
            (false, 0x1c) => "DSME PAN descriptor",
            (false, 0x1d) => "rendezvous time",
            (false, 0x1e) => "time correction",
            (false, 0x21) => "extended DSME PAN descriptor",
            (false, 0x22) => "fragment sequence context",
            (false, 0x23) => "simplified superframe",
            (false, 0x24) => "simplified GTS",
            (false, 0x25) => "LECIM capabilities",
            (false, 0x29) => "global time",
            (false, 0x2b) => "DA",
            (false, header_id::TERMINATION_1) => "HT1",
            (false, header_id::TERMINATION_2) => "HT2",
            (true, 0x0) => "ESDU",
            (true, group::MLME) => "MLME",
            (true, 0x2) => "vendor payload",
            (true, 0x3) => "MPX",
            (true, 0x5) => "IETF",
            (true, group::TERMINATION) => "payload termination",
            (false, id) => return format!("header IE 0x{id:02x}"),
            (true, id) => return format!("payload IE 0x{id:x}"),
        };
        name.to_owned()
    }

    pub fn describe(&self) -> String {
        let name = self.name();
        let mut bytes = Bytes(self.content);
        match (self.is_payload, self.id) {
            (_, header_id::TERMINATION_1 | header_id::TERMINATION_2) if !self.is_payload => name,
            (true, group::TERMINATION) => name,
            (false, 0x1a) => match (bytes.u16_le(), bytes.u16_le()) {
                (Some(phase), Some(period)) => format!("{name} phase {phase} period {period}"),
                _ => format!("{name} {}", hex(self.content)),
            },
            (false, 0x1e) => match bytes.u16_le() {
                Some(word) => {
                    let nack = if word & 0x8000 != 0 { " nack" } else { "" };
                    format!("{name} {} us{nack}", correction(word))
                }
                None => format!("{name} {}", hex(self.content)),
            },
            (true, group::MLME) => {
                let inner: Vec<String> = nested(self.content).map(|sub| sub.describe()).collect();
                match inner.is_empty() {
                    true => name,
                    false => format!("{name} ({})", inner.join(", ")),
                }
            }
            _ if self.content.is_empty() => name,
            _ => format!("{name} {}", hex(self.content)),
        }
    }

    pub(super) fn show(&self, layer: &mut Layer) {
        let len = self.content.len() as u64;
        if self.is_payload {
            layer.hex("wpan.payload_ie.id", self.id, 1);
            layer.number("wpan.payload_ie.length", len);
        } else {
            layer.hex("wpan.header_ie.id", self.id, 2);
            layer.number("wpan.header_ie.length", len);
        }
        let mut bytes = Bytes(self.content);
        match (self.is_payload, self.id) {
            (false, 0x1a) => {
                for name in ["wpan.header_ie.csl.phase", "wpan.header_ie.csl.period"] {
                    bytes
                        .u16_le()
                        .into_iter()
                        .for_each(|word| layer.number(name, word));
                }
            }
            (false, 0x1e) => {
                if let Some(word) = bytes.u16_le() {
                    layer.hex("wpan.header_ie.time_correction.time_sync_info", word, 4);
                    layer.flag("wpan.nack", word & 0x8000 != 0);
                }
            }
            (true, group::MLME) => {
                for sub in nested(self.content) {
                    layer.hex("wpan.mlme.ie.id", sub.id, 2);
                    layer.number("wpan.mlme.ie.length", sub.content.len() as u64);
                    sub.show(layer);
                }
            }
            _ => {}
        }
    }
}

/// Returns the signed 12-bit time correction, in microseconds.
fn correction(word: u16) -> i16 {
    (word << 4).cast_signed() >> 4
}

/// An element within an MLME element (IEEE 802.15.4-2015 §7.4.4).
struct Nested<'a> {
    id: u8,
    is_long: bool,
    content: &'a [u8],
}

/// Returns the complete elements within an MLME element.
fn nested(content: &[u8]) -> impl Iterator<Item = Nested<'_>> {
    let mut input = Bytes(content);
    std::iter::from_fn(move || {
        let descriptor = input.u16_le()?;
        let is_long = descriptor & PAYLOAD != 0;
        let (id, len) = match is_long {
            true => (descriptor >> 11 & 0x0f, descriptor & 0x7ff),
            false => (descriptor >> 8 & 0x7f, descriptor & 0xff),
        };
        Some(Nested {
            id: id as u8,
            is_long,
            content: input.take(len.into())?,
        })
    })
}

impl Nested<'_> {
    fn describe(&self) -> String {
        let mut bytes = Bytes(self.content);
        match (self.is_long, self.id) {
            (false, 0x1a) => match (bytes.take(5), bytes.u8()) {
                (Some(asn), Some(metric)) => {
                    format!(
                        "TSCH synchronization ASN {} join metric {metric}",
                        little(asn)
                    )
                }
                _ => "TSCH synchronization".to_owned(),
            },
            (false, 0x1b) => "TSCH slotframe and link".to_owned(),
            (false, 0x1c) => "TSCH timeslot".to_owned(),
            (false, 0x1e) => "enhanced beacon filter".to_owned(),
            (true, 0x9) => "channel hopping".to_owned(),
            (_, id) => format!("sub-IE 0x{id:02x} {}", hex(self.content)),
        }
    }

    fn show(&self, layer: &mut Layer) {
        let mut bytes = Bytes(self.content);
        match (self.is_long, self.id) {
            (false, 0x1a) => {
                if let Some(asn) = bytes.take(5) {
                    layer.number("wpan.tsch.asn", little(asn));
                }
                if let Some(metric) = bytes.u8() {
                    layer.number("wpan.tsch.join_metric", metric);
                }
            }
            (false, 0x1c) => {
                if let Some(id) = bytes.u8() {
                    layer.hex("wpan.tsch.timeslot.id", id, 2);
                }
            }
            (true, 0x9) => {
                if let Some(id) = bytes.u8() {
                    layer.hex("wpan.tsch.hopping_sequence_id", id, 2);
                }
            }
            _ => {}
        }
    }
}

/// Returns an integer with its least significant byte first.
fn little(bytes: &[u8]) -> u64 {
    let number = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    bytes.iter().rev().take(8).fold(0, number)
}
