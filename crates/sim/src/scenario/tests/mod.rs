mod refusals;

use redpoll_base::Duration;

use super::model::Mss;
use super::*;
use crate::fault::{FrameKind, Rule};
use crate::medium;
use crate::medium::LinkSource;
use crate::radio::Model;

const SMALL: &str = "\
[topology]
kind = \"line\"
nodes = 3
spacing = \"40 m\"
";

fn load(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Scenario::parse("t.toml", text, &overrides)
}

#[test]
fn missing_keys_have_their_defaults() {
    let scenario = load(SMALL, &[]).unwrap();
    assert_eq!(scenario.name, "t");
    assert_eq!(scenario.duration, Duration::from_secs(60));
    assert_eq!(scenario.nodes.len(), 3);
    assert_eq!(scenario.nodes[2].name, "node-3");
    assert_eq!(scenario.nodes[2].short, 3);
    assert_eq!(scenario.nodes[2].position_m, (80.0, 0.0));
    assert_eq!(scenario.nodes[2].role, Role::Router);
    assert_eq!(scenario.medium, medium::Config::default());
    assert_eq!(scenario.radio.model, Model::At86rf233);
    assert_eq!(scenario.mac.link_retry_delay, Duration::from_millis(40));
    assert_eq!(scenario.tcp.mss, Mss::Frames(5));
    assert_eq!(
        scenario.address(1).unwrap().to_string(),
        "fd72:6564:706f:6c6c:0:ff:fe00:2"
    );
}

#[test]
fn each_prefix_has_a_host_of_its_own() {
    let host = |overrides: &[(&str, &str)]| {
        let border = load(SMALL, overrides).unwrap().border;
        assert!(!border.host.shares_prefix(&border.prefix, 64));
        border.host.to_string()
    };
    let prefix = |text| host(&[("border.prefix", text)]);
    assert_eq!(host(&[]), "fd72:6564:706f::1");
    assert_eq!(prefix("fd72:6564:706f:6c6c::/64"), "fd72:6564:706f::1");
    assert_eq!(prefix("fd00:1:2:3::/64"), "fd00:1:2:8003::1");
    assert_eq!(prefix("fd72:6564:706f::/64"), "fd72:6564:706f:8000::1");
    assert_eq!(
        host(&[
            ("border.prefix", "fd00:1:2:3::/64"),
            ("border.host", "fd00::7")
        ]),
        "fd00::7"
    );
}

#[test]
fn a_slot_takes_a_full_segment() {
    let sizes = |size, mss| load(SMALL, &[("lowpan.slot_size", size), ("tcp.mss", mss)]);
    assert!(sizes("172 B", "100 B").is_ok());
    let error = sizes("171 B", "100 B").unwrap_err().to_string();
    assert!(
        error.contains("lowpan.slot_size: got 171 B; allowed: at least 172 B"),
        "{error}"
    );
    let error = load(
        &format!("{SMALL}[tcp]\ntimestamps = false\n[lowpan]\nslot_size = \"160 B\""),
        &[("tcp.mss", "101 B")],
    );
    assert!(error.unwrap_err().to_string().contains("tcp.mss is 101 B"));
}

#[test]
fn the_sinr_mediums_defaults_are_the_mediums_own() {
    let scenario = load(SMALL, &[("medium.model", "sinr")]).unwrap();
    assert_eq!(
        scenario.medium,
        medium::Config::Sinr(medium::Sinr::default())
    );
}

#[test]
fn every_default_fits_its_own_key() {
    for key in keys::all() {
        if let schema::Presence::Default(text) = key.presence {
            assert!(keys::default_of(key).is_some(), "{}: {text}", key.path);
        }
    }
}

#[test]
fn no_key_is_listed_twice_and_every_selector_is_a_choice() {
    for (index, key) in keys::all().enumerate() {
        assert!(
            keys::all().take(index).all(|other| other.path != key.path),
            "{}",
            key.path
        );
        if let Some((selector, words)) = key.only {
            let table = key.path.rsplit_once('.').unwrap().0;
            let selector = keys::find(&format!("{table}.{selector}")).unwrap();
            let schema::KeyKind::Choice(choices) = selector.kind else {
                panic!("{}", key.path)
            };
            for word in words {
                assert!(choices.contains(word), "{}: {word}", key.path);
            }
        }
    }
}

