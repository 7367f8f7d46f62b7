//! Kumar, Andersen, Kim, Culler: Performant TCP for Low-Power Wireless Networks
//! (NSDI 2020).
//!
//! Left out is what needs other stacks: the rivals of its table 6, the
//! platforms of its appendix A.4, and its table 8.
//!
//! Series called `testbed` have the paper's link as far as it is known
//! ([`scenes`]); `beyond` is the same scenario with Redpoll's own defaults.

mod bound;
mod goodput;
mod model;
mod read;
mod retry_delay;
mod scenes;

use crate::{Figure, Study};

/// The study.
pub const STUDY: Study = Study {
    name: "kumar2020",
    citation: "Kumar, Andersen, Kim, Culler: Performant TCP for Low-Power Wireless Networks, \
               NSDI 2020",
    figures,
};

fn figures() -> Vec<Figure> {
    vec![
        goodput::figure_3a(),
        goodput::figure_3b(),
        goodput::figure_4b(),
        goodput::section_6_3(),
        retry_delay::figure_5a(),
        retry_delay::figure_5b(),
        retry_delay::figure_5c(),
        retry_delay::figure_5d(),
        retry_delay::figure_6a(),
        retry_delay::figure_6b(),
        goodput::section_7_2(),
        model::equations(),
    ]
}
