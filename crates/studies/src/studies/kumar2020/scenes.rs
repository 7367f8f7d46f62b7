//! Scenarios of the figures: the office floor and the apps on its nodes, with Redpoll's own link.
//! `profiles::tcplp` replaces this link by that of the paper. The leaves run the apps of the
//! shipped scenarios `readings` and `readings-day`.

use crate::vocabulary::floors::OFFICE;
use crate::vocabulary::scenes::{BULK, READINGS};
use redpoll_experiments::{Case, Scene};

/// Greatest number of seeds for a day, because its runs take long.
const DAYS: u64 = 5;

/// A client at the host that sends requests to a leaf.
const WEB: &str = r#"
[apps.http]
type = "http-server"
on = "leaf-15"
file = "82 B"

[apps.coap]
type = "coap-server"
on = "leaf-15"
file = "82 B"

[apps.get]
type = "http-client"
on = "host"
to = "leaf-15:80"
interval = "7300 ms"
"#;

/// Wi-Fi during working hours, calibrated so that the unreliable protocol with batches loses about
/// as many readings as in the paper's office.
const INTERFERERS: &str = r#"
[interferers.west]
position = ["12 m", "10 m"]
busy = "35 %"
session = "10 s"
session_share = "15 %"
from = "9 h"
until = "18 h"

[interferers.east]
position = ["34 m", "10 m"]
busy = "35 %"
session = "10 s"
session_share = "15 %"
from = "9 h"
until = "18 h"
"#;

const SLEEPY: &[(&str, &str)] = &[
    ("nodes.leaf-12.sleepy", "true"),
    ("nodes.leaf-13.sleepy", "true"),
    ("nodes.leaf-14.sleepy", "true"),
    ("nodes.leaf-15.sleepy", "true"),
];

/// A second leaf one metre from each leaf: those named `leaf` send readings over TCP, those named
/// `coap` over CoAP, at the same time.
const BOTH: &str = r#"
coap-12 = { role = "leaf", sleepy = true, position = ["32 m", "-1 m"] }
coap-13 = { role = "leaf", sleepy = true, position = ["32 m", "21 m"] }
coap-14 = { role = "leaf", sleepy = true, position = ["45 m", "2 m"] }
coap-15 = { role = "leaf", sleepy = true, position = ["21 m", "23 m"] }

[apps.stream]
type = "bulk-sink"
on = "host"
port = 5683

[apps.messages]
type = "coap-server"
on = "host"

[apps.readings-tcp]
type = "sensor"
on = ["leaf-12", "leaf-13", "leaf-14", "leaf-15"]
to = "host:5683"
transport = "tcp"
reading = "82 B"
interval = "1 s"
batch = 64

[apps.readings-coap]
type = "sensor"
on = ["coap-12", "coap-13", "coap-14", "coap-15"]
to = "host:5683"
transport = "coap"
reading = "82 B"
interval = "1 s"
message = "261 B"
batch = 64
"#;

fn floor(name: &'static str, apps: &str) -> Case {
    Case::new(Scene {
        name: name.into(),
        text: format!("{OFFICE}{apps}"),
    })
}

/// Returns a bulk flow over one to four hops with Redpoll's link.
pub fn line(hops: u32) -> Case {
    const SENDERS: [&str; 4] = ["node-2", "node-5", "node-8", "node-10"];
    let sender = SENDERS[(hops as usize).clamp(1, SENDERS.len()) - 1];
    floor("bulk", BULK).set("apps.bulk.on", sender)
}

/// Returns a bulk flow from a neighbour of the border router to a server behind that router. The
/// link has Redpoll's defaults.
pub fn uplink() -> Case {
    floor("uplink", BULK).with(&[
        ("apps.sink.on", "host"),
        ("apps.bulk.on", "node-2"),
        ("apps.bulk.to", "host:5001"),
    ])
}

