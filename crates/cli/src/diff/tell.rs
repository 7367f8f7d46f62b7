//! Describes the first difference of two runs as text and as JSON.

use std::collections::VecDeque;

use redpoll_wire::ieee802154::{FrameHeader, FrameType};
use serde_json::{Value, json};

use super::{Found, mpdu};
use crate::dissect::capture::Record;
use crate::dissect::{Reading, line};

/// First word of a layer in a decoded frame, and the layer's name; the next such word ends the
/// layer.
const LAYERS: [(&str, &str); 10] = [
    ("FRAG1", "6LoWPAN"),
    ("FRAGN", "6LoWPAN"),
    ("RFRAG", "6LoWPAN"),
    ("RFRAG-ACK", "6LoWPAN"),
    ("IPHC", "IPv6"),
    ("IPv6", "IPv6"),
    ("TCP", "TCP"),
    ("UDP", "UDP"),
    ("ICMPv6", "ICMPv6"),
    ("payload", "payload"),
];

pub(super) struct Finding {
    same: u64,
    common: Option<String>,
    /// The first different frame of each side; `None` if the side has no more frames.
    lines: [Option<String>; 2],
    at_us: [Option<u64>; 2],
    what: String,
    elsewhere: Vec<String>,
    /// A difference before the first different frame, if the recordings show one.
    cause: Option<String>,
}

impl Finding {
    pub(super) fn of(found: &Found, reading: &Reading, cause: Option<String>) -> Finding {
        let [a, b] = &found.rest;
        let firsts = [a.front(), b.front()];
        let mut elsewhere = Vec::new();
        for (first, other, names) in [(firsts[0], b, ["A", "B"]), (firsts[1], a, ["B", "A"])] {
            elsewhere.extend(first.and_then(|it| sought(it, other, names, found.same)));
        }
        Finding {
            same: found.same,
            common: found.common.as_ref().map(|record| line(record, reading)),
            lines: firsts.map(|record| record.map(|record| line(record, reading))),
            at_us: firsts.map(|record| record.and_then(|record| record.at_us)),
            what: what(firsts, reading),
            elsewhere,
            cause,
        }
    }

    pub(super) fn text(&self) -> String {
        let number = self.same + 1;
        let mut text = format!(
            "{} frames are the same; frame {number} differs\n",
            self.same
        );
        if let Some(common) = &self.common {
            text += &format!("last common frame  {common}\n");
        }
        for (name, line) in ["A", "B"].into_iter().zip(&self.lines) {
            let line = line.as_deref().unwrap_or("the run has ended");
            text += &format!("frame of {name}         {line}\n");
        }
        text += &format!("difference: {}\n", self.what);
        for line in &self.elsewhere {
            text += &format!("  {line}\n");
        }
        if let Some(cause) = &self.cause {
            text += &format!("earlier difference: {cause}\n");
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "same": false,
            "frames": self.same,
            "common": self.common,
            "a": self.lines[0],
            "b": self.lines[1],
            "a_us": self.at_us[0],
            "b_us": self.at_us[1],
            "what": self.what,
            "elsewhere": self.elsewhere,
            "cause": self.cause,
        })
    }
}

/// Returns a line that says whether the other run also has the frame.
fn sought(
    record: &Record,
    other: &VecDeque<Record>,
    [own, others]: [&str; 2],
    same: u64,
) -> Option<String> {
    // No result for an acknowledgment, which contains too little to be recognised.
    let (header, _) = FrameHeader::parse(mpdu(record)).ok()?;
    if header.frame_type == FrameType::Ack {
        return None;
    }
    let place = other.iter().position(|it| mpdu(it) == mpdu(record));
    let first = same + 1;
    if place == Some(0) {
        // The next frame of the other run is the same frame at another time, which is shown
        // already.
        return None;
    }
    Some(match place {
        Some(place) => {
            let number = first + place as u64;
            let after = apart(record, &other[place]);
            format!("frame {number} of {others} equals frame {first} of {own}{after}")
        }
        None => format!(
            "frame {first} of {own} is not among the next {} frames of {others}",
            other.len()
        ),
    })
}

