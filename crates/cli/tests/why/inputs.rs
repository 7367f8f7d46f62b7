//! Captures of other stacks and of non-storing RPL: connections are followed through source
//! routes, tunnels and mesh headers.

use serde_json::Value;

use super::support::{Folder, code, redpoll, stderr, stdout};

fn input(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../dissect/tests/inputs/");
    format!("{folder}{name}")
}

fn why(file: &str) -> Value {
    let output = redpoll(&["why", file, "--json", "-"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// In non-storing mode, the destination changes at each hop of a source route (RFC 6554).
#[test]
fn non_storing_mode_gives_the_connection_of_storing_mode() {
    let folder = Folder::new("down");
    let flows = ["non-storing", "storing"].map(|mode| {
        let capture = folder.file(&format!("{mode}.pcapng"));
        let mode = format!("rpl.mode={mode}");
        let run = redpoll(&[
            "run",
            &input("down.toml"),
            "--duration",
            "40s",
            "--set",
            "routing=rpl",
            "--set",
            &mode,
            "--pcap",
            &capture,
        ]);
        assert_eq!(code(&run), 0, "{}", stderr(&run));
        why(&capture)["flows"].clone()
    });
    for flows in &flows {
        let [flow] = flows.as_array().unwrap().as_slice() else {
            panic!("{flows:#}");
        };
        assert_eq!(flow["connections"], 1);
        assert_eq!(
            flow["ends"][1]["address"],
            "fd72:6564:706f:6c6c:0:ff:fe00:c"
        );
        let down = &flow["directions"][0];
        assert_eq!(
            (&down["hops"], &down["most_in_flight"]),
            (&4.into(), &4.into())
        );
        assert_eq!(flow["directions"][1]["hops"], 4);
    }
    let causes = flows.map(|flows| flows[0]["causes"].as_array().unwrap().len());
    assert_eq!(causes[0], causes[1]);
}

#[test]
fn mesh_headers_carry_one_connection_over_their_hops() {
    let seen = why(&input("mesh.pcap"));
    let flow = &seen["flows"][0];
    assert_eq!(flow["ends"][0]["address"], "fe80::ff:fe00:2");
    assert_eq!(flow["ends"][1]["address"], "fe80::ff:fe00:1");
    assert_eq!(flow["connections"], 1);
    assert_eq!(flow["directions"][0]["hops"], 2);
}

#[test]
fn other_formats_give_their_connection() {
    for name in [
        "v2015.pcap",
        "opb.pcapng",
        "multi.pcapng",
        "zep.pcap",
        "cc24xx.pcap",
        "ctx1.pcap",
    ] {
        let seen = why(&input(name));
        assert_eq!(seen["flows"].as_array().unwrap().len(), 1, "{name}");
        assert_eq!(seen["broken"], 0, "{name}");
    }
    let seen = why(&input("etha0ed.pcap"));
    assert_eq!(seen["without_radio"], 3);
}

/// The causes are intervals, so a capture without times has none.
#[test]
fn a_capture_without_timestamps_is_refused_and_dissect_reads_it() {
    let file = input("spb.pcapng");
    let output = redpoll(&["why", &file]);
    assert_eq!(code(&output), 2);
    assert_eq!(
        stderr(&output),
        format!(
            "redpoll: {file}: frame 1 has no timestamp, which `why` needs to find causes; use \
             `redpoll dissect` to list the frames\n"
        )
    );
    assert_eq!(code(&redpoll(&["dissect", &file])), 0);
}