#[test]
fn overrides_reach_any_key() {
    let scenario = load(
        SMALL,
        &[
            ("radio.model", "ideal"),
            ("mac.link_retry_delay", "0 ms"),
            ("topology.nodes", "5"),
            ("nodes.node-1.role", "border"),
            ("seed", "9"),
        ],
    )
    .unwrap();
    assert_eq!(scenario.radio.model, Model::Ideal);
    assert_eq!(scenario.mac.link_retry_delay, Duration::ZERO);
    assert_eq!(scenario.nodes.len(), 5);
    assert_eq!(scenario.border_router(), Some(0));
    assert_eq!(scenario.seed, 9);
}

#[test]
fn a_wrong_override_is_named() {
    let wrong = |key, value| load(SMALL, &[(key, value)]).unwrap_err().to_string();
    assert_eq!(
        wrong("mac.max_bee", "5"),
        "--set mac.max_bee=5: mac.max_bee: got the unknown key \"max_bee\" (did you mean max_be?); \
         allowed: pan_id, addresses, max_frame_retries, min_be, max_be, max_csma_backoffs, backoff, ifs, link_retry_delay, link_retry_pause, be_by_queue, deaf_backoff, security_bytes, access, release, check_rate, phase_lock, fast_sleep, strobe_bursts, link_acks, contiki_csma, transmissions, coarse_tick, neighbour_queues, overhears, border_awake"
    );
    assert_eq!(
        wrong("mac.link_retry_delay", "40 m"),
        "--set mac.link_retry_delay=40 m: mac.link_retry_delay: got \"40 m\" with the unit m; \
         allowed: 0 us to 10 s, such as \"40 ms\" (units: us, ms, s, min, h, ns)"
    );
    assert!(wrong("topology", "5").contains("got 5; allowed: a table"));
    assert!(wrong("seed.low", "5").contains("got a table; allowed: a whole number"));
}

#[test]
fn an_overridden_model_passes_over_the_files_keys_for_the_old_one() {
    let text = format!("{SMALL}[medium]\ntransmission_range = \"60 m\"\n");
    let scenario = load(
        &text,
        &[("medium.model", "sinr"), ("medium.tx_power", "-8 dBm")],
    )
    .unwrap();
    let medium::Config::Sinr(sinr) = scenario.medium else {
        panic!()
    };
    assert_eq!(sinr.tx_power_dbm, -8.0);
    // A key that an override sets is refused, not ignored.
    let both = [
        ("medium.model", "sinr"),
        ("medium.interference_range", "90 m"),
    ];
    let error = load(&text, &both).unwrap_err().to_string();
    assert!(
        error.contains("has no meaning where model is sinr"),
        "{error}"
    );
}

#[test]
fn topologies_of_links_and_trees_list_their_links() {
    let text = "[topology]\nkind = \"links\"\nlinks = [\"b <-> a\", \"b <-> c, 90 %\"]\n\
                [nodes.a]\n[nodes.b]\nshort_address = 77\n[nodes.c]\n";
    let scenario = load(text, &[]).unwrap();
    let LinkSource::Listed(links) = scenario.links else {
        panic!("links are listed");
    };
    assert_eq!(
        (links[0].a, links[0].b, links[0].success_ratio),
        (0, 1, 1.0)
    );
    assert_eq!(
        (links[1].a, links[1].b, links[1].success_ratio),
        (1, 2, 0.9)
    );
    assert_eq!(scenario.nodes[1].short, 77);
    let text = "[topology]\nkind = \"tree\"\ndepth = 2\nchildren = 3\nspacing = \"40 m\"\n";
    let scenario = load(text, &[]).unwrap();
    let LinkSource::Listed(links) = scenario.links else {
        panic!("links are listed");
    };
    assert_eq!((scenario.nodes.len(), links.len()), (13, 12));
}

