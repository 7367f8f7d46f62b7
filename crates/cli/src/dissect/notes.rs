//! Notes about a capture on standard error: undecoded frames, odd fields, and helpful options.

use std::collections::BTreeMap;
use std::io::{self, Write};

use redpoll_base::Addr;
use redpoll_dissect::Frame;
use redpoll_dissect::capture::{Capture, Record};
use redpoll_dissect::upper::Verdict;

/// Maximum number of technologies that are counted separately.
const NAMES_MAX: usize = 64;

pub struct Notes {
    prefix: Addr,
    ours: u64,
    /// Frames of other technologies, by name: their count and the number of the first one.
    foreign: BTreeMap<String, (u64, u64)>,
    unknown: [u64; 16],
    /// Number of frames with addresses of context 0 and a correct checksum.
    right: u64,
    wrong: u64,
}

impl Notes {
    /// Makes empty notes about a mesh whose context 0 is `prefix`.
    pub fn of(prefix: Addr) -> Notes {
        Notes {
            prefix,
            ours: 0,
            foreign: BTreeMap::new(),
            unknown: [0; 16],
            right: 0,
            wrong: 0,
        }
    }

    /// Counts a record as decoded or, by its technology, as foreign. Returns whether it is decoded.
    pub fn is_ours(&mut self, record: &Record) -> bool {
        let Some(name) = record.foreign_link() else {
            self.ours += 1;
            return true;
        };
        let is_known = self.foreign.contains_key(&name) || self.foreign.len() < NAMES_MAX;
        let name = if is_known {
            name
        } else {
            "(various)".to_owned()
        };
        self.foreign.entry(name).or_insert((0, record.number)).0 += 1;
        false
    }

    pub fn look_at(&mut self, frame: &Frame) {
        for (cid, count) in self.unknown.iter_mut().enumerate() {
            *count += u64::from(frame.unknown_contexts >> cid & 1);
        }
        if frame.contexts & 1 != 0 {
            match frame.checksum() {
                Some(Verdict::Right) => self.right += 1,
                Some(Verdict::Wrong) => self.wrong += 1,
                Some(Verdict::Unchecked) | None => {}
            }
        }
    }

    /// Returns the reason to refuse a capture: it has frames, and all are of other technologies.
    pub fn refusal(&self, name: &str) -> Option<String> {
        let (link, _) = self.foreign.iter().next().filter(|_| self.ours == 0)?;
        Some(format!(
            "{name}: frames of link type {link}; allowed: IEEE 802.15.4 with or without check \
             sequence, with PHY or TAP header, in Ethernet or ZEP, and raw IPv6"
        ))
    }

    pub fn tell(&self, name: &str, capture: &Capture) {
        let mut err = io::stderr().lock();
        for odd in capture.odd() {
            let _ = writeln!(
                err,
                "warning: {name}: {} ({} times, first at frame {})",
                odd.what, odd.count, odd.first
            );
        }
        for (link, (count, first)) in &self.foreign {
            let frames = if *count == 1 { "frame" } else { "frames" };
            let _ = writeln!(
                err,
                "warning: {name}: {count} {frames} of link type {link} skipped (first: frame \
                 {first})"
            );
        }
        for (cid, count) in self
            .unknown
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let frames = if *count == 1 {
                "frame contains"
            } else {
                "frames contain"
            };
            let _ = writeln!(
                err,
                "redpoll: {count} {frames} addresses of the unknown 6LoWPAN context {cid}; set \
                 its prefix with --context {cid}=PREFIX/64"
            );
        }
        if self.wrong > 0 && self.right == 0 {
            let _ = writeln!(
                err,
                "redpoll: all checksums are wrong: the mesh of this capture probably has a prefix \
                 other than {}/64; set it with --prefix PREFIX/64",
                self.prefix
            );
        }
    }
}
