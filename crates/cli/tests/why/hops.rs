//! Output for captures of `line-3` without faults: the number of hops, and the next step.

use serde_json::Value;

use super::support::{Folder, code, redpoll, stdout};

/// Copies of a segment that are in the mesh at the same time, such as a tail loss probe and the
/// segment that it repeats, do not add hops.
#[test]
fn a_line_of_three_hops_has_three_hops_with_each_seed() {
    let folder = Folder::new("why-hops");
    let capture = folder.file("capture.pcapng");
    for seed in 1..=10 {
        let seed = seed.to_string();
        let run = ["run", "line-3", "--duration", "60 s", "--seed", &seed];
        let run = redpoll(&[&run[..], &["--pcap", &capture]].concat());
        assert_eq!(code(&run), 0, "{run:?}");
        let why = redpoll(&["why", &capture, "--json", "-"]);
        let found: Value = serde_json::from_str(&stdout(&why)).unwrap();
        for direction in found["flows"][0]["directions"].as_array().unwrap() {
            assert_eq!(direction["hops"], 3, "seed {seed}: {direction}");
        }
    }
}

/// Without a cause, the output says so and names what to check next.
#[test]
fn without_a_cause_the_output_gives_the_next_step() {
    let folder = Folder::new("why-none");
    let capture = folder.file("capture.pcapng");
    let run = ["run", "line-3", "--duration", "60 s", "--seed", "1"];
    assert_eq!(
        code(&redpoll(&[&run[..], &["--pcap", &capture]].concat())),
        0
    );
    let output = redpoll(&["why", &capture, "--simulate"]);
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    assert_eq!(
        text.matches(" data segments and 1 with only SYN or FIN (retransmissions among them: ")
            .count(),
        1
    );
    assert_eq!(
        text.matches("median round-trip time on the air ").count(),
        1
    );
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(
        lines,
        [
            "  No known cause was found.",
            "     The capture shows none of the six causes. Next, check what `why` does not look for: too",
            "     many senders on one channel, full queues, a timeout shorter than the round trip.",
            "Nothing to simulate: no cause was found.",
        ]
    );
}
