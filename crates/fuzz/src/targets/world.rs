//! A running mesh with RPL that receives frames from an unknown node and packets from the host. The
//! first byte selects the scenario. The rest is a list of steps: a byte for the kind of event, a
//! length, and bytes. Nothing may panic, and the host may receive only packets of the mesh.

use redpoll_base::{Addr, Duration};
use redpoll_sim::{Scenario, World};

const TEXT: &str = r#"
duration = "60 s"
[topology]
kind = "line"
nodes = 3
spacing = "30 m"
[nodes.node-1]
role = "border"
[nodes.node-3]
role = "leaf"
[apps.web]
type = "http-server"
on = "node-3"
"#;
const PREFIX: [u8; 8] = [0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c];
/// Longest simulated time of a step.
const STEP: Duration = Duration::from_millis(40);
const STEPS: usize = 60;

pub fn run(bytes: &[u8]) {
    let Some((choice, mut rest)) = bytes.split_first() else {
        return;
    };
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let overrides = match choice % 3 {
        0 => vec![],
        1 => vec![set("routing", "rpl")],
        _ => vec![set("routing", "rpl"), set("rpl.mode", "non-storing")],
    };
    let scenario = Scenario::parse("world", TEXT, &overrides).expect("a valid scenario");
    let mut world = World::new(&scenario, 1).expect("a mesh");
    let mut steps = 0;
    while let [what, len, tail @ ..] = rest {
        steps += 1;
        if steps > STEPS {
            break;
        }
        let (part, tail) = tail.split_at(tail.len().min(usize::from(*len)));
        rest = tail;
        match what % 4 {
            0 => world.inject(usize::from(*what / 4 % 3), part),
            1 => world.host_input(part),
            2 => world.host_input(&towards_mesh(part)),
            _ => {}
        }
        world.run_until(world.now() + STEP);
        while let Some(packet) = world.host_output() {
            assert_eq!(
                packet.get(8..16),
                Some(&PREFIX[..]),
                "the source is in the mesh"
            );
        }
    }
    assert!(world.stall().is_none());
}

/// Returns a packet with a valid header from the host to a node, with `bytes` as content.
fn towards_mesh(bytes: &[u8]) -> Vec<u8> {
    let Some((next_header, payload)) = bytes.split_first() else {
        return Vec::new();
    };
    let mut packet = vec![0x60, 0, 0, 0, 0, payload.len() as u8, *next_header, 64];
    let host = Addr([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    packet.extend(host.0);
    packet.extend(PREFIX);
    packet.extend([0, 0, 0, 0xff, 0xfe, 0, 0, 3]);
    packet.extend(payload);
    packet
}