#[test]
fn faults_are_resolved() {
    let text = format!(
        "{SMALL}[faults.lost-acks]\ntype = \"drop-frames\"\nframes = \"ack\"\nshare = \"10 %\"\n\
         receiver = \"node-2\"\nfrom = \"5 s\"\n"
    );
    let faults = load(&text, &[]).unwrap().faults;
    let rule = Rule::DropFrames {
        from: None,
        to: Some(1),
        kind: FrameKind::Ack,
        probability: 0.1,
    };
    assert_eq!(faults[0].rule, rule);
    assert_eq!(faults[0].from, redpoll_base::Instant::from_millis(5_000));
    assert_eq!(faults[0].until, redpoll_base::Instant::FAR_FUTURE);
}

#[test]
fn an_app_on_several_nodes_is_a_flow_each() {
    let text = format!(
        "{SMALL}[apps.s]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 7\n\
         [apps.b]\ntype = \"bulk-sender\"\non = \"every other node\"\nto = \"node-1:7\"\n"
    );
    let scenario = load(&text, &[]).unwrap();
    let names: Vec<&str> = scenario
        .nodes
        .iter()
        .flat_map(|node| &node.apps)
        .map(|app| app.name.as_str())
        .collect();
    assert_eq!(names, ["s", "b/node-2", "b/node-3"]);
    let AppKind::BulkSender { to, bytes, .. } = &scenario.nodes[1].apps[0].kind else {
        panic!()
    };
    assert_eq!((to.host, to.port, *bytes), (TargetHost::Node(0), 7, None));
    assert_eq!(Some(to.addr), scenario.address(0));
    // The far end has memory for both flows' connections, and for two spare connections.
    assert_eq!(scenario.nodes[0].connections, 4);
}

#[test]
fn full_segments_fit_into_their_frames() {
    let mut tcp = load(SMALL, &[]).unwrap().tcp;
    // A FRAG1 has room for 99 bytes after the longest header inside the mesh, and for 85 bytes
    // after one with an outside address. Both are rounded down to a multiple of eight.
    assert_eq!(tcp.payload_bytes(), 96 + 3 * 104 + 111 - 32);
    let outside = load(SMALL, &[("nodes.node-1.role", "border")]).unwrap().tcp;
    assert_eq!(outside.payload_bytes(), 80 + 3 * 104 + 111 - 32);
    assert_eq!(tcp.announced_mss(), tcp.payload_bytes() + 12);
    tcp.timestamps = false;
    assert_eq!(tcp.announced_mss(), tcp.payload_bytes());
    tcp.mss = Mss::Frames(1);
    assert_eq!(tcp.payload_bytes(), 116 - 13 - 20);
    let secured = format!("{SMALL}\n[mac]\nsecurity_bytes = 10\n");
    assert_eq!(
        load(&secured, &[]).unwrap().tcp.payload_bytes(),
        88 + 3 * 96 + 101 - 32
    );
    tcp.mss = Mss::Bytes(462);
    assert_eq!(tcp.payload_bytes(), 462);
}

#[test]
fn every_built_in_scenario_loads() {
    for built_in in BUILT_IN {
        let scenario = Scenario::load(built_in.name, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.name, built_in.name);
    }
}

#[test]
fn every_file_in_the_folder_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            BUILT_IN.iter().any(|built_in| built_in.name == stem),
            "{stem}"
        );
    }
}

#[test]
fn the_lines_are_as_the_figures_need_them() {
    for hops in 1..=4 {
        let scenario = Scenario::load(&format!("line-{hops}"), &[]).unwrap();
        assert_eq!(scenario.nodes.len(), hops + 1);
        let medium::Config::UnitDisk(disk) = scenario.medium else {
            panic!()
        };
        assert_eq!(disk.transmission_range_m, 50.0);
        assert_eq!(disk.interference_range_m, 50.0);
        assert_eq!(disk.carrier_sense_range_m, 50.0);
        assert_eq!(scenario.nodes[1].position_m, (40.0, 0.0));
        assert_eq!(scenario.radio.model, Model::At86rf233);
        assert_eq!(scenario.mac.link_retry_delay, Duration::from_millis(40));
        assert_eq!(scenario.tcp.payload_bytes(), 487);
        assert_eq!(scenario.tcp.receive_buffer, 3 * 487);
        assert_eq!(scenario.border_router(), None);
    }
}

