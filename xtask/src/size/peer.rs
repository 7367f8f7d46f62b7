//! The size of another stack's layers for a leaf, built and measured in the same run: the image
//! `smoltcp`. `docs/size.md` lists the functions of this leaf.

use serde_json::{Value, json};

use super::image::Image;
use super::stack;
use crate::report;

/// Flash and memory of a leaf's protocol layers, in bytes.
pub struct Layers {
    pub flash: u64,
    /// Bytes of variables, and of the stack frames of functions that never return.
    pub memory: u64,
}

impl Layers {
    /// Reads the layers of `image`, whose main function has the network stack as a variable. The
    /// size includes the image's calls of the stack: the compiler inlines much of smoltcp into
    /// them, so that stack and calls cannot be separated.
    pub fn of(image: &Image, bare: &Image) -> Layers {
        Layers {
            flash: image.flash.saturating_sub(bare.flash),
            memory: stack::memory_of_main(image),
        }
    }

    pub fn json(&self) -> Value {
        json!({ "flash_bytes": self.flash, "static_bytes": self.memory })
    }
}

/// Prints the layers of Redpoll and of smoltcp side by side.
pub fn print(ours: &Layers, smoltcp: &Layers) {
    let line = |name: &str, layers: &Layers| {
        [
            name.to_owned(),
            layers.flash.to_string(),
            layers.memory.to_string(),
        ]
        .to_vec()
    };
    let heads = ["a leaf's protocol layers", "flash", "static memory"].map(String::from);
    report::print_table(&[
        heads.to_vec(),
        line("a leaf of Redpoll", ours),
        line("smoltcp", smoltcp),
    ]);
}
