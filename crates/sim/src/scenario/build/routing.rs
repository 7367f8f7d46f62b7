//! Builds the routing of a scenario.

use redpoll_stack::wire::rpl::{Configuration, config_flag, mode, objective};

use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::keys;
use crate::scenario::routing::{Routing, RplParams};

/// Seconds of a lifetime unit (RFC 6550 §6.7.6).
const LIFETIME_UNIT_S: u16 = 60;

/// Converts an ETX into 128ths (RFC 6551 §4.3.2).
fn etx(transmissions: f64) -> u16 {
    libm::round(transmissions * 128.0) as u16
}

pub(super) fn routing(values: &Values<'_>) -> Result<Routing, ScenarioError> {
    if values.text("routing") != "rpl" {
        let given = keys::all()
            .map(|key| key.path)
            .find(|path| path.starts_with("rpl.") && values.has(path));
        return match given {
            None => Ok(Routing::Fixed),
            Some(path) => {
                let problem = "has no meaning where routing is fixed; allowed: with routing rpl";
                Err(values.error(path, problem))
            }
        };
    }
    let function = values.text("rpl.objective");
    let is_mrhof = function == "mrhof";
    let minutes = values.duration("rpl.lifetime").as_millis() / 60_000;
    Ok(Routing::Rpl(RplParams {
        mode: match values.text("rpl.mode").as_str() {
            "non-storing" => mode::NON_STORING,
            _ => mode::STORING,
        },
        configuration: Configuration {
            flags: match values.text("rpl.packet_option").as_str() {
                "rfc6553" => 0,
                _ => config_flag::RPI_0X23,
            },
            interval_doublings: values.small("rpl.dio_interval_doublings"),
            interval_min: values.small("rpl.dio_interval_min"),
            redundancy: values.small("rpl.dio_redundancy"),
            max_rank_increase: values.small("rpl.max_rank_increase"),
            min_hop_rank_increase: values.small("rpl.min_hop_rank_increase"),
            objective: if is_mrhof {
                objective::MRHOF
            } else {
                objective::OF0
            },
            lifetime: minutes.clamp(1, 254) as u8,
            lifetime_unit_s: LIFETIME_UNIT_S,
        },
        version_interval: values.time("rpl.version_interval"),
        dao_delay: values.duration("rpl.dao_delay"),
        dao_ack: values.flag("rpl.dao_ack"),
        dao_targets: values.small("rpl.dao_targets"),
        dtsn_each_dio: values.flag("rpl.dtsn_each_dio"),
        probe_interval: values.duration("rpl.probe_interval"),
        dao_interval: values.time("rpl.dao_interval"),
        initial_etx: etx(values.real("rpl.initial_etx")),
        switch_threshold: values.number("rpl.switch_threshold").map(etx),
        counts_hops: function == "tinyrpl-of0",
        dis_interval: values.duration("rpl.dis_interval"),
        neighbours: values.small("rpl.neighbours"),
        routes: values.count("rpl.routes").map(|count| count as u16),
        tunnels: values.flag("rpl.tunnels"),
        plain_sender_rank: values.text("rpl.sender_rank") == "rank",
        load_aware: values.flag("rpl.load_aware"),
    }))
}
