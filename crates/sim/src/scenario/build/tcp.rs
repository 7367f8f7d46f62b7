//! The TCP of a scenario's nodes.

use redpoll_base::Duration;
use redpoll_stack::wire::rpl::PacketInformation;
use redpoll_tcp::EcnUse;

use super::super::check::Values;
use super::super::error::ScenarioError;
use super::super::model::{
    HEADER_MAX_INSIDE, HEADER_MAX_OUTSIDE, Keepalive, LossRepair, Mss, NodeSpec, Role, TcpParams,
};
use super::super::routing::Routing;
use super::super::units::Measure;

/// Bytes of a frame after a MAC header with short addresses.
const FRAME_PAYLOAD: u16 = 116;
/// Bytes by which two extended addresses are longer than two short ones, in a MAC header or in a
/// compressed IPv6 header that carries both.
const EXTENDED_MORE: u16 = 12;

const FAST_OPEN_SERVERS: u8 = 4;

pub(super) fn tcp(
    values: &Values<'_>,
    nodes: &[NodeSpec],
    routing: &Routing,
) -> Result<TcpParams, ScenarioError> {
    let extended = values.text("mac.addresses") == "extended";
    // The RPL option (RFC 6553) is not compressed.
    let packet_information = match routing {
        Routing::Rpl(_) => PacketInformation::LEN as u16,
        Routing::Fixed => 0,
    };
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
        compressed_header_max: match nodes.iter().any(|node| node.role == Role::Border) {
            true => HEADER_MAX_OUTSIDE,
            false => HEADER_MAX_INSIDE,
        } + packet_information
            + if extended { EXTENDED_MORE } else { 0 },
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
        fast_open: values.flag("tcp.fast_open"),
        fast_open_servers: match values.flag("tcp.fast_open") {
            true => FAST_OPEN_SERVERS,
            false => 0,
        },
        sack: values.flag("tcp.sack"),
        ecn: match values.text("tcp.ecn").as_str() {
            "off" => EcnUse::Off,
            "agreed" => EcnUse::Agreed,
            _ => EcnUse::Asked,
        },
        repair: repair(values)?,
        rto_margin: values.duration("tcp.rto_margin"),
        link_feedback: values.flag("tcp.link_feedback"),
        queue_window: values.flag("tcp.queue_window"),
        frame_payload: match extended {
            true => FRAME_PAYLOAD - EXTENDED_MORE,
            false => FRAME_PAYLOAD,
        } - values.small::<u16>("mac.security_bytes")
            - super::security::overhead(values),
    };
    if tcp.max_rto < tcp.min_rto {
        // Only a set tcp.max_rto can be too small: its default is the largest allowed tcp.min_rto.
        let show = |time: Duration| Measure::Time.show(time.as_micros() as f64);
        let problem = format!(
            "got {}; allowed: at least {}, the value of tcp.min_rto",
            show(tcp.max_rto),
            show(tcp.min_rto)
        );
        return Err(values.error("tcp.max_rto", problem));
    }
    Ok(tcp)
}

/// Returns the loss recovery mechanisms of `tcp.recovery`; keys such as `tcp.prr` override it.
fn repair(values: &Values<'_>) -> Result<LossRepair, ScenarioError> {
    let all = values.text("tcp.recovery") == "rack";
    let chosen = |key, default| match values.has(key) {
        true => values.flag(key),
        false => default,
    };
    let rack = chosen("tcp.rack", all);
    let tail_probes = chosen("tcp.tail_probes", rack);
    if tail_probes && !rack {
        let problem = "got true, but tcp.rack is false; allowed: true with tcp.rack = true, \
                       because tail loss probes need detection of losses by time";
        return Err(values.error("tcp.tail_probes", problem));
    }
    Ok(LossRepair {
        rack,
        tail_probes,
        prr: chosen("tcp.prr", all),
        f_rto: chosen("tcp.f_rto", all),
        new_start: chosen("tcp.new_start", all),
    })
}
