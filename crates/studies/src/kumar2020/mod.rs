//! Kumar, Andersen, Kim, Culler: Performant TCP for Low-Power Wireless Networks
//! (NSDI 2020).
//!
//! Left out is what needs other stacks: the rivals of its table 6, the
//! platforms of its appendix A.4, and its table 8.
//!
//! Series called `testbed` have the paper's link as far as it is known
//! (`scenes`); `beyond` is the same scenario with Redpoll's own defaults.

mod bound;
mod exchange;
mod features;
mod flows;
mod fragments;
mod goodput;
mod headers;
mod memory;
mod model;
mod power;
mod processor;
mod read;
mod retry_delay;
mod scenes;
mod sensors;
mod techniques;
mod web;

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
        techniques::table_1(),
        memory::table_3(),
        headers::table_5(),
        goodput::figure_3a(),
        goodput::figure_3b(),
        exchange::figure_4a(),
        goodput::figure_4b(),
        goodput::section_6_3(),
        techniques::table_6(),
        retry_delay::figure_5a(),
        retry_delay::figure_5b(),
        retry_delay::figure_5c(),
        retry_delay::figure_5d(),
        retry_delay::figure_6a(),
        retry_delay::figure_6b(),
        goodput::section_7_2(),
        model::equations(),
        web::figure_7(),
        web::figure_8a(),
        web::figure_8b(),
        power::section_8_1_3(),
        sensors::figure_9(),
        sensors::figure_10(),
        sensors::table_7(),
        processor::table_7(),
        sensors::figure_11(),
        flows::figure_12(),
        features::table_9(),
        fragments::fragments(),
    ]
}
