//! From checked values to a [`Scenario`]: what no single key can say.

mod apps;
mod faults;
mod nodes;

use crate::medium::{self, Sinr, UnitDisk};
use crate::radio;

use super::check::Values;
use super::error::ScenarioError;
use super::model::{
    AppKind, BorderParams, Keepalive, LowpanParams, MacParams, Mss, Scenario, SensorTransport,
    TargetHost, TcpParams,
};

/// The scenario that `values` describe; `stem` names it if nothing else does.
pub(crate) fn build(values: &Values<'_>, stem: &str) -> Result<Scenario, ScenarioError> {
    let name = values.text("name");
    let border = border(values)?;
    let (nodes, links) = nodes::nodes(values)?;
    let mut scenario = Scenario {
        name: if name.is_empty() {
            stem.to_owned()
        } else {
            name
        },
        duration: values.duration("duration"),
        seed: values.small("seed"),
        medium: medium(values)?,
        radio: radio(values),
        mac: mac(values)?,
        lowpan: lowpan(values),
        tcp: tcp(values)?,
        border,
        nodes,
        links,
        faults: Vec::new(),
    };
    apps::add(values, &mut scenario)?;
    scenario.faults = faults::faults(values, &scenario.nodes)?;
    set_connections(values, &mut scenario);
    Ok(scenario)
}

fn border(values: &Values<'_>) -> Result<BorderParams, ScenarioError> {
    let prefix = values.address("border.prefix");
    let host = values.address("border.host");
    if host.shares_prefix(&prefix, 64) {
        let key = if values.has("border.host") {
            "border.host"
        } else {
            "border.prefix"
        };
        let problem = format!(
            "got the host {host} within the mesh's prefix {prefix}/64; allowed: a host outside it"
        );
        return Err(values.error(key, problem));
    }
    Ok(BorderParams { prefix, host })
}

fn medium(values: &Values<'_>) -> Result<medium::Config, ScenarioError> {
    let real = |key| values.real(key);
    if values.text("medium.model") == "sinr" {
        return Ok(medium::Config::Sinr(Sinr {
            tx_power_dbm: real("medium.tx_power"),
            reference_loss_db: real("medium.reference_loss"),
            path_loss_exponent: real("medium.path_loss_exponent"),
            shadowing_sigma_db: real("medium.shadowing_sigma"),
            noise_floor_dbm: real("medium.noise_floor"),
            sensitivity_dbm: real("medium.sensitivity"),
            capture_db: real("medium.capture"),
            cca_threshold_dbm: real("medium.cca_threshold"),
        }));
    }
    let disk = UnitDisk {
        transmission_range_m: real("medium.transmission_range"),
        interference_range_m: real("medium.interference_range"),
        carrier_sense_range_m: real("medium.carrier_sense_range"),
        success_ratio_tx: real("medium.success_ratio_tx"),
        success_ratio_rx: real("medium.success_ratio_rx"),
    };
    if disk.interference_range_m < disk.transmission_range_m {
        let problem = format!(
            "got {} m; allowed: at least medium.transmission_range, {} m",
            disk.interference_range_m, disk.transmission_range_m
        );
        return Err(values.error("medium.interference_range", problem));
    }
    Ok(medium::Config::UnitDisk(disk))
}

fn radio(values: &Values<'_>) -> radio::Config {
    let model = match values.text("radio.model").as_str() {
        "ideal" => radio::Model::Ideal,
        "cc2420" => radio::Model::Cc2420,
        _ => radio::Model::At86rf233,
    };
    radio::Config {
        model,
        spi_us_per_byte: values.number("radio.spi_time_per_byte"),
    }
}

fn mac(values: &Values<'_>) -> Result<MacParams, ScenarioError> {
    let mac = MacParams {
        pan_id: values.small("mac.pan_id"),
        max_frame_retries: values.small("mac.max_frame_retries"),
        min_be: values.small("mac.min_be"),
        max_be: values.small("mac.max_be"),
        max_csma_backoffs: values.small("mac.max_csma_backoffs"),
        link_retry_delay: values.duration("mac.link_retry_delay"),
    };
    if mac.max_be < mac.min_be {
        let problem = format!(
            "got {}; allowed: at least mac.min_be, {}",
            mac.max_be, mac.min_be
        );
        let key = if values.has("mac.max_be") {
            "mac.max_be"
        } else {
            "mac.min_be"
        };
        return Err(values.error(key, problem));
    }
    Ok(mac)
}

fn lowpan(values: &Values<'_>) -> LowpanParams {
    LowpanParams {
        reassembly_timeout: values.duration("lowpan.reassembly_timeout"),
        slots: values.small("lowpan.slots"),
        slot_bytes: values.real("lowpan.slot_size") as u16,
    }
}

fn tcp(values: &Values<'_>) -> Result<TcpParams, ScenarioError> {
    let keepalive = values.time("tcp.keepalive_idle").map(|idle| Keepalive {
        idle,
        interval: values.duration("tcp.keepalive_interval"),
        count: values.small("tcp.keepalive_count"),
    });
    let tcp = TcpParams {
        mss: match values.frames("tcp.mss") {
            Some(frames) => Mss::Frames(frames),
            None => Mss::Bytes(values.real("tcp.mss") as u16),
        },
        send_buffer: values.real("tcp.send_buffer") as u32,
        receive_buffer: values.real("tcp.receive_buffer") as u32,
        nagle: values.flag("tcp.nagle"),
        timestamps: values.flag("tcp.timestamps"),
        delayed_ack: values.duration("tcp.delayed_ack"),
        ack_every: values.small("tcp.ack_every"),
        initial_rto: values.duration("tcp.initial_rto"),
        min_rto: values.duration("tcp.min_rto"),
        max_rto: values.duration("tcp.max_rto"),
        max_retries: values.small("tcp.max_retries"),
        syn_retries: values.small("tcp.syn_retries"),
        keepalive,
        time_wait: values.duration("tcp.time_wait"),
    };
    if tcp.max_rto < tcp.min_rto {
        let problem = "got less than tcp.min_rto; allowed: at least tcp.min_rto";
        let key = if values.has("tcp.max_rto") {
            "tcp.max_rto"
        } else {
            "tcp.min_rto"
        };
        return Err(values.error(key, problem));
    }
    Ok(tcp)
}

/// Gives every node memory for as many connections as the scenario says, else
/// for a few, and where others send to for each of them and two to spare.
fn set_connections(values: &Values<'_>, scenario: &mut Scenario) {
    const A_FEW: u16 = 4;
    const TO_SPARE: u16 = 2;
    const MOST: u16 = 256;
    if let Some(number) = values.count("tcp.connections") {
        for node in &mut scenario.nodes {
            node.connections = number as u16;
        }
        return;
    }
    let mut senders = vec![0u16; scenario.nodes.len()];
    for app in scenario.nodes.iter().flat_map(|node| &node.apps) {
        let over_udp = matches!(
            app.kind,
            AppKind::Sensor {
                transport: SensorTransport::Udp,
                ..
            }
        );
        if let Some(target) = app.kind.target()
            && let TargetHost::Node(node) = target.host
            && !over_udp
        {
            senders[node] = senders[node].saturating_add(1);
        }
    }
    for (node, senders) in scenario.nodes.iter_mut().zip(senders) {
        node.connections = senders.saturating_add(TO_SPARE).clamp(A_FEW, MOST);
    }
}
