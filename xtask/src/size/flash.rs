//! Bytes of flash, by crate.

use std::collections::BTreeMap;

use super::image::Image;
use super::row;
use crate::report;

/// Name of the image's own crate in the tables.
pub(super) const DRIVER: &str = "the image's own calls";

pub(super) struct Flash {
    /// Flash of the image with the engine, minus that of the image without it.
    pub(super) difference: u64,
    pub(super) by_crate: BTreeMap<String, i64>,
}

impl Flash {
    pub(super) fn between(with: &Image, without: &Image) -> Flash {
        let mut by_crate = BTreeMap::new();
        for (image, sign) in [(with, 1), (without, -1)] {
            let sums = image.flash_by_crate();
            for (name, bytes) in sums {
                // The image's own crate has the image's name.
                let name = match name.as_str() {
                    "tcp" | "subset" | "node" | "bare" | "redpoll_firmware" => DRIVER.to_owned(),
                    // A leaf's application and its frame driver do not belong to the engine.
                    "leaf_microbit" | "redpoll_leaf" | "redpoll_uart" => DRIVER.to_owned(),
                    _ => name,
                };
                *by_crate.entry(name).or_insert(0) += sign * bytes as i64;
            }
        }
        by_crate.retain(|_, bytes| *bytes != 0);
        Flash {
            difference: with.flash.saturating_sub(without.flash),
            by_crate,
        }
    }

    /// Returns the flash of the engine, without the calls by which the image uses it.
    pub(super) fn bytes(&self) -> u64 {
        let driver = self.by_crate.get(DRIVER).copied().unwrap_or(0);
        self.difference.saturating_add_signed(-driver)
    }

    pub(super) fn print(&self, title: &str) {
        let mut rows = vec![row([title, "bytes"])];
        for (name, bytes) in &self.by_crate {
            rows.push(vec![name.clone(), bytes.to_string()]);
        }
        rows.push(vec![
            "size of the image with this code minus that without it".to_owned(),
            self.difference.to_string(),
        ]);
        report::print_table(&rows);
    }
}
