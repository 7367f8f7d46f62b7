//! Apps of a scenario that run in the firmware of a node of OpenThread: the lines of its console
//! that start them, and the firmware's reports about their streams.

use redpoll_base::{Duration, Rng};

use crate::guest::StreamEvent;
use crate::oracle::FlowId;
use crate::scenario::{AppKind, AppSpec, ConsoleLine, Mss, NodeSpec, Scenario, TargetHost};
use crate::world::environment::Seat;

/// Payload and options of a full segment of TCPlp: five frames (`MSS_6LOWPAN`). With the timestamps
/// option, both TCPs send 462 bytes of payload.
const TCPLP_MSS: u16 = 474;

/// Address of a peer that the receiver does not know.
const UNSPECIFIED: [u8; 16] = [0; 16];

/// Returns the lines that start the apps of node `index`, if it is a node of OpenThread.
pub(super) fn lines(scenario: &Scenario, index: usize, rng: &mut Rng) -> Vec<ConsoleLine> {
    let node = &scenario.nodes[index];
    let Some(tcp) = node.thread else {
        return Vec::new();
    };
    let mut lines: Vec<ConsoleLine> = Vec::new();
    for app in &node.apps {
        let at = app.start + Duration::from_micros(rng.below_u64(app.start_spread.as_micros() + 1));
        if let Some(text) = line(scenario, app) {
            lines.push(ConsoleLine { at, text });
        }
    }
    if let Some(at) = lines.iter().map(|line| line.at).min() {
        let mss = match scenario.tcp.mss {
            Mss::Frames(_) => TCPLP_MSS,
            Mss::Bytes(bytes) => bytes,
        };
        let (send, receive) = (scenario.tcp.send_buffer, scenario.tcp.receive_buffer);
        let own = std::net::Ipv6Addr::from(node.thread_address());
        let ack_ms = scenario.tcp.delayed_ack.as_millis();
        let tcp = tcp.word();
        let text = format!("stack {tcp} {own} {mss} {send} {receive} {ack_ms}");
        lines.insert(0, ConsoleLine { at, text });
    }
    lines
}

fn line(scenario: &Scenario, app: &AppSpec) -> Option<String> {
    match &app.kind {
        AppKind::BulkSink { port, .. } => Some(format!("bulk serve {port}")),
        AppKind::BulkSender {
            to, bytes, retry, ..
        } => {
            let TargetHost::Node(far) = to.host else {
                return None;
            };
            let address = std::net::Ipv6Addr::from(scenario.nodes.get(far)?.thread_address());
            let (port, bytes) = (to.port, bytes.unwrap_or(u64::MAX));
            let retry = retry.as_millis();
            Some(format!("bulk send {address} {port} {bytes} {retry}"))
        }
        _ => None,
    }
}

/// Passes an event to the oracle. Ignores streams that belong to none of the scenario's apps.
pub(super) fn observe(
    seat: &mut Seat<'_>,
    event: StreamEvent,
    (peer, port): ([u8; 16], u16),
    bytes: &[u8],
) {
    let is_receiver = matches!(event, StreamEvent::Received | StreamEvent::Ended);
    let env = &mut *seat.env;
    let nodes = &env.scenario.nodes;
    let is_far = |it: &NodeSpec| match peer {
        UNSPECIFIED if is_receiver => flow_name(it, seat.index, port).is_some(),
        _ => it.thread.is_some() && it.thread_address() == peer,
    };
    let Some(far) = nodes.iter().position(is_far) else {
        return;
    };
    let (from, to) = match is_receiver {
        true => (far, seat.index),
        false => (seat.index, far),
    };
    let Some(name) = flow_name(&nodes[from], to, port) else {
        return;
    };
    let (from, to) = (&nodes[from].name, &nodes[to].name);
    let flow: FlowId = env.oracle.flow(name, from, to);
    match event {
        StreamEvent::Opened => env.oracle.restart(flow),
        StreamEvent::Sent => env.oracle.sent(flow, env.now, bytes),
        StreamEvent::Received => env.oracle.received(flow, env.now, bytes),
        StreamEvent::Ended => env.oracle.ended(flow, env.now),
        StreamEvent::Failed => {
            env.oracle.connection_lost(flow);
            env.oracle.restart(flow);
        }
    }
}

/// Returns the name of the flow from a node to a port of node `to`.
fn flow_name(from: &NodeSpec, to: usize, port: u16) -> Option<&str> {
    let is_it = |app: &&AppSpec| {
        matches!(&app.kind, AppKind::BulkSender { to: target, .. }
            if target.host == TargetHost::Node(to) && target.port == port)
    };
    let app = from.apps.iter().find(is_it)?;
    Some(&app.name)
}