/// Returns a text with the time by which `b` begins later than `a`.
fn apart(a: &Record, b: &Record) -> String {
    match (a.at_us, b.at_us) {
        (Some(a), Some(b)) if b >= a => format!(" and begins {} µs later", b - a),
        (Some(a), Some(b)) => format!(" and begins {} µs earlier", a - b),
        _ => String::new(),
    }
}

fn what(firsts: [Option<&Record>; 2], reading: &Reading) -> String {
    let (a, b) = match firsts {
        [Some(a), Some(b)] => (a, b),
        [Some(_), None] => return "B has no more frames, A continues".to_owned(),
        _ => return "A has no more frames, B continues".to_owned(),
    };
    if mpdu(a) == mpdu(b) {
        return format!(
            "only the time differs: in B the frame begins{}. The sender drew a different backoff, \
             was busy for a different time, or got the packet at a different time",
            apart(a, b).replace(" and begins", "")
        );
    }
    let headers = [a, b].map(|record| FrameHeader::parse(mpdu(record)));
    let [Ok((of_a, _)), Ok((of_b, _))] = headers else {
        return "the content differs, and a frame cannot be decoded".to_owned();
    };
    let is_acked = |header: &FrameHeader| header.frame_type == FrameType::Ack;
    match (is_acked(&of_a), is_acked(&of_b)) {
        (true, false) => return "only A has a link acknowledgement here".to_owned(),
        (false, true) => return "only B has a link acknowledgement here".to_owned(),
        _ => {}
    }
    if of_a.src != of_b.src || of_a.frame_type != of_b.frame_type {
        return format!(
            "sender or type of the frame: {:?} from {} in A, {:?} from {} in B",
            of_a.frame_type, of_a.src, of_b.frame_type, of_b.src
        );
    }
    let time = if a.at_us == b.at_us {
        String::new()
    } else {
        format!(
            "; in B the frame begins{}",
            apart(a, b).replace(" and begins", "")
        )
    };
    let [one, other] = [a, b].map(|record| line(record, reading));
    match words(&one, &other) {
        words if words.is_empty() => {
            let same = mpdu(a).iter().zip(mpdu(b)).take_while(|(a, b)| a == b);
            format!(
                "only the content of the frame differs, from byte {} on{time}",
                same.count()
            )
        }
        words => format!("{}{time}", words.join("; ")),
    }
}

/// Returns the words that differ between two decoded frames, by layer. A name precedes its value.
fn words(a: &str, b: &str) -> Vec<String> {
    let (a, b) = (layered(a), layered(b));
    let mut layers: Vec<&str> = Vec::new();
    for (layer, _) in a.iter().chain(&b) {
        if !layers.contains(layer) {
            layers.push(layer);
        }
    }
    let mut found = Vec::new();
    for layer in layers {
        let of = |side: &[(&'static str, String)]| -> Vec<String> {
            let words = side.iter().filter(|(it, _)| *it == layer);
            words.map(|(_, word)| word.clone()).collect()
        };
        let (a, b) = (of(&a), of(&b));
        if a == b {
            continue;
        }
        let differs = a.iter().zip(&b).enumerate().filter(|(_, (a, b))| a != b);
        let named = differs.map(|(at, (one, other))| {
            let name = at.checked_sub(1).and_then(|at| a.get(at));
            match name.filter(|name| name.chars().all(|c| c.is_ascii_lowercase())) {
                Some(name) => format!("{name} {one} in A, {other} in B"),
                None => format!("{one} in A, {other} in B"),
            }
        });
        let words: Vec<String> = if a.len() == b.len() {
            named.collect()
        } else {
            vec![format!(
                "\"{}\" in A, \"{}\" in B",
                a.join(" "),
                b.join(" ")
            )]
        };
        found.push(format!("{layer}: {}", words.join(", ")));
    }
    found
}

/// Returns the words of a decoded frame, each with its layer, without the time.
fn layered(text: &str) -> Vec<(&'static str, String)> {
    let mut layer = "link";
    let mut words = Vec::new();
    for word in text.split_whitespace().skip(1) {
        if let Some((_, next)) = LAYERS.iter().find(|(mark, _)| *mark == word) {
            layer = next;
        }
        words.push((layer, word.to_owned()));
    }
    words
}
