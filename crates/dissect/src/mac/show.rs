//! The MAC header as a layer.

use redpoll_wire::ieee802154::Address;

use super::{Auxiliary, Kind, Mac};
use crate::layer::{Bytes, Layer, Value};

impl Mac<'_> {
    /// Returns the header as a layer. `len` is the length of the frame in bytes. `is_open` says
    /// whether the payload is readable: not encrypted, or decrypted.
    pub fn layer(&self, len: usize, is_open: bool) -> Layer {
        let mut layer = Layer::new("wpan");
        self.say_head(&mut layer, len);
        self.add_head(&mut layer);
        if self.security {
            layer.say("secured");
        }
        if let Some(aux) = &self.aux {
            aux.show(&mut layer);
        }
        if self.security && !is_open {
            match &self.aux {
                Some(aux) => layer.say(aux.describe()),
                None => layer.say("secured as in IEEE 802.15.4-2003"),
            }
            layer.say(format!("payload encrypted ({} B)", self.payload.len()));
        } else if self.security
            && let Some(aux) = self.aux.filter(|aux| !aux.encrypts())
        {
            layer.say(aux.describe());
        }
        if !self.mic.is_empty() {
            layer.bytes("wpan.mic", self.mic);
        }
        let elements = self.elements.iter().chain(&self.payload_elements);
        let names: Vec<String> = elements.clone().map(|element| element.describe()).collect();
        elements.for_each(|element| element.show(&mut layer));
        if !names.is_empty() {
            layer.say(format!("IE [{}]", names.join(", ")));
        }
        if let Some(problem) = self.problem {
            layer.say(format!("malformed: {problem}"));
        }
        if is_open {
            self.add_payload(&mut layer);
        }
        layer
    }

    fn say_head(&self, layer: &mut Layer, len: usize) {
        let name = match (self.kind, self.version) {
            (Kind::Beacon, 2) => "enhanced beacon".to_owned(),
            (Kind::Beacon, _) => "beacon".to_owned(),
            (Kind::Data, _) => "data".to_owned(),
            (Kind::Ack, 2) => "enhanced ack".to_owned(),
            (Kind::Ack, _) => "ack".to_owned(),
            (Kind::Command, _) => "command".to_owned(),
            (Kind::Multipurpose, _) => "multipurpose".to_owned(),
            (Kind::Other(number), _) => format!("frame type {number}, which is not decoded,"),
        };
        let has_addresses = !self.src.is_empty() || !self.dst.is_empty();
        layer.title = match has_addresses {
            true => format!(
                "{:>6} > {:<6} {name}",
                self.src.to_string(),
                self.dst.to_string()
            ),
            false if self.kind == Kind::Ack => format!("{:>6}   {:<6} {name}", "", ""),
            false => format!("{:>6} > {:<6} {name}", "-", "-"),
        };
        if let Some(dsn) = self.dsn {
            layer.say(format!("seq {dsn}"));
        }
        layer.say(format!("[{len} B]"));
        if self.frame_pending {
            layer.say("pending");
        }
    }

    fn add_head(&self, layer: &mut Layer) {
        let kind = match self.kind {
            Kind::Beacon => 0,
            Kind::Data => 1,
            Kind::Ack => 2,
            Kind::Command => 3,
            Kind::Multipurpose => 5,
            Kind::Other(number) => number,
        };
        layer.hex("wpan.frame_type", kind, 4);
        if matches!(self.kind, Kind::Other(_)) {
            return;
        }
        // A short multipurpose frame has no bits for security, pending frames and acknowledgments,
        // and no version.
        if !self.is_short_multipurpose() {
            layer.flag("wpan.security", self.security);
            layer.flag("wpan.pending", self.frame_pending);
            layer.flag("wpan.ack_request", self.ack_request);
        }
        let is_multipurpose = self.kind == Kind::Multipurpose;
        if !is_multipurpose {
            layer.flag("wpan.pan_id_compression", self.pan_compression);
            layer.number("wpan.version", self.version);
        } else if !self.is_short_multipurpose() {
            layer.number("wpan.mpf_version", self.version);
        }
        let (dst, src) = if is_multipurpose { (4, 6) } else { (10, 14) };
        layer.hex("wpan.dst_addr_mode", self.control >> dst & 0b11, 4);
        layer.hex("wpan.src_addr_mode", self.control >> src & 0b11, 4);
        if let Some(dsn) = self.dsn {
            layer.number("wpan.seq_no", dsn);
        }
        if let Some(pan) = self.dst_pan {
            layer.hex("wpan.dst_pan", pan, 4);
        }
        address(layer, self.dst, "wpan.dst16", "wpan.dst64");
        if let Some(pan) = self.src_pan {
            layer.hex("wpan.src_pan", pan, 4);
        }
        address(layer, self.src, "wpan.src16", "wpan.src64");
    }

    fn add_payload(&self, layer: &mut Layer) {
        match self.kind {
            Kind::Command => self.add_command(layer),
            Kind::Beacon if self.version < 2 && add_beacon(layer, self.payload).is_none() => {
                layer.say("malformed: truncated beacon");
            }
            _ => {}
        }
    }

    /// Adds the MAC command (IEEE 802.15.4-2015 §7.5).
    fn add_command(&self, layer: &mut Layer) {
        let mut input = Bytes(self.payload);
        let Some(command) = input.u8() else {
            return layer.say("malformed: no command identifier");
        };
        layer.hex("wpan.cmd", command, 2);
        match command {
            1 => {
                layer.say("association request");
                if let Some(info) = input.u8() {
                    for (name, bit) in [
                        ("wpan.cinfo.alt_coord", 0x01),
                        ("wpan.cinfo.device_type", 0x02),
                        ("wpan.cinfo.power_src", 0x04),
                        ("wpan.cinfo.idle_rx", 0x08),
                        ("wpan.cinfo.sec_capable", 0x40),
                        ("wpan.cinfo.alloc_addr", 0x80),
                    ] {
                        layer.flag(name, info & bit != 0);
                    }
                }
            }
            2 => {
                layer.say("association response");
                if let (Some(short), Some(status)) = (input.u16_le(), input.u8()) {
                    layer.hex("wpan.asoc.addr", short, 4);
                    layer.hex("wpan.assoc.status", status, 2);
                    layer.say(format!("0x{short:04x} status {status}"));
                }
            }
            3 => {
                layer.say("disassociation");
                if let Some(reason) = input.u8() {
                    layer.hex("wpan.disassoc.reason", reason, 2);
                    layer.say(format!("reason {reason}"));
                }
            }
            4 => layer.say("data request"),
            5 => layer.say("PAN identifier conflict"),
            6 => layer.say("orphan notification"),
            7 => layer.say("beacon request"),
            8 => layer.say("coordinator realignment"),
            9 => layer.say("GTS request"),
            other => layer.say(format!("command {other}")),
        }
    }
}

