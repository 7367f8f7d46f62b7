//! The program's interface to its users: exit codes, messages, files.

mod support;

use std::process::{Command, Stdio};

use support::{Folder, PROGRAM, code, complaint, redpoll, stderr, stdout};

#[test]
fn help_and_version_explain_themselves() {
    let help = redpoll(&["--help"]);
    assert_eq!(code(&help), 0);
    for word in ["run", "up", "dissect", "redpoll run pair"] {
        assert!(stdout(&help).contains(word), "{word}");
    }
    for (command, words) in [
        (
            "run",
            &[
                "--seed",
                "--duration",
                "--set",
                "--pcap",
                "--json",
                "Exit code",
            ][..],
        ),
        ("up", &["--forward", "--shell", "--set", "grid-1000"]),
        ("dissect", &["--prefix", "pcapng"]),
    ] {
        let help = stdout(&redpoll(&[command, "--help"]));
        for word in words {
            assert!(help.contains(word), "{command}: {word}");
        }
    }
    let version = redpoll(&["--version"]);
    assert_eq!(
        stdout(&version).trim(),
        format!("redpoll {}", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(code(&redpoll(&[])), 2);
    assert_eq!(code(&redpoll(&["run"])), 2);
    assert_eq!(code(&redpoll(&["run", "pair", "--set", "nothing"])), 2);
}

#[test]
fn a_wrong_scenario_ends_with_2_and_one_line_that_says_where() {
    let folder = Folder::new("wrong");
    let unknown = redpoll(&["run", "offce"]);
    assert_eq!(code(&unknown), 2);
    assert!(complaint(&unknown).contains("(did you mean office?)"));

    let head = "[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"10 m\"\n";
    let file = folder.write("a.toml", &format!("{head}[mac]\nlink_retry_delay = 40\n"));
    let output = redpoll(&["run", &file]);
    assert_eq!(code(&output), 2);
    let expected =
        format!("redpoll: {file}:6: mac.link_retry_delay: got 40 without a unit; allowed: ");
    assert!(
        complaint(&output).starts_with(&expected),
        "{}",
        stderr(&output)
    );

    let measured = "{\"node_count\": 2, \"channels\": [26]}\n\
                    datetime,src,dst,channel,mean_rssi,pdr,tx_count\n\
                    2018-01-11T16:00:00.0,1,0,26,-60,1.5,100\n";
    folder.write("links.k7", measured);
    let links = folder.write(
        "k7.toml",
        "[topology]\nkind = \"k7\"\nfile = \"links.k7\"\n",
    );
    folder.write("noise.txt", "-98\n-97\n");
    let noise = "[medium]\nmodel = \"sinr\"\nnoise_trace = \"noise.txt\"\n";
    let noise = folder.write("noise.toml", &format!("{head}{noise}"));
    for (file, what) in [(links, "links.k7:3:34: pdr"), (noise, "a trace of 2 ms")] {
        let output = redpoll(&["run", &file]);
        assert_eq!(code(&output), 2);
        let line = complaint(&output);
        assert!(line.contains(what), "{line}");
    }

    let output = redpoll(&["run", "pair", "--set", "radio.modell=ideal"]);
    assert_eq!(code(&output), 2);
    let line = complaint(&output);
    assert!(line.starts_with("redpoll: --set radio.modell=ideal: radio.modell: got the unknown"));
    assert!(line.contains("(did you mean model?)"), "{line}");

    let output = redpoll(&["run", "pair", "--duration", "-5 s"]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains("duration: got \"-5 s\"; allowed: 1 ms to "));

    let output = redpoll(&["run", "pair", "--duration", "5"]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains("duration: got 5 without a unit"));

    let output = redpoll(&["run", "pair", "--seed", "-1"]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains("seed: got -1; allowed: a whole number from 0 to "));

    let file = folder.write("b.toml", "[topology\n");
    let output = redpoll(&["run", &file]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).starts_with(&format!("redpoll: {file}:1: ")));
}

#[test]
fn a_run_prints_flows_nodes_and_the_medium_with_its_ranges() {
    let output = redpoll(&["run", "pair", "--duration", "5 s"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let text = stdout(&output);
    for part in [
        "pair: 5.000 s simulated in ",
        "medium: unit disk: transmission 50 m, interference 100 m, carrier sense (CCA) 100 m",
        "goodput",
        "bulk  node-2  node-1  ",
        "RTT p50",
        "retries",
        "air time by message type",
        "\ndata  ",
        "\nlink acknowledgements  ",
        "control plane (RPL and neighbour discovery): 0.00 % of ",
        "oracle: each byte arrived at most once, in order and unchanged",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn the_json_object_has_the_documented_keys() {
    let output = redpoll(&[
        "run",
        "pair",
        "--duration",
        "5 s",
        "--seed",
        "7",
        "--json",
        "-",
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = |value: &serde_json::Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(
        keys(&json),
        [
            "air_time",
            "events",
            "flows",
            "interferers",
            "medium",
            "nodes",
            "oracle",
            "peak_memory_bytes",
            "scenario",
            "seed",
            "set",
            "simulated_s",
            "version",
            "wall_s"
        ]
    );
    assert_eq!(json["version"], 1);
    assert_eq!(json["scenario"], "pair");
    assert_eq!(json["seed"], 7);
    assert_eq!(json["simulated_s"], 5.0);
    assert_eq!(keys(&json["oracle"]), ["ok", "violations"]);
    assert_eq!(json["oracle"]["ok"], true);
    assert_eq!(json["medium"]["transmission_range_m"], 50.0);
    let flow = &json["flows"][0];
    assert_eq!(
        keys(flow),
        [
            "delivered_bytes",
            "from",
            "goodput_kbps",
            "last_arrival_s",
            "name",
            "retransmissions",
            "rtt_ms",
            "segment_loss",
            "segments_sent",
            "sent_bytes",
            "to"
        ]
    );
    assert!(flow["delivered_bytes"].as_u64().unwrap() > 10_000, "{flow}");
    assert_eq!(keys(&flow["rtt_ms"]), ["p50", "p95"]);
    assert!(flow["retransmissions"]["rto"].is_u64() && flow["retransmissions"]["fast"].is_u64());
    let node = &json["nodes"][0];
    assert_eq!(
        keys(node),
        [
            "addresses_refused",
            "data_requests",
            "drops",
            "ecn_marks",
            "energy",
            "frame_retries",
            "frames_sent",
            "hops",
            "memory_bytes",
            "name",
            "parent",
            "parent_changes",
            "position_m",
            "radio_duty_cycle",
            "role"
        ]
    );
    assert!(
        node["memory_bytes"].as_u64().unwrap() <= 64 * 1024,
        "{node}"
    );
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let run = |seed| {
        let output = redpoll(&[
            "run",
            "line-2",
            "--duration",
            "4 s",
            "--seed",
            seed,
            "--json",
            "-",
        ]);
        let mut json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for key in ["wall_s", "peak_memory_bytes"] {
            json.as_object_mut().unwrap().remove(key);
        }
        json
    };
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3"), run("4"));
}

#[test]
fn a_capture_can_be_dissected_without_one_malformed_frame() {
    let folder = Folder::new("capture");
    let file = folder.file("run.pcapng");
    let output = redpoll(&["run", "pair", "--duration", "2 s", "--pcap", &file]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let output = redpoll(&["dissect", &file]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().count() > 50, "{text}");
    for word in ["[S", "FRAG1", "FRAGN", "ack seq", "IPHC", "TCP"] {
        assert!(text.contains(word), "{word}");
    }
    for word in ["malformed", "wrong", "unknown"] {
        assert!(!text.contains(word), "{word}");
    }
    // Reads the same capture from standard input.
    let input = std::fs::File::open(&file).unwrap();
    let piped = Command::new(PROGRAM)
        .args(["dissect", "-"])
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!(stdout(&piped), text);
}

#[test]
fn a_capture_that_breaks_off_is_shown_up_to_there() {
    let folder = Folder::new("breaks-off");
    let file = folder.file("run.pcapng");
    redpoll(&["run", "pair", "--duration", "1 s", "--pcap", &file]);
    let bytes = std::fs::read(&file).unwrap();
    let all = stdout(&redpoll(&["dissect", &file]));
    for cut in [1, 4, 10, 40, 70, 90] {
        std::fs::write(&file, &bytes[..bytes.len() - cut]).unwrap();
        let output = redpoll(&["dissect", &file]);
        assert_eq!(code(&output), 1, "{cut}");
        let text = stdout(&output);
        assert!(all.starts_with(&text) && text.lines().count() > 50, "{cut}");
        let frames = text.lines().count();
        let message = format!("{file}: the capture ends within the record after frame {frames}");
        assert_eq!(complaint(&output), format!("redpoll: {message}"));
    }
}

#[test]
fn a_capture_of_another_prefix_hints_at_the_option() {
    let folder = Folder::new("prefix");
    let file = folder.file("run.pcapng");
    let prefix = "fd00:1:2:3::/64";
    let set = format!("border.prefix={prefix}");
    redpoll(&[
        "run",
        "pair",
        "--duration",
        "1 s",
        "--set",
        &set,
        "--pcap",
        &file,
    ]);
    let output = redpoll(&["dissect", &file]);
    assert_eq!(code(&output), 0);
    assert!(complaint(&output).contains("--prefix PREFIX/64"));
    let output = redpoll(&["dissect", &file, "--prefix", prefix]);
    assert_eq!(code(&output), 0);
    assert_eq!(stderr(&output), "");
    assert!(!stdout(&output).contains("wrong checksum"));
}

#[test]
fn files_that_cannot_be_read_or_written_cost_one_line() {
    let folder = Folder::new("files");
    let missing = folder.file("no/such/folder/x");
    for option in ["--pcap", "--json"] {
        let output = redpoll(&["run", "pair", "--duration", "1 s", option, &missing]);
        assert_eq!(code(&output), 1);
        assert!(complaint(&output).starts_with(&format!("redpoll: cannot write {missing}: ")));
        let output = redpoll(&["run", "pair", "--duration", "1 s", option, "/dev/full"]);
        assert_eq!(code(&output), 1, "{option}");
        assert!(complaint(&output).starts_with("redpoll: cannot write /dev/full: "));
    }
    let output = redpoll(&["dissect", &missing]);
    assert_eq!(code(&output), 1);
    assert!(complaint(&output).starts_with(&format!("redpoll: cannot read {missing}: ")));
    let directory = folder.0.display().to_string();
    let output = redpoll(&["dissect", &directory]);
    assert_eq!(code(&output), 1);
    assert!(complaint(&output).starts_with(&format!("redpoll: cannot read {directory}: ")));
    let text = folder.write("text.pcap", "this is no capture at all, whatever its name");
    let output = redpoll(&["dissect", &text]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains("not a capture; allowed: pcapng or pcap"));
    assert_eq!(code(&redpoll(&["run", folder.0.to_str().unwrap()])), 2);
}

#[test]
fn a_capture_goes_to_standard_output_as_well() {
    let folder = Folder::new("standard");
    let file = folder.file("run.pcapng");
    let run = ["run", "pair", "--duration", "2 s", "--pcap"];
    assert_eq!(code(&redpoll(&[&run[..], &[&file]].concat())), 0);
    let output = redpoll(&[&run[..], &["-"]].concat());
    assert_eq!(code(&output), 0);
    assert_eq!(stderr(&output), "");
    assert!(output.stdout == std::fs::read(&file).unwrap());
}

#[test]
fn a_capture_and_a_json_object_have_places_of_their_own() {
    let folder = Folder::new("places");
    let file = folder.file("both");
    for place in ["-", &file] {
        let args = [
            "run",
            "pair",
            "--duration",
            "1 s",
            "--pcap",
            place,
            "--json",
            place,
        ];
        let output = redpoll(&args);
        assert_eq!(code(&output), 2);
        let message = format!("redpoll: --pcap and --json both name {place}; allowed: ");
        assert!(complaint(&output).starts_with(&message));
    }
    let null = [
        "run",
        "pair",
        "--duration",
        "1 s",
        "--pcap",
        "/dev/null",
        "--json",
        "/dev/null",
    ];
    assert_eq!(code(&redpoll(&null)), 0);
}

#[test]
fn a_flow_without_a_path_is_reported() {
    let output = redpoll(&[
        "run",
        "line-3",
        "--duration",
        "1 s",
        "--set",
        "topology.spacing=60 m",
    ]);
    assert_eq!(code(&output), 0);
    assert_eq!(
        complaint(&output),
        "warning: there is no path from node-4 to node-1"
    );
}

#[test]
fn an_impossible_interface_name_is_refused_with_the_allowed_names() {
    for name in [
        "",
        "sixteen-letters-",
        "a/b",
        "a b",
        "a:b",
        ".",
        "all",
        "%d%d",
        "50%",
        "näme",
    ] {
        let output = redpoll(&["up", "pair", "--name", name]);
        assert_eq!(code(&output), 2, "{name}");
        let text = stderr(&output);
        assert!(
            text.contains("'--name <NAME>'") && text.contains("1 to 15"),
            "{text}"
        );
    }
}

#[test]
fn a_shell_without_a_namespace_is_refused() {
    for join in ["tun", "forward"] {
        let output = redpoll(&["up", "office", "--shell", "--join", join]);
        assert_eq!(code(&output), 2);
        let line = complaint(&output);
        assert!(line.starts_with("redpoll: --shell "), "{line}");
        assert!(line.contains(&format!("--join {join} ")), "{line}");
    }
}

#[test]
fn an_endless_scenario_is_refused() {
    let output = redpoll(&["run", "/dev/zero"]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains("cannot be read (larger than 16 MiB)"));
}

#[test]
fn a_capture_cut_off_by_a_full_disk_is_readable() {
    let folder = Folder::new("full");
    let (file, json) = (folder.file("run.pcapng"), folder.file("run.json"));
    // A file size limit replaces the full disk. SIGXFSZ is ignored, because a full disk causes no
    // signal.
    let script = "trap '' XFSZ; ulimit -f 200; exec \"$0\" run pair --duration '600 s' --pcap \"$1\" --json \"$2\"";
    let output = Command::new("sh")
        .args(["-c", script, PROGRAM, &file, &json])
        .output()
        .unwrap();
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(complaint(&output).starts_with(&format!("redpoll: cannot write {file}: ")));
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(json["simulated_s"], 600.0);
    let table = stdout(&output);
    assert!(
        table.starts_with("pair: 600.000 s simulated in "),
        "{table}"
    );
    assert!(
        table.contains("oracle: each byte arrived at most once, in order and unchanged"),
        "{table}"
    );
    let output = redpoll(&["dissect", &file]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    assert!(stdout(&output).lines().count() > 100);
}

#[test]
fn a_pipe_closed_by_the_reader_of_dissect_is_no_failure() {
    let folder = Folder::new("pipe");
    let file = folder.file("run.pcapng");
    redpoll(&["run", "pair", "--duration", "20 s", "--pcap", &file]);
    let mut child = Command::new(PROGRAM)
        .args(["dissect", &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0);
    assert_eq!(stderr(&output), "");
}

/// Checks that Ctrl-C ends a run with its results, also with `--web`, whose server has threads.
#[test]
fn ctrl_c_ends_a_run_early_with_the_results_so_far() {
    for more in [&[][..], &["--web", "127.0.0.1:0"]] {
        let mut command = Command::new(PROGRAM);
        command.args(["run", "line-3", "--duration", "20000 h"]);
        let child = command
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 130, "{more:?}: {}", stderr(&output));
        for part in ["ended early", "bulk  node-4  node-1"] {
            assert!(stdout(&output).contains(part), "{}", stdout(&output));
        }
    }
}

#[test]
fn a_run_is_recorded_and_view_refuses_other_files() {
    let folder = Folder::new("record");
    let (first, second) = (folder.file("first"), folder.file("second"));
    for file in [&first, &second] {
        let output = redpoll(&["run", "pair", "--duration", "2 s", "--record", file]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let text = std::fs::read_to_string(&first).unwrap();
    assert_eq!(text, std::fs::read_to_string(&second).unwrap());
    assert!(text.starts_with(r#"{"type":"hello","version":1,"#));
    let scenario = folder.write("a.toml", "duration = \"1 s\"\n");
    let missing = folder.file("nothing");
    for (file, expected) in [(&scenario, 2), (&missing, 1)] {
        let output = redpoll(&["view", file, "--web", "127.0.0.1:0"]);
        assert_eq!(code(&output), expected);
        assert!(complaint(&output).contains(file.as_str()));
    }
}

#[test]
fn an_address_of_the_live_view_that_cannot_be_used_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (address, word) in [
        (taken.as_str(), "to use a free port: --web 127.0.0.1:0"),
        ("192.0.2.1:80", "cannot listen at 192.0.2.1:80"),
    ] {
        for command in ["run", "up"] {
            let output = redpoll(&[command, "pair", "--web", address]);
            assert_eq!(code(&output), 1, "{command} {address}");
            assert!(complaint(&output).contains(word), "{}", stderr(&output));
        }
    }
    let output = redpoll(&["run", "--web", "pair"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("write it before --web"));
    let output = redpoll(&["run", "pair", "--paused"]);
    assert_eq!(code(&output), 2);
}

/// Runs a mesh of 10,000 nodes with more and more address space. With too little for the program,
/// it fails to start; with too little for the nodes, it must refuse the scenario.
#[test]
#[cfg(target_os = "linux")]
fn a_scenario_that_needs_more_than_the_memory_is_refused() {
    let mut refusals = 0;
    for mib in (32..1_024).step_by(16) {
        let command = format!(
            "ulimit -v {}; exec {PROGRAM} run grid-1000 --set topology.columns=100 \
             --set topology.rows=100 --duration '1 ms' --set routing=rpl",
            1_024 * mib
        );
        let output = Command::new("sh").args(["-c", &command]).output();
        let output = output.unwrap();
        if output.status.code() == Some(2) {
            let line = complaint(&output);
            for part in [
                "10000 nodes need at least",
                "are available",
                "simulate fewer",
            ] {
                assert!(line.contains(part), "{line}");
            }
            assert!(output.stdout.is_empty());
            refusals += 1;
        } else if refusals > 0 {
            return;
        }
    }
    panic!("{refusals} refusals, and no end of them");
}
