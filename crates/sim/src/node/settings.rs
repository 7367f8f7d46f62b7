//! The configuration of a simulated node, as the scenario sets it.

use redpoll_base::Rng;
use redpoll_lowpan::LowpanConfig;
use redpoll_mac::{MacConfig, RadioCaps};
use redpoll_replay::{CongestionChoice, DutyConfig, OtherTcp, RecoveryChoice, Segments};
use redpoll_stack::{Advertised, NdConfig, NodeConfig, SleepyConfig};
use redpoll_wire::sixlowpan::Contexts;

use super::{place, routing};
use crate::scenario::{CongestionSpec, NodeSpec, Role, Scenario, TcpParams, TransportSpec};
use crate::topology::NodeRoutes;

pub(super) fn config(
    scenario: &Scenario,
    index: usize,
    (root, routes): (usize, &NodeRoutes),
    rng: &mut Rng,
) -> NodeConfig<OtherTcp> {
    let spec = place(scenario, index);
    let sleepy = &scenario.sleepy;
    let prefix = scenario.border.prefix;
    let sleeps = |parent| {
        SleepyConfig::new(parents(scenario, parent, &routes.parents)).with(|it| {
            it.parent_failures = sleepy.parent_failures;
            it.poll = sleepy.poll;
            it.burst = sleepy.burst;
        })
    };
    let advertises = scenario.nodes.iter().any(|node| node.sleepy) && spec.role != Role::Leaf;
    let config =
        NodeConfig::over_ip(scenario.address(index).unwrap_or_default(), [0; 16]).with(|it| {
            it.mac = mac(scenario, spec);
            it.lowpan = lowpan(scenario, rng.next_u32() as u16);
            it.contexts = Contexts::with_prefix(prefix);
            it.tcp = tcp_config(&scenario.tcp);
            it.hop_limit = routing::hop_limit(scenario);
            it.forwards = spec.role != Role::Leaf;
            it.sleepy = routes.default.filter(|_| spec.sleepy).map(sleeps);
            it.preempts = sleepy.preempt;
            it.nd = NdConfig::default().with(|it| {
                it.advertise = advertises.then_some(Advertised::new(
                    prefix,
                    scenario.address(root).unwrap_or_default(),
                ))
            });
        });
    config.with_algorithms(algorithms(&scenario.tcp, spec))
}

fn mac(scenario: &Scenario, spec: &NodeSpec) -> MacConfig {
    let (mac, sleepy) = (&scenario.mac, &scenario.sleepy);
    MacConfig::default().with(|it| {
        it.pan_id = mac.pan_id;
        // IEEE 802.15.4-2015 §6.4: 0xfffe means that there is no short address.
        it.short = if mac.extended { 0xfffe } else { spec.short };
        it.extended = spec.eui64;
        it.caps = RadioCaps {
            auto_ack: true,
            source_match: true,
            ..RadioCaps::default()
        };
        it.max_frame_retries = mac.max_frame_retries;
        it.min_be = mac.min_be;
        it.max_be = mac.max_be;
        it.max_csma_backoffs = mac.max_csma_backoffs;
        it.ifs = mac.ifs;
        it.promised = mac.promised;
        it.link_retry_delay = mac.link_retry_delay;
        it.deaf_backoff = mac.deaf_backoff;
        it.security_bytes = mac.security_bytes;
        it.indirect_retries = sleepy.retries;
        it.indirect_retry_delay = sleepy.retry_delay;
    })
}

/// Returns the duty cycle of a node with a radio. The scenario may exempt the border router.
pub(super) fn duty(scenario: &Scenario, index: usize) -> Option<DutyConfig> {
    let has_radio = Some(index) != scenario.host_index();
    let params = scenario.mac.duty.filter(|_| has_radio)?;
    let is_border = place(scenario, index).role == Role::Border;
    Some(DutyConfig {
        stays_awake: is_border && params.border_stays_awake,
        ..params.config
    })
}

fn lowpan(scenario: &Scenario, first_tag: u16) -> LowpanConfig {
    let (lowpan, sleepy) = (&scenario.lowpan, &scenario.sleepy);
    LowpanConfig::default().with(|it| {
        it.indirect_persistence = sleepy.persistence;
        it.indirect_limit = sleepy.limit;
        it.indirect_window = sleepy.poll.window;
        it.indirect_polls = sleepy.polls;
        it.indirect_burst = sleepy.burst;
        it.fragment_pending = lowpan.fragment_pending;
        it.segment_pending = lowpan.segment_pending;
        it.fragment_gap = lowpan.fragment_gap;
        it.pause = lowpan.pause;
        it.red = lowpan.red;
        it.red_seed = first_tag.into();
        it.drop_rest = lowpan.drop_rest;
        it.reassembly_timeout = lowpan.reassembly_timeout;
        it.first_tag = first_tag;
    })
}

fn parents(scenario: &Scenario, parent: usize, others: &[usize]) -> [Option<u16>; 4] {
    let short = |node: usize| scenario.nodes.get(node).map(|node| node.short);
    let mut all = [None; 4];
    let chosen = std::iter::once(parent).chain(others.iter().copied());
    for (place, node) in all.iter_mut().zip(chosen) {
        *place = short(node);
    }
    all
}

/// Returns how a node's transport passes segments to its link. Transports other than Redpoll's TCP
/// queue whole packets, and the link does not report their loss to them.
pub(super) fn segments(scenario: &Scenario, spec: &NodeSpec) -> Segments {
    let (params, is_other) = (&scenario.tcp, spec.transport != TransportSpec::Redpoll);
    Segments {
        are_queued: is_other || params.queue_window,
        are_unreported: is_other || !params.link_feedback,
    }
}

fn algorithms(params: &TcpParams, spec: &NodeSpec) -> OtherTcp {
    let repair = params.repair;
    OtherTcp {
        congestion: match spec.congestion {
            CongestionSpec::Engine(choice) => choice,
            // Not reached: `World` has replaced the names of controllers.
            CongestionSpec::Given(_) => CongestionChoice::NewReno,
        },
        recovery: RecoveryChoice {
            rack: repair.rack,
            tail_probes: repair.tail_probes,
            prr: repair.prr,
            f_rto: repair.f_rto,
            new_start: repair.new_start,
            rto_margin: params.rto_margin,
        },
    }
}

fn tcp_config(params: &TcpParams) -> redpoll_tcp::Config {
    redpoll_tcp::Config {
        mss: params.announced_mss(),
        nagle: params.nagle,
        timestamps: params.timestamps,
        sack: params.sack,
        ecn: params.ecn,
        delayed_ack: params.delayed_ack,
        ack_every: params.ack_every,
        initial_rto: params.initial_rto,
        min_rto: params.min_rto,
        max_rto: params.max_rto,
        max_retries: params.max_retries,
        syn_retries: params.syn_retries,
        keepalive: params.keepalive.map(|keepalive| redpoll_tcp::Keepalive {
            idle: keepalive.idle,
            interval: keepalive.interval,
            count: keepalive.count,
        }),
        time_wait: params.time_wait,
        ..redpoll_tcp::Config::default()
    }
}