/// Adds the fields of a beacon whose frame version is 0 or 1 (IEEE 802.15.4-2015 §7.3.1).
fn add_beacon(layer: &mut Layer, payload: &[u8]) -> Option<()> {
    let mut input = Bytes(payload);
    let superframe = input.u16_le()?;
    layer.number("wpan.beacon_order", superframe & 0x0f);
    layer.number("wpan.superframe_order", superframe >> 4 & 0x0f);
    layer.number("wpan.cap", superframe >> 8 & 0x0f);
    layer.flag("wpan.battery_ext", superframe & 1 << 12 != 0);
    layer.flag("wpan.bcn_coord", superframe & 1 << 14 != 0);
    layer.flag("wpan.assoc_permit", superframe & 1 << 15 != 0);
    let gts = input.u8()?;
    layer.number("wpan.gts.count", gts & 0b111);
    layer.flag("wpan.gts.permit", gts & 0x80 != 0);
    if gts & 0b111 != 0 {
        input.take(1 + 3 * usize::from(gts & 0b111))?;
    }
    let pending = input.u8()?;
    for _ in 0..pending & 0b111 {
        layer.hex("wpan.pending16", input.u16_le()?, 4);
    }
    for _ in 0..pending >> 4 & 0b111 {
        let mut eui64: [u8; 8] = input.array()?;
        eui64.reverse();
        layer.add("wpan.pending64", Value::Link(Address::Extended(eui64)));
    }
    Some(())
}

impl Auxiliary<'_> {
    pub fn describe(&self) -> String {
        let mut text = self.name().to_owned();
        text += &match self.counter {
            Some(counter) => format!(" counter {counter}"),
            None => " counter suppressed".to_owned(),
        };
        match (self.source, self.index) {
            (_, None) => text += " key implicit",
            ([], Some(index)) => text += &format!(" key index {index}"),
            (source, Some(index)) => {
                text += &format!(" key source {} index {index}", crate::layer::hex(source));
            }
        }
        text
    }

    fn show(&self, layer: &mut Layer) {
        layer.hex("wpan.aux_sec.sec_level", self.level(), 2);
        layer.hex("wpan.aux_sec.key_id_mode", self.key_mode(), 2);
        if let Some(counter) = self.counter {
            layer.number("wpan.aux_sec.frame_counter", counter);
        }
        if !self.source.is_empty() {
            let number = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
            let digits = 2 * self.source.len();
            layer.hex(
                "wpan.aux_sec.key_source",
                self.source.iter().fold(0, number),
                digits,
            );
            layer.bytes("wpan.aux_sec.key_source.bytes", self.source);
        }
        if let Some(index) = self.index {
            layer.hex("wpan.aux_sec.key_index", index, 2);
        }
    }
}

fn address(layer: &mut Layer, address: Address, short: &'static str, long: &'static str) {
    match address {
        Address::Absent => {}
        Address::Short(number) => layer.hex(short, number, 4),
        Address::Extended(_) => layer.add(long, Value::Link(address)),
    }
}