/// Returns a bulk flow from a server behind the border router to a neighbour of that router.
pub fn downlink() -> Case {
    floor("downlink", BULK).with(&[
        ("apps.sink.on", "node-2"),
        ("apps.bulk.on", "host"),
        ("apps.bulk.to", "node-2:5001"),
    ])
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaks {
    Http,
    Coap,
}

/// Returns a host's client that requests `bytes` bytes from a sleepy leaf three hops away. The link
/// has Redpoll's defaults. Segments have three frames, as in the paper's §8, and so do 256-byte blocks.
pub fn web(speaks: Speaks, bytes: u32) -> Case {
    let file = format!("{bytes} B");
    let case = floor("web", WEB)
        .with(SLEEPY)
        .set("apps.http.file", &file)
        .set("apps.coap.file", file)
        .set("apps.coap.block", "256 B")
        .set("tcp.mss", "3 frames");
    match speaks {
        Speaks::Http => case,
        Speaks::Coap => case.with(&[
            ("apps.get.type", "coap-client"),
            ("apps.get.to", "leaf-15:5683"),
        ]),
    }
}

/// Returns four sleepy leaves that send readings over a transport, with Redpoll's link.
pub fn readings(transport: &'static str, batch: u32) -> Case {
    let case = floor("readings", READINGS)
        .with(SLEEPY)
        .set("tcp.mss", "5 frames")
        .set("apps.readings.transport", transport)
        .set("apps.readings.batch", batch);
    match transport {
        // The paper used Contiki's variant of CoCoA.
        "cocoa" => case.set("apps.readings.cocoa", "contiki"),
        "ideal" => case.set("apps.readings.to", "host:5684"),
        _ => case,
    }
}

/// Returns a day of [`readings`] with segments and messages of three frames and the interferers of
/// `readings-day`.
pub fn day(transport: &'static str, batch: u32) -> Case {
    let scene = Scene {
        name: "day".into(),
        text: format!("{OFFICE}{READINGS}{INTERFERERS}"),
    };
    three_frames(readings(transport, batch))
        .in_scene(scene)
        .set("duration", "24 h")
        .at_most_seeds(DAYS)
}

/// Returns a day of TCP and CoAP at the same time on adjacent nodes, with segments and messages of
/// three frames and the interferers of `readings-day`.
pub fn day_of_both() -> Case {
    let scene = Scene {
        name: "day-of-both".into(),
        text: format!("{OFFICE}{BOTH}{INTERFERERS}"),
    };
    // At the original position of leaf-14, two routers are equally good parents. The two nodes at
    // that position would select different parents.
    Case::new(scene)
        .with(SLEEPY)
        .set("nodes.leaf-14.position", r#"["46 m", "2 m"]"#)
        .set("tcp.mss", "3 frames")
        .set("duration", "24 h")
        .at_most_seeds(DAYS)
}

/// Shortens a day to its first hour, which has no Wi-Fi. The hour shows everything that does not
/// depend on interferers, in a twenty-fourth of the time.
pub fn hour_of_night(case: Case) -> Case {
    case.set("duration", "3600 s")
}

/// Shortens a day to three working hours from the start of the run.
pub fn hours_of_work(case: Case) -> Case {
    case.with(&[
        ("interferers.west.from", "0 h"),
        ("interferers.east.from", "0 h"),
        ("duration", "3 h"),
    ])
}

/// Sets segments and messages of three frames instead of five.
pub fn three_frames(case: Case) -> Case {
    case.set("tcp.mss", "3 frames")
        .set("apps.readings.message", "261 B")
}

/// Sets a window of two segments instead of four, so that a leaf's later segments do not collide
/// with earlier ones.
pub fn two_segments(case: Case) -> Case {
    let payload = case.scenario().map_or(0, |it| it.tcp.payload_bytes());
    case.set("tcp.send_buffer", format!("{} B", 2 * payload))
        .set("tcp.receive_buffer", format!("{} B", 2 * payload))
}

pub fn loss(case: Case, percent: u32) -> Case {
    case.set("faults.loss.type", "drop-packets")
        .set("faults.loss.share", format!("{percent} %"))
}

/// Sets the link retry delay d instead of 40 ms.
pub fn delay(case: Case, ms: u32) -> Case {
    case.set("mac.link_retry_delay", format!("{ms} ms"))
}

#[cfg(test)]
mod tests {
    use redpoll_sim::World;

    use super::day_of_both;

    /// §8.2.3: adjacent nodes of TCP and CoAP have the same first hop.
    #[test]
    fn adjacent_nodes_have_the_same_first_hop() {
        let scenario = day_of_both().scenario().unwrap();
        let world = World::new(&scenario, 1).unwrap();
        let routes = world.routes();
        let parent = |name: &str| {
            let index = scenario.nodes.iter().position(|it| it.name == name);
            routes.nodes[index.unwrap()].default.unwrap()
        };
        for number in 12..=15 {
            let (tcp, coap) = (format!("leaf-{number}"), format!("coap-{number}"));
            assert_eq!(parent(&tcp), parent(&coap), "{number}");
        }
    }
}
