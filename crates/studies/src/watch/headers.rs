//! How long headers are.

use std::collections::BTreeMap;

use redpoll_sim::trace::TracedFrame;
use redpoll_wire::sixlowpan::Contexts;

use super::frame::{Parts, parts};
use super::{Found, Look};

/// The longest frame (IEEE 802.15.4, aMaxPhyPacketSize).
const FULL: usize = 127;

/// See `View::Headers`.
#[derive(Default)]
pub struct Headers {
    /// The least and the greatest by name.
    ranges: BTreeMap<String, (usize, usize)>,
    /// Frames that hold a whole segment, by the length of its data: how many, and
    /// bytes of headers in all.
    whole: BTreeMap<usize, (usize, usize)>,
}

impl Look for Headers {
    fn look(&mut self, frame: &TracedFrame<'_>, contexts: &Contexts) {
        let Some(parts) = parts(frame.mpdu, contexts) else {
            return;
        };
        match &parts.tcp {
            // Handshakes and acknowledgments carry nothing.
            Some(tcp) if tcp.payload == 0 => {}
            Some(tcp) => {
                self.take("first", &parts, tcp.len);
                if !parts.is_part {
                    let headers = parts.mac + parts.lowpan + parts.ip + tcp.len;
                    let (count, sum) = self.whole.entry(tcp.payload).or_default();
                    (*count, *sum) = (*count + 1, *sum + headers);
                }
            }
            None => self.take("next", &parts, 0),
        }
    }

    fn found(&self) -> Found {
        let mut found = Found::new();
        for (name, (least, most)) in &self.ranges {
            found.insert(format!("{name}.least"), *least as f64);
            found.insert(format!("{name}.most"), *most as f64);
        }
        let usual = self.whole.iter().max_by_key(|(_, (count, _))| *count);
        if let Some((payload, (count, headers))) = usual {
            let all = headers + payload * count;
            found.insert("share".to_owned(), *headers as f64 / all as f64);
        }
        found
    }
}

impl Headers {
    fn take(&mut self, place: &str, parts: &Parts, tcp: usize) {
        let total = parts.mac + parts.lowpan + parts.ip + tcp;
        for (layer, bytes) in [
            ("mac", parts.mac),
            ("lowpan", parts.lowpan),
            ("ip", parts.ip),
            ("tcp", tcp),
            ("total", total),
        ] {
            self.widen(format!("{place}.{layer}"), bytes);
        }
        self.widen("room".to_owned(), FULL - parts.mac);
    }

    fn widen(&mut self, name: String, bytes: usize) {
        let range = self.ranges.entry(name).or_insert((bytes, bytes));
        *range = (range.0.min(bytes), range.1.max(bytes));
    }
}
