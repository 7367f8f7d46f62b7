//! A scenario gives the same findings in storing and in non-storing mode of RPL. In non-storing mode,
//! packets have source routes and tunnels.

use serde_json::Value;

use super::support::Folder;
use super::{DOWN, causes, found};

/// The facts of one connection: the addresses of its ends and the port of the second, its number of
/// connections, and for each direction the number of hops and the largest number of segments in
/// flight.
type Facts = (String, u64, [u64; 2], [u64; 2]);

fn facts(found: &Value) -> Vec<Facts> {
    let flows = found["flows"].as_array().unwrap();
    let mut all: Vec<Facts> = flows.iter().map(facts_of).collect();
    all.sort();
    all
}

fn facts_of(flow: &Value) -> Facts {
    let [first, second] = [0, 1].map(|at| &flow["ends"][at]);
    let ends = format!(
        "{} to {} port {}",
        first["address"], second["address"], second["port"]
    );
    let of = |key: &str| [0, 1].map(|at| flow["directions"][at][key].as_u64().unwrap());
    let connections = flow["connections"].as_u64().unwrap();
    (ends, connections, of("hops"), of("most_in_flight"))
}

/// Compares both modes in scenarios in which all paths of a node to the border router have the same
/// number of hops.
#[test]
fn storing_and_non_storing_mode_have_the_same_connections_hops_flight_and_causes() {
    let folder = Folder::new("why-modes");
    let down = folder.write("down.toml", DOWN);
    let host = DOWN.replace("on = \"node-1\"", "on = \"host\"");
    assert_ne!(host, DOWN);
    let host = folder.write("host.toml", &host);
    let none = &[][..];
    for (scenario, setting, hops, flight, cause) in [
        ("line-1", "", &[1][..], 4, none),
        ("line-3", "", &[3], 4, none),
        ("line-4", "", &[4], 4, none),
        (
            "line-3",
            "tcp.transport=uip-3.0",
            &[3],
            1,
            &["window-of-one"],
        ),
        (
            "line-3",
            "mac.max_frame_retries=0",
            &[3],
            4,
            &["lost-fragments"],
        ),
        ("line-3", "lowpan.fragment_recovery=true", &[3], 4, none),
        ("office", "", &[4], 4, none),
        ("testbed-3", "", &[3], 4, none),
        ("readings", "", &[3, 4, 4, 5], 1, none),
        // To the leaf: from the computer behind the border router, and from the border router.
        ("intruder", "", &[2], 4, none),
        (&down, "", &[3], 4, none),
        (&host, "", &[3], 4, none),
        (
            &host,
            "indirect.burst=false",
            &[3],
            4,
            &["poll-per-fragment"],
        ),
        // In both directions.
        ("sleepy-rpl", "", &[3, 3], 1, none),
        ("sleepy-web", "", &[3], 1, none),
    ] {
        let what = format!("{scenario} {setting}");
        let [storing, non_storing] = ["storing", "non-storing"].map(|mode| {
            let mode = format!("rpl.mode={mode}");
            let settings = ["routing=rpl", mode.as_str(), setting];
            let settings = settings.into_iter().filter(|it| !it.is_empty());
            let settings: Vec<&str> = settings.collect();
            found(&folder, scenario, &settings, &[])
        });
        let seen = facts(&storing);
        assert_eq!(seen, facts(&non_storing), "{what}");
        assert_eq!(causes(&storing), cause, "{what}");
        assert_eq!(causes(&non_storing), cause, "{what}");
        let mut found: Vec<u64> = seen.iter().map(|(_, _, [hops, _], _)| *hops).collect();
        found.sort_unstable();
        assert_eq!(found, hops, "{what}");
        for (ends, connections, [there, back], in_flight) in seen {
            assert_eq!((connections, there), (1, back), "{what}: {ends}");
            assert_eq!(in_flight, [flight, 1], "{what}: {ends}");
        }
    }
}