#[test]
fn a_scenario_that_is_not_there_is_refused_with_a_hint() {
    let error = Scenario::load("offce", &[]).unwrap_err().to_string();
    assert!(error.contains("offce: got the unknown scenario \"offce\" (did you mean office?)"));
    let error = Scenario::load("no/such.toml", &[]).unwrap_err().to_string();
    assert!(
        error.starts_with("no/such.toml: cannot be read ("),
        "{error}"
    );
}

#[test]
fn the_documentation_lists_exactly_the_keys_that_the_parser_knows() {
    const BEGIN: &str = "<!-- keys: begin -->\n";
    const END: &str = "<!-- keys: end -->";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
    let text = std::fs::read_to_string(path).unwrap();
    let begin = text.find(BEGIN).expect("the document has the begin mark") + BEGIN.len();
    let end = text.find(END).expect("the document has the end mark");
    if std::env::var_os("REDPOLL_BLESS").is_some() {
        let new = format!("{}{}\n{}", &text[..begin], reference(), &text[end..]);
        std::fs::write(path, new).unwrap();
        return;
    }
    assert_eq!(
        text[begin..end].trim(),
        reference().trim(),
        "run the test with REDPOLL_BLESS=1 and look at the difference"
    );
}

fn neighbours(scenario: &Scenario) -> Vec<Vec<crate::topology::Neighbour>> {
    let positions: Vec<_> = scenario.nodes.iter().map(|node| node.position_m).collect();
    let site = medium::Site::of(&scenario.medium, &positions);
    let links = medium::Links::new(&site, crate::kernel::Seed(1));
    let of = |a: usize| links.of(a).iter().filter(|link| link.receives);
    (0..positions.len())
        .map(|a| {
            of(a)
                .map(|link| crate::topology::Neighbour {
                    node: link.to as usize,
                    cost: link.cost.into(),
                })
                .collect()
        })
        .collect()
}

#[test]
fn the_offices_leaves_are_three_to_five_hops_away() {
    let scenario = Scenario::load("office", &[]).unwrap();
    assert_eq!(scenario.nodes.len(), 15);
    let routes = crate::topology::plan(&scenario, &neighbours(&scenario));
    let hops = |name| {
        routes.nodes[scenario.node(name).unwrap()]
            .hops_to_root
            .unwrap()
    };
    assert_eq!(scenario.border_router(), Some(routes.root));
    assert_eq!(
        ["leaf-12", "leaf-13", "leaf-14", "leaf-15"].map(hops),
        [4, 4, 5, 3]
    );
}

#[test]
fn every_node_of_every_built_in_scenario_reaches_the_root() {
    for built_in in BUILT_IN {
        let scenario = Scenario::load(built_in.name, &[]).unwrap();
        let routes = crate::topology::plan(&scenario, &neighbours(&scenario));
        for (node, spec) in routes.nodes.iter().zip(&scenario.nodes) {
            assert!(
                node.hops_to_root.is_some(),
                "{}: {}",
                built_in.name,
                spec.name
            );
        }
    }
}

/// 2^53 + 1 is the first whole number without an exact double.
#[test]
fn long_seeds_are_exact() {
    for seed in [(1 << 53) + 1, i64::MAX as u64] {
        let overrides = [("seed".to_owned(), seed.to_string())];
        assert_eq!(Scenario::load("pair", &overrides).unwrap().seed, seed);
    }
}

/// Checks that a node which sends to eight nodes has a connection for each, and two spare ones.
#[test]
fn a_place_has_connections_for_its_flows_in_both_directions() {
    let mut text = "duration = \"60 s\"\n[topology]\nkind = \"line\"\nnodes = 9\n\
                    spacing = \"10 m\"\n[apps.sink]\ntype = \"bulk-sink\"\n\
                    on = \"every other node\"\nport = 9\n"
        .to_owned();
    for node in 2..=9 {
        text += &format!(
            "[apps.to-{node}]\ntype = \"bulk-sender\"\non = \"node-1\"\nto = \"node-{node}:9\"\n"
        );
    }
    let scenario = Scenario::parse("fan", &text, &[]).unwrap();
    let connections: Vec<u16> = scenario.nodes.iter().map(|node| node.connections).collect();
    assert_eq!(connections, [10, 4, 4, 4, 4, 4, 4, 4, 4]);
}
