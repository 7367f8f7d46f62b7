//! The configurations for the roles of a node.

use crate::common;

use common::{address, prefix};
use redpoll_mac::MacConfig;
use redpoll_stack::{Advertised, NdConfig, NodeConfig, PollConfig, SleepyConfig};
use redpoll_tcp::Standard;

const SECRET: [u8; 16] = [7; 16];

fn mac() -> MacConfig {
    MacConfig::default().with(|it| it.short = 4)
}

/// Checks the fields that every node of a mesh has in common.
fn check_mesh(config: &NodeConfig) {
    assert_eq!(config.address, address(4));
    assert_eq!(config.mac.short, 4);
    assert_eq!((config.lowpan.first_tag, config.tcp.mss), (0x1234, 474));
    let context = config.contexts.lookup(0).unwrap();
    assert_eq!((context.prefix, context.len), (prefix(), 64));
    assert_eq!((config.hop_limit, config.isn_secret), (64, SECRET));
    assert!(config.sleepy.is_none() && config.preempts);
}

#[test]
fn routers_forward_and_advertise_and_leaves_do_not() {
    let leaf: NodeConfig = NodeConfig::leaf(mac(), prefix(), 0x1234, SECRET);
    check_mesh(&leaf);
    assert_eq!((leaf.forwards, leaf.nd), (false, NdConfig::default()));

    let router = NodeConfig::router(mac(), prefix(), address(1), 0x1234, SECRET);
    check_mesh(&router);
    let advertised = Some(Advertised::new(prefix(), address(1)));
    assert_eq!(router.nd.advertise, advertised);
    assert!(router.forwards && !router.nd.solicit);

    // A border router is itself the origin of the prefix.
    let border = NodeConfig::border(mac(), prefix(), 0x1234, SECRET);
    check_mesh(&border);
    let advertised = Some(Advertised::new(prefix(), address(4)));
    assert_eq!(border.nd.advertise, advertised);
    assert!(border.forwards && !border.nd.solicit);
}

#[test]
fn other_algorithms_leave_the_rest_of_the_configuration() {
    let parents = [Some(3), None, None, None];
    let sleepy = SleepyConfig::new(parents).with(|it| it.burst = true);
    assert_eq!((sleepy.parents, sleepy.parent_failures), (parents, 4));
    assert_eq!((sleepy.poll, sleepy.burst), (PollConfig::default(), true));
    assert!(!SleepyConfig::new(parents).burst);
    let config = NodeConfig::router(mac(), prefix(), address(1), 0x1234, SECRET).with(|it| {
        it.hop_limit = 9;
        it.preempts = false;
        it.sleepy = Some(sleepy);
    });
    let before = format!("{config:?}");
    let after = config.with_algorithms(Standard);
    assert_eq!(format!("{after:?}"), before);
    assert!(before.contains("hop_limit: 9") && before.contains("preempts: false"));
}
