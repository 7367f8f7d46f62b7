//! Errors name their place and the allowed values.

use super::{SMALL, load};

fn refusal(text: &str) -> String {
    match load(&format!("{SMALL}{text}"), &[]) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

fn refuses(cases: &[(&str, &str)]) {
    let mut differences = String::new();
    for (text, message) in cases {
        let got = refusal(text);
        assert_eq!(got.lines().count(), 1, "{got}");
        if !got.contains(message) {
            differences += &format!("{text}\n got {got}\nwant {message}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Additions to a small scenario, each with part of its error message.
const VALUES: &[(&str, &str)] = &[
    (
        "[thread]\nmodule = \"x.so\"\n[nodes.node-2]\nkind = \"openthread\"\n\
         [apps.e]\ntype = \"echo\"\non = [\"node-2\"]",
        "nodes.node-2.kind: got openthread, but the app e runs on it; allowed: apps on nodes of the kind redpoll, or bulk-sender",
    ),
    (
        "[thread]\nmodule = \"x.so\"\n[nodes.node-2]\nkind = \"openthread\"\n\
         [apps.s]\ntype = \"bulk-sink\"\non = [\"node-2\"]\nport = 9\n\
         [apps.b]\ntype = \"bulk-sender\"\non = [\"node-1\"]\nto = \"node-2:9\"",
        "apps.b.to: got node-2, a node of the kind openthread, but the app runs on node-1",
    ),
    (
        "[thread]\nmodule = \"x.so\"\nnetwork_name = \"a-name-of-17-byte\"\n\
         [nodes.node-2]\nkind = \"openthread\"",
        "thread.network_name: got a name of 17 bytes; allowed: at most 16 bytes",
    ),
    (
        "[thread]\nmodule = \"x.so\"\n[nodes.node-2]\nkind = \"openthread\"\n\
         [tcp]\nreceive_buffer = \"20000 B\"\n\
         [apps.s]\ntype = \"bulk-sink\"\non = [\"node-2\"]\nport = 9",
        "tcp.receive_buffer: got 20000 B; allowed with apps on nodes of the kind openthread: at most 16384 B",
    ),
    (
        "[thread]\nmodule = \"x.so\"\n[nodes.node-2]\nkind = \"openthread\"\n\
         [tcp]\nsend_buffer = \"16385 B\"\n\
         [apps.s]\ntype = \"bulk-sink\"\non = [\"node-2\"]\nport = 9",
        "tcp.send_buffer: got 16385 B; allowed with apps on nodes of the kind openthread: at most 16384 B",
    ),
    (
        "[thread]\nmodule = \"x.so\"\n[nodes.node-2]\nkind = \"openthread\"\n\
         [tcp]\nmss = \"40 B\"\n\
         [apps.s]\ntype = \"bulk-sink\"\non = [\"node-2\"]\nport = 9",
        "tcp.mss: got 40 B; allowed with apps on nodes of the kind openthread: at least 64 B",
    ),
    (
        "[nodes.node-2]\nkind = \"external\"",
        "nodes.node-2.line: is missing; allowed: ",
    ),
    (
        "[nodes.node-2]\nkind = \"external\"\nline = \"unix:x\"",
        "nodes.node-2.role: got router, but the node is external and gets no routes; allowed: leaf",
    ),
    (
        "[nodes.node-2]\nkind = \"external\"\nline = \"unix:x\"\nrole = \"leaf\"\nsleepy = true",
        "nodes.node-2.sleepy: got true, but an external node cannot be sleepy; allowed: false",
    ),
    (
        "[nodes.node-2]\nkind = \"attacker\"",
        "nodes.node-2.role: got router, but the node is an attacker and forwards nothing; allowed: leaf",
    ),
    (
        "[nodes.node-2]\nkind = \"attacker\"\nrole = \"leaf\"\nsleepy = true",
        "nodes.node-2.sleepy: got true, but an attacker cannot be sleepy; allowed: false",
    ),
    (
        "[mac]\naddresses = \"extended\"\n[nodes.node-2]\nkind = \"attacker\"\nrole = \"leaf\"",
        "nodes.node-2.kind: got attacker, but mac.addresses is extended; allowed: attacker with mac.addresses = \"short\"",
    ),
    (
        "[nodes.node-2]\nkind = \"attacker\"\nrole = \"leaf\"\n[apps.x]\ntype = \"http-server\"\non = \"node-2\"",
        "nodes.node-2.kind: got attacker, but the app x runs on it; allowed: apps on nodes of other kinds",
    ),
    (
        "colour = 1",
        "t.toml:5: topology.colour: got the unknown key \"colour\"; allowed: kind, ",
    ),
    (
        "[topologie]\nx = 1",
        "t.toml:5: topologie: got the unknown key \"topologie\" (did you mean topology?); allowed: name, duration, seed, routing, topology, medium, ",
    ),
    (
        "[mac]\nmax_be = 9",
        "t.toml:6: mac.max_be: got 9; allowed: a whole number from 0 to 8",
    ),
    (
        "[mac]\nmax_be = 2.5",
        "t.toml:6: mac.max_be: got 2.5; allowed: a whole number",
    ),
    (
        "[mac]\nmax_be = \"5\"",
        "t.toml:6: mac.max_be: got \"5\"; allowed: a whole number",
    ),
    (
        "[mac]\nmax_be = -1",
        "t.toml:6: mac.max_be: got -1; allowed: a whole number",
    ),
    (
        "[mac]\nmin_be = 6",
        "t.toml:6: mac.min_be: got 6; allowed: at most 5, the value of mac.max_be",
    ),
    (
        "[mac]\nlink_retry_delay = 40",
        "t.toml:6: mac.link_retry_delay: got 40 without a unit; allowed: 0 us to 10 s",
    ),
    (
        "[mac]\nlink_retry_delay = \"40\"",
        "t.toml:6: mac.link_retry_delay: got \"40\" without a unit",
    ),
    (
        "[mac]\nlink_retry_delay = \"-4 ms\"",
        "t.toml:6: mac.link_retry_delay: got \"-4 ms\"; allowed: 0 us",
    ),
    (
        "[mac]\nlink_retry_delay = \"4 dBm\"",
        "t.toml:6: mac.link_retry_delay: got \"4 dBm\" with the unit dBm",
    ),
    (
        "[radio]\nmodel = \"cc1101\"",
        "t.toml:6: radio.model: got \"cc1101\"; allowed: at86rf233, cc2420, ideal",
    ),
    (
        "[medium]\ntx_power = \"-8 dBm\"",
        "t.toml:6: medium.tx_power: has no meaning where model is unit-disk; allowed: with model sinr",
    ),
    (
        "[medium]\ntransmission_range = \"200 m\"",
        "t.toml:5: medium.interference_range: got 100 m; allowed: at least",
    ),
    (
        "[medium]\nsuccess_ratio_rx = \"110 %\"",
        "t.toml:6: medium.success_ratio_rx: got \"110 %\"; allowed: 0 % to 100 %",
    ),
    (
        "[border]\nprefix = \"fd00::/48\"",
        "t.toml:6: border.prefix: got \"fd00::/48\"; allowed: an IPv6 prefix of 64 bits",
    ),
    (
        "[border]\nprefix = \"fd00::1/64\"",
        "t.toml:6: border.prefix: got",
    ),
    (
        "[border]\nprefix = \"fe80::/64\"",
        "t.toml:6: border.prefix: got",
    ),
    (
        "[border]\nhost = \"fd72:6564:706f:6c6c::9\"",
        "t.toml:6: border.host: got the host",
    ),
    (
        "[lowpan]\nslot_size = \"200 B\"",
        "t.toml:6: lowpan.slot_size: got 200 B; allowed: at least ",
    ),
    (
        "[lowpan]\nslot_size = \"200 B\"",
        " with a full segment (tcp.mss is ",
    ),
    (
        "[border]\nhost = \"::1\"",
        "t.toml:6: border.host: got \"::1\"; allowed: a unicast IPv6 address",
    ),
    (
        "[border]\nhost = \"ff02::1\"",
        "t.toml:6: border.host: got \"ff02::1\"; allowed:",
    ),
    (
        "[tcp]\nkeepalive_interval = \"40 ms\"",
        "allowed: 1 s to 24 h, such as \"1 s\" (units",
    ),
    (
        "[mac]\nmax_be = 5\nmax_be = 6",
        "t.toml:7: got the key \"max_be\" a second time; allowed: each key once",
    ),
    (
        "[mac]\nmax_be = 18446744073709551616",
        "t.toml:6: mac.max_be: got 18446744073709552000; allowed: a whole number",
    ),
    (
        "[nodes.node-4]\nrole = \"leaf\"",
        "t.toml:5: nodes.node-4: got the unknown node \"node-4\" (did you mean node-1?)",
    ),
    (
        "[nodes.node-2]\nrole = \"king\"",
        "t.toml:6: nodes.node-2.role: got \"king\"; allowed: border, router, leaf",
    ),
    (
        "[nodes]\nnode-1.role = \"border\"\nnode-2.role = \"border\"",
        "t.toml:7: nodes.node-2.role: got a second border router in addition to node-1",
    ),
    (
        "[nodes.node-2]\nshort_address = 3",
        "nodes.node-3.short_address: got 3, which node-2 already has",
    ),
    (
        "[nodes.\"a b\"]\nrole = \"leaf\"",
        "t.toml:5: nodes.a b: got the name \"a b\"; allowed: a word",
    ),
    (
        "[tcp]\nmss = \"12 frames\"",
        "t.toml:6: tcp.mss: got \"12 frames\"; allowed: from 1 to 11 frames",
    ),
    (
        "[tcp]\nmss = 462",
        "t.toml:6: tcp.mss: got 462; allowed: from 1 to 11 frames",
    ),
    (
        "[tcp]\nmax_rto = \"1 s\"\nmin_rto = \"2 s\"",
        "t.toml:6: tcp.max_rto: got 1 s; allowed: at least 2 s, the value of tcp.min_rto",
    ),
    (
        "[tcp]\nnagle = \"yes\"",
        "t.toml:6: tcp.nagle: got \"yes\"; allowed: true, false",
    ),
    (
        "[tcp]\ninitial_rto = 1979-05-27",
        "t.toml:6: tcp.initial_rto: got 1979-05-27; allowed:",
    ),
];

#[test]
fn wrong_keys_values_and_units_are_refused_one_by_one() {
    refuses(VALUES);
}

/// Erroneous apps and faults, each with part of its error message.
const APPS_AND_FAULTS: &[(&str, &str)] = &[
    (
        "[apps.a]\non = \"node-1\"",
        "t.toml:5: apps.a.type: is missing; allowed: http-server, ",
    ),
    (
        "[apps.a]\ntype = \"web\"",
        "t.toml:6: apps.a.type: got \"web\"; allowed: http-server",
    ),
    (
        "[apps.a]\ntype = \"http-server\"",
        "t.toml:5: apps.a.on: is missing; allowed: a node's name",
    ),
    (
        "[apps.a]\ntype = \"http-server\"\non = \"node-9\"",
        "t.toml:7: apps.a.on: got the unknown node \"node-9\"",
    ),
    (
        "[apps.a]\ntype = \"http-server\"\non = \"every leaf\"",
        "t.toml:7: apps.a.on: got \"every leaf\", but no node matches; allowed: names and groups of nodes that match at least one node",
    ),
    (
        "[apps.a]\ntype = \"http-server\"\non = \"node-1\"\nto = \"node-2:1\"",
        "t.toml:8: apps.a.to: has no meaning where type is http-server; allowed: with type bulk-sender, sensor, mqtt-sensor",
    ),
    (
        "[apps.a]\ntype = \"bulk-sink\"\non = \"node-1\"",
        "t.toml:5: apps.a.port: is missing",
    ),
    (
        "[apps.a]\ntype = \"bulk-sender\"\non = \"node-1\"",
        "t.toml:5: apps.a.to: is missing",
    ),
    (
        "[apps.a]\ntype = \"bulk-sender\"\non = \"node-1\"\nto = \"node-2\"",
        "t.toml:8: apps.a.to: got \"node-2\"; allowed: \"node:port\"",
    ),
    (
        "[apps.a]\ntype = \"bulk-sender\"\non = \"node-1\"\nto = \"node-2:0\"",
        "apps.a.to: got \"node-2:0\"",
    ),
    (
        "[apps.a]\ntype = \"bulk-sender\"\non = \"node-1\"\nto = \"nod-2:7\"",
        "got the unknown node \"nod-2\" (did you mean node-2?); allowed: host, node-1, node-2, node-3",
    ),
    (
        "[apps.a]\ntype = \"bulk-sender\"\non = \"node-1\"\nto = \"[fd00:zz]:7\"",
        "apps.a.to: got \"[fd00:zz]:7\"",
    ),
    (
        "[apps.a]\ntype = \"bulk-sender\"\non = \"node-1\"\nto = \"node-2:7\"",
        "apps.a.to: got port 7 of node-2, where no bulk-sink listens",
    ),
    (
        "[apps.a]\ntype = \"bulk-sender\"\non = \"every node\"\nto = \"node-2:7\"",
        "apps.a.on: got node-2, the destination of the app",
    ),
    (
        "[apps.a]\ntype = \"sensor\"\non = \"node-1\"\nto = \"host:7\"\nreading = \"2 KiB\"",
        "apps.a.reading: got \"2 KiB\"; allowed: 16 B to 1 KiB",
    ),
    (
        "[apps.a]\ntype = \"mqtt-sensor\"\non = \"node-1\"\nto = \"host:7\"\nqueue = 4",
        "t.toml:9: apps.a.queue: got 4; allowed: at least 8, the value of `batch`",
    ),
    (
        "[apps.a]\ntype = \"mqtt-sensor\"\non = \"node-1\"\nto = \"host:7\"\nbatch = 100",
        "t.toml:9: apps.a.batch: got 100; allowed: at most 64, the value of `queue`",
    ),
    (
        "[apps.a]\ntype = \"mqtt-sensor\"\non = \"node-1\"\nto = \"host:7\"\ntopic = \"a/#\"",
        "apps.a.topic: got \"a/#\"",
    ),
    (
        "[apps.a]\ntype = \"mqtt-sensor\"\non = \"node-1\"\nto = \"host:7\"\nqos = 2",
        "apps.a.qos: got 2; allowed: a whole number from 0 to 1",
    ),
    (
        "[apps.a]\ntype = \"http-server\"\non = \"node-1\"\n[apps.b]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 80",
        "t.toml:11: apps.b.port: got 80, which a already uses on node-1",
    ),
    (
        "[apps.a]\ntype = \"mqtt-sensor\"\non = \"node-1\"\nto = \"node-2:1883\"",
        "t.toml:8: apps.a.to: got node-2, a node, which cannot be an MQTT broker",
    ),
    (
        "[faults.f]\ntype = \"node-off\"",
        "t.toml:5: faults.f.node: is missing",
    ),
    (
        "[faults.f]\ntype = \"node-off\"\nnode = \"node-7\"",
        "t.toml:7: faults.f.node: got the unknown node \"node-7\"",
    ),
    (
        "[faults.f]\ntype = \"drop-frames\"\nfrom = \"5 s\"\nuntil = \"5 s\"",
        "t.toml:8: faults.f.until: `until` is not later than `from`",
    ),
    (
        "[faults.f]\ntype = \"drop-packets\"\nshare = \"half\"",
        "t.toml:7: faults.f.share: got \"half\"",
    ),
    (
        "[faults.f]\ntype = \"drop-packets\"\nframes = \"ack\"",
        "faults.f.frames: has no meaning where type is drop-packets",
    ),
];

#[test]
fn wrong_apps_and_faults_are_refused_one_by_one() {
    refuses(APPS_AND_FAULTS);
}

#[test]
fn wrong_topologies_are_refused_one_by_one() {
    let cases = [
        (
            "",
            "t.toml:1: topology.kind: is missing; allowed: grid, line, tree, positions, links",
        ),
        (
            "[topology]\nkind = \"ring\"",
            "t.toml:2: topology.kind: got \"ring\"",
        ),
        (
            "[topology]\nkind = \"line\"\nspacing = \"4 m\"",
            "t.toml:1: topology.nodes: is missing",
        ),
        (
            "[topology]\nkind = \"line\"\nnodes = 3",
            "topology.spacing: is missing",
        ),
        (
            "[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"4 s\"",
            "t.toml:4: topology.spacing: got \"4 s\" with the unit s",
        ),
        (
            "[topology]\nkind = \"line\"\nnodes = 3\nrows = 3\nspacing = \"4 m\"",
            "t.toml:4: topology.rows: has no meaning where kind is line",
        ),
        (
            "[topology]\nkind = \"grid\"\ncolumns = 1000\nrows = 1000\nspacing = \"4 m\"",
            "topology.rows: makes too many nodes; allowed: up to 10000",
        ),
        (
            "[topology]\nkind = \"tree\"\ndepth = 12\nchildren = 8\nspacing = \"4 m\"",
            "topology.depth: makes too many nodes",
        ),
        (
            "[topology]\nkind = \"positions\"",
            "topology.kind: got 0 [nodes.NAME] tables",
        ),
        (
            "[topology]\nkind = \"positions\"\n[nodes.a]\nrole = \"leaf\"",
            "t.toml:3: nodes.a.position: is missing",
        ),
        (
            "[topology]\nkind = \"positions\"\n[nodes.a]\nposition = [1, 2]",
            "t.toml:4: nodes.a.position: got [1, 2]; allowed: two lengths",
        ),
        (
            "[topology]\nkind = \"links\"\n[nodes.a]\n[nodes.b]",
            "t.toml:1: topology.links: is missing",
        ),
        (
            "[topology]\nkind = \"links\"\nlinks = [\"a - b\"]\n[nodes.a]\n[nodes.b]",
            "t.toml:3: topology.links: got \"a - b\"",
        ),
        (
            "[topology]\nkind = \"links\"\nlinks = [\"a <-> c\"]\n[nodes.a]\n[nodes.b]",
            "topology.links: got the unknown node \"c\"",
        ),
        (
            "[topology]\nkind = \"links\"\nlinks = [\"a <-> b, 900 %\"]\n[nodes.a]\n[nodes.b]",
            "topology.links: got \"a <-> b, 900 %\"",
        ),
        (
            "[topology]\nkind = \"links\"\nlinks = [\"a <-> b\", \"b <-> a\"]\n[nodes.a]\n[nodes.b]",
            "topology.links: got \"b <-> a\"; allowed: each pair",
        ),
    ];
    for (text, message) in cases {
        let got = load(text, &[]).unwrap_err().to_string();
        assert!(got.contains(message), "{text}\n got {got}\nwant {message}");
    }
}

/// Checks that loading a mistyped scenario gives a scenario or one line of error, and no panic.
#[test]
fn mangled_scenarios_never_panic() {
    let mut rng = redpoll_base::Rng::named(1, "mangled");
    let mut refused = 0;
    for round in 0..3_000u32 {
        let built_in = &crate::scenario::BUILT_IN[round as usize % 6];
        let mut lines: Vec<String> = built_in.text.lines().map(str::to_owned).collect();
        let some = |rng: &mut redpoll_base::Rng, len: usize| rng.below(len as u32) as usize;
        for _ in 0..=rng.below(3) {
            let at = some(&mut rng, lines.len());
            let other = lines[some(&mut rng, lines.len())].clone();
            match rng.below(5) {
                0 => lines[at] = other,
                1 => lines.insert(at, other),
                2 => lines[at].clear(),
                3 => {
                    let mut chars: Vec<char> = lines[at].chars().collect();
                    if !chars.is_empty() {
                        let place = some(&mut rng, chars.len());
                        let symbols: Vec<char> = "0-9.\"=[]{}, xmB%".chars().collect();
                        chars[place] = symbols[some(&mut rng, symbols.len())];
                    }
                    lines[at] = chars.into_iter().collect();
                }
                _ => {
                    let number = rng.next_u32().to_string();
                    lines[at] = lines[at].replace(|c: char| c.is_ascii_digit(), &number);
                }
            }
        }
        if let Err(error) = load(&lines.join("\n"), &[]) {
            refused += 1;
            let text = error.to_string();
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(text.starts_with("t.toml:"), "{text}");
        }
    }
    assert!((500..3_000).contains(&refused), "{refused}");
}
