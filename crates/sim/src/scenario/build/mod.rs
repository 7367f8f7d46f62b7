//! Builds a [`Scenario`] from checked values, and checks conditions that involve several keys.

mod apps;
mod attacker;
mod cache;
mod external;
mod faults;
mod firmware;
mod interferers;
mod medium;
mod modules;
mod multicast;
mod nodes;
mod oracle;
mod routing;
mod security;
mod taim;
mod tcp;
mod transports;

use std::collections::BTreeMap;

use redpoll_base::Addr;
use redpoll_lowpan::RedConfig;
use redpoll_mac::{Ifs, Promised};
use redpoll_replay::{DutyConfig, LayerConfig, Method, Release};
use redpoll_stack::{PollConfig, PollPolicy};

use crate::{energy, radio};

use super::check::Values;
use super::error::ScenarioError;
use super::files;
use super::model::{
    AppKind, BorderParams, CONNECTIONS_MAX, ClientProtocol, DutyParams, LowpanParams, MacParams,
    RecoveryParams, Scenario, SerialParams, SleepyParams,
};

/// Builds the scenario that `values` describe; `stem` is its name if the file gives none.
pub(crate) fn build(values: &Values<'_>, stem: &str) -> Result<Scenario, ScenarioError> {
    let name = values.text("name");
    let border = border(values)?;
    let (mut nodes, links) = nodes::nodes(values)?;
    transports::transports(values, &mut nodes)?;
    firmware::set_up(values, &mut nodes)?;
    let routing = routing::routing(values)?;
    let cache = cache::cache(values, &nodes, &routing)?;
    let mut scenario = Scenario {
        name: if name.is_empty() {
            stem.to_owned()
        } else {
            name
        },
        set: BTreeMap::new(),
        duration: values.duration("duration"),
        seed: values.small("seed"),
        medium: medium::medium(values, &links)?,
        noise: medium::noise(values)?,
        clock_drift_ppm: values.real("clock.drift_ppm"),
        radio: radio(values),
        mac: mac(values)?,
        sleepy: sleepy(values),
        energy: energy(values),
        lowpan: lowpan(values),
        tcp: tcp::tcp(values, &nodes, &routing)?,
        routing,
        uip_forwarding: values.flag("rivals.uip_forwarding"),
        cache,
        multicast: multicast::multicast(values)?,
        modules: modules::params(values),
        security: security::params(values)?,
        external: external::params(values),
        border,
        nodes,
        host: None,
        links,
        interferers: interferers::interferers(values)?,
        faults: Vec::new(),
        oracle: oracle::params(values)?,
        files: files::on_disk(values),
    };
    check_slots(values, &scenario)?;
    modules::check_links(values, &scenario)?;
    apps::add(values, &mut scenario)?;
    if let Some(host) = scenario.host.as_mut() {
        host.transport = transports::transport(values, "border.host_transport")?;
        host.congestion = transports::congestion(values, "tcp.congestion");
    }
    scenario.faults = faults::faults(values, &scenario.nodes, &scenario.routing)?;
    modules::check_use(values, &scenario)?;
    security::check(values, &scenario)?;
    external::check(values, &scenario)?;
    attacker::check(values, &scenario)?;
    set_connections(values, &mut scenario);
    Ok(scenario)
}

fn border(values: &Values<'_>) -> Result<BorderParams, ScenarioError> {
    let prefix = values.address("border.prefix");
    let host = if values.has("border.host") || !values.has("border.prefix") {
        values.address("border.host")
    } else {
        host_beside(&prefix).unwrap_or_else(|| values.address("border.host"))
    };
    if host.shares_prefix(&prefix, 64) {
        let problem = format!(
            "got the host {host} within the mesh's prefix {prefix}/64; allowed: a host outside it"
        );
        return Err(values.error("border.host", problem));
    }
    Ok(BorderParams {
        prefix,
        host,
        host_delay: values.duration("border.host_delay"),
        queue: values.count("border.queue").unwrap_or(0) as usize,
        taim: taim::taim(values)?,
        fair_queue: taim::fair_queue(values)?,
        spare: taim::spare(values)?,
        serial: values.count("border.serial_rate").map(|rate| SerialParams {
            rate: rate as u32,
            turn: values.duration("border.serial_turn"),
        }),
    })
}

