//! The cost of link-layer security: additional flash of a whole node, and instructions per frame.

use std::path::Path;

use serde_json::{Value, json};

use super::firmware::Images;
use super::qemu::{self, Printed};
use super::{Flash, row, snapshot};
use crate::report::{self, Failure};
use crate::workspace::{self, Workspace};

/// The payloads of the frames in bytes, by the names that the image `seal` gives them.
const LENGTHS: [(&str, u32); 2] = [("short", 16), ("long", 104)];
const CIPHERS: [(&str, &str); 2] = [
    ("software", "AES in software"),
    (
        "hardware",
        "a block cipher that takes no instructions, like hardware",
    ),
];

/// The file into which the ciphers' crates are inlined.
const GLUE: &str = "crates/mac/src/security/ccm.rs";

pub struct Security {
    pub flash: Flash,
    /// Places of the project that may panic, in the image with security.
    pub panics: Vec<String>,
    /// Places in the ciphers' crates that may panic, because they index arrays of constant length.
    foreign_panics: Vec<String>,
    /// Counted frames; empty if no image could be run.
    frames: Vec<Frame>,
}

/// Instructions of a frame.
struct Frame {
    cipher: &'static str,
    payload: u32,
    seal: f64,
    /// Instructions for opening, in addition to those for a frame without security.
    open: f64,
}

pub fn measure(workspace: &Workspace, images: &Images, runs: bool) -> Result<Security, Failure> {
    let places = images.secured.panics(&workspace.root);
    let is_ours = |place: &String| {
        (place.starts_with("crates/") || place.starts_with("firmware/")) && !place.starts_with(GLUE)
    };
    let (panics, foreign_panics) = places.into_iter().partition(is_ours);
    Ok(Security {
        flash: Flash::between(&images.secured, &images.node),
        panics,
        foreign_panics,
        frames: if runs {
            count(&images.seal.path)?
        } else {
            Vec::new()
        },
    })
}

fn count(image: &Path) -> Result<Vec<Frame>, Failure> {
    let text = workspace::output(&mut qemu::command(qemu::SMALL, image, 0))?;
    let printed = Printed::read(&text)?;
    let mut frames = Vec::new();
    for ((key, cipher), (length, payload)) in CIPHERS
        .into_iter()
        .flat_map(|cipher| LENGTHS.map(|length| (cipher, length)))
    {
        let each = |what: &str| -> Result<f64, Failure> {
            let name = |of| format!("{key}.{length}.{what}_{of}");
            let laps = printed.number(&name("laps"))?;
            Ok(printed.instructions(&name("ticks"), &name("laps"))? / laps)
        };
        frames.push(Frame {
            cipher,
            payload,
            seal: each("seal")?,
            open: each("open")? - each("plain")?,
        });
    }
    Ok(frames)
}

impl Security {
    pub fn json(&self) -> Value {
        let frame = |frame: &Frame| {
            json!({
                "cipher": frame.cipher,
                "payload_bytes": frame.payload,
                "seal_instructions": frame.seal.round() as u64,
                "open_instructions": frame.open.round() as u64,
            })
        };
        json!({
            "flash_bytes": self.flash.bytes(),
            "flash_by_crate_bytes": self.flash.by_crate,
            "panics": self.panics,
            "panics_of_ciphers": self.foreign_panics,
            "frames": self.frames.iter().map(frame).collect::<Vec<_>>(),
        })
    }

    pub fn print(&self) {
        self.flash
            .print("flash that link-layer security adds to a whole node");
        println!();
        let mut rows = vec![row([
            "cipher, MIC of 4 bytes",
            "payload of the frame, bytes",
            "instructions to seal",
            "instructions to open",
        ])];
        for frame in &self.frames {
            rows.push(vec![
                frame.cipher.to_owned(),
                frame.payload.to_string(),
                format!("{:.0}", frame.seal),
                format!("{:.0}", frame.open),
            ]);
        }
        report::print_table(&rows);
        println!(
            "{} places in the ciphers' crates may panic in the image, and {} in this repository's crates",
            self.foreign_panics.len(),
            self.panics.len()
        );
    }

    pub fn snapshot(&self) -> String {
        let bytes = self.flash.bytes();
        format!("{bytes:>5}  {}link-layer security\n", snapshot::FLASH)
    }

    #[cfg(test)]
    pub fn of(flash: Flash) -> Security {
        Security {
            flash,
            panics: Vec::new(),
            foreign_panics: Vec::new(),
            frames: Vec::new(),
        }
    }
}