/// Returns a host address for the mesh `prefix`, different for each prefix, so that several meshes
/// can coexist; `None` for the default prefix, whose host has a default address.
fn host_beside(prefix: &Addr) -> Option<Addr> {
    const DEFAULT: Addr = Addr([
        0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    // The first bit of the subnet ID: 16 bits of the prefix distinguish the subnets of a site.
    const OTHER_SUBNET: u8 = 0x80;
    let mut host = *prefix;
    host.0[6] ^= OTHER_SUBNET;
    host.0[15] = 1;
    (*prefix != DEFAULT).then_some(host)
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
        security_bytes: values.small("mac.security_bytes"),
    }
}

fn mac(values: &Values<'_>) -> Result<MacParams, ScenarioError> {
    let mac = MacParams {
        pan_id: values.small("mac.pan_id"),
        extended: values.text("mac.addresses") == "extended",
        max_frame_retries: values.small("mac.max_frame_retries"),
        min_be: values.small("mac.min_be"),
        max_be: values.small("mac.max_be"),
        max_csma_backoffs: values.small("mac.max_csma_backoffs"),
        ifs: match values.text("mac.ifs").as_str() {
            "sequential" => Ifs::Sequential,
            "off" => Ifs::Off,
            _ => Ifs::Minimum,
        },
        promised: promised(values),
        link_retry_delay: values.duration("mac.link_retry_delay"),
        link_retry_pause: values.duration("mac.link_retry_pause"),
        tinyos_backoff: values.text("mac.backoff") == "tinyos",
        deaf_backoff: values.flag("mac.deaf_backoff"),
        security_bytes: values.small("mac.security_bytes"),
        duty: duty(values)?,
    };
    if mac.max_be < mac.min_be {
        let (min, max) = (mac.min_be, mac.max_be);
        if values.has("mac.max_be") {
            let problem = format!("got {max}; allowed: at least {min}, the value of mac.min_be");
            return Err(values.error("mac.max_be", problem));
        }
        let problem = format!("got {min}; allowed: at most {max}, the value of mac.max_be");
        return Err(values.error("mac.min_be", problem));
    }
    Ok(mac)
}

fn duty(values: &Values<'_>) -> Result<Option<DutyParams>, ScenarioError> {
    let method = match values.text("mac.access").as_str() {
        "nullrdc" => Method::NullRdc,
        "contikimac" => Method::ContikiMac,
        "x-mac" => Method::XMac,
        "cx-mac" => Method::CxMac,
        "lpp" => Method::Lpp,
        _ => return Ok(None),
    };
    let is_old = matches!(method, Method::XMac | Method::Lpp);
    let release = match values.text("mac.release").as_str() {
        "contiki-2.5" => Release::Contiki25,
        "contiki-2.7" => Release::Contiki27,
        "contiki-3.0" if is_old => {
            let problem = "got contiki-3.0, which has neither x-mac nor lpp; allowed: contiki-2.5, \
                 contiki-2.7";
            return Err(values.error("mac.release", problem));
        }
        _ if is_old => Release::Contiki27,
        _ => Release::Contiki30,
    };
    let check_rate_hz: u8 = values.small("mac.check_rate");
    if !check_rate_hz.is_power_of_two() {
        let problem = format!("got {check_rate_hz}; allowed: 1, 2, 4, 8, 16 or 32");
        return Err(values.error("mac.check_rate", problem));
    }
    let own = DutyConfig::of(method, release);
    let layer = LayerConfig {
        max_transmissions: values.small("mac.transmissions"),
        coarse_tick: values.flag("mac.coarse_tick"),
        neighbour_queues: match values.has("mac.neighbour_queues") {
            true => values.small("mac.neighbour_queues"),
            false => own.layer.map_or(0, |layer| layer.neighbour_queues),
        },
    };
    Ok(Some(DutyParams {
        config: DutyConfig {
            check_rate_hz,
            phase_lock: values.flag("mac.phase_lock"),
            fast_sleep: values.flag("mac.fast_sleep"),
            bursts: match values.has("mac.strobe_bursts") {
                true => values.flag("mac.strobe_bursts"),
                false => own.bursts,
            },
            link_acks: values.flag("mac.link_acks"),
            layer: values.flag("mac.contiki_csma").then_some(layer),
            ..own
        },
        border_stays_awake: values.flag("mac.border_awake"),
        overhears: values.flag("mac.overhears"),
    }))
}

/// Returns the channel access of frames that a frame pending bit announced. If several keys choose
/// one, `lowpan.fragment_burst` takes precedence.
fn promised(values: &Values<'_>) -> Promised {
    if values.flag("lowpan.fragment_burst") {
        Promised::Burst
    } else if values.flag("mac.be_by_queue") {
        Promised::ByQueue
    } else {
        Promised::Csma
    }
}

fn sleepy(values: &Values<'_>) -> SleepyParams {
    let policy = match values.text("poll.policy").as_str() {
        "base" => PollPolicy::Base,
        "fixed" => PollPolicy::Fixed {
            interval: values.duration("poll.interval"),
        },
        _ => PollPolicy::Learned,
    };
    SleepyParams {
        poll: PollConfig::default().with(|it| {
            it.policy = policy;
            it.base_interval = values.duration("poll.base_interval");
            it.window = values.duration("poll.window");
            it.after_failure = values.duration("poll.after_failure");
        }),
        persistence: values.duration("indirect.persistence"),
        limit: values.small("indirect.limit"),
        retries: values.small("indirect.retries"),
        retry_delay: values.duration("indirect.retry_delay"),
        polls: values.small("indirect.polls"),
        burst: values.flag("indirect.burst"),
        preempt: values.flag("indirect.preempt"),
        parent_failures: values.small("poll.parent_failures"),
    }
}

fn red(values: &Values<'_>) -> RedConfig {
    let sixteenths = |key| (values.real(key) * 16.0).round() as u8;
    RedConfig::default().with(|it| {
        it.weight_shift = values.small("lowpan.red_weight");
        it.min_threshold = sixteenths("lowpan.red_min");
        it.max_threshold = sixteenths("lowpan.red_max");
        it.max_probability = (values.real("lowpan.red_probability") * 256.0)
            .round()
            .min(255.0) as u8;
        it.fair = values.flag("lowpan.red_fair");
        it.pause = values.duration("lowpan.red_pause");
    })
}

fn energy(values: &Values<'_>) -> energy::Params {
    energy::Params {
        clock_mhz: values.real("energy.clock"),
        cycles_per_instruction: values.real("energy.cycles_per_instruction"),
        wake_up_instructions: values.real("energy.wake_up_instructions"),
        packet_instructions: values.real("energy.packet_instructions"),
        takes_time: values.flag("energy.takes_time"),
        cpu_active_ma: values.real("energy.cpu_active"),
        cpu_sleep_ma: values.real("energy.cpu_sleep"),
        battery_mah: values.real("energy.battery"),
    }
}

fn lowpan(values: &Values<'_>) -> LowpanParams {
    LowpanParams {
        reassembly_timeout: values.duration("lowpan.reassembly_timeout"),
        slots: values.small("lowpan.slots"),
        slot_bytes: values.real("lowpan.slot_size") as u16,
        join_fragments: values.flag("lowpan.join_fragments"),
        drop_rest: values.flag("lowpan.drop_rest"),
        fragment_pending: values.flag("lowpan.frame_pending"),
        // A burst ends with the datagram unless `lowpan.segment_burst` is set.
        segment_pending: values.flag("lowpan.frame_pending")
            && (values.flag("lowpan.segment_burst") || !values.flag("lowpan.fragment_burst")),
        forwarded_fragments: ["lowpan.fragment_forwarding", "lowpan.fragment_recovery"]
            .iter()
            .any(|key| values.flag(key))
            .then(|| values.small("lowpan.fragments")),
        recovery: values
            .flag("lowpan.fragment_recovery")
            .then(|| RecoveryParams {
                window: values.small("lowpan.fragment_window"),
                arq_timeout: values.duration("lowpan.arq_timeout"),
                arq_timeout_min: values.time("lowpan.arq_timeout_min"),
                fragment_retries: values.small("lowpan.fragment_retries"),
                datagram_retries: values.small("lowpan.datagram_retries"),
            }),
        fragment_gap: values.duration("lowpan.fragment_gap"),
        pause: values.duration("lowpan.pause"),
        red: values.flag("lowpan.red").then(|| red(values)),
    }
}

/// Refuses slots that are too small for a full segment: TCP would retransmit it for ever, and the
/// node would drop it each time.
fn check_slots(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let (slot, packet) = (scenario.lowpan.slot_bytes, scenario.tcp.packet_bytes());
    if slot >= packet {
        return Ok(());
    }
    if values.has("lowpan.slot_size") || !values.has("tcp.mss") {
        let problem = format!(
            "got {slot} B; allowed: at least {packet} B, the length of an IPv6 packet with a full segment (tcp.mss is {} B); or choose a smaller tcp.mss",
            scenario.tcp.payload_bytes()
        );
        return Err(values.error("lowpan.slot_size", problem));
    }
    let problem = format!(
        "a full segment makes an IPv6 packet of {packet} B; allowed: packets of at most {slot} B, \
         the value of lowpan.slot_size"
    );
    Err(values.error("tcp.mss", problem))
}

/// Gives every node memory for `tcp.connections` connections. The default is one for each flow that
/// begins or ends at the node and two spare ones, but at least four. Flows of CoAP clients and of
/// sensors over UDP do not count.
fn set_connections(values: &Values<'_>, scenario: &mut Scenario) {
    const A_FEW: u16 = 4;
    const TO_SPARE: u16 = 2;
    const MOST: u16 = CONNECTIONS_MAX;
    if let Some(number) = values.count("tcp.connections") {
        for place in scenario.places_mut() {
            place.connections = number as u16;
        }
        return;
    }
    let mut flows = vec![0u16; scenario.places().count()];
    for (from, place) in scenario.places().enumerate() {
        for app in &place.apps {
            let over_udp = match app.kind {
                AppKind::Sensor(sensor) => sensor.transport.is_udp(),
                AppKind::Client(client) => client.protocol == ClientProtocol::Coap,
                _ => false,
            };
            let Some(target) = app.kind.target().filter(|_| !over_udp) else {
                continue;
            };
            for end in [Some(from), scenario.index_of(target)]
                .into_iter()
                .flatten()
            {
                flows[end] = flows[end].saturating_add(1);
            }
        }
    }
    for (place, flows) in scenario.places_mut().zip(flows) {
        place.connections = flows.saturating_add(TO_SPARE).clamp(A_FEW, MOST);
    }
}
