//! The outputs of a run, and their uses: series, plots, pages, comparisons, differences.

mod support;

use std::fs::File;
use std::path::Path;
use std::process::Command;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use serde_json::Value;
use support::{Folder, PROGRAM, code, complaint, on_terminal, redpoll, stderr, stdout};

/// Returns the rows of a CSV without quotes; the values are found by their column's name.
fn rows(csv: &str) -> Vec<std::collections::HashMap<&str, &str>> {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| names.iter().copied().zip(line.split(',')).collect())
        .collect()
}

fn number(text: &str) -> f64 {
    text.parse()
        .unwrap_or_else(|_| panic!("no number: {text:?}"))
}

/// A run has one goodput for each flow: the printed table, the JSON object, and the table, the first
/// sentence and the bars of its page show the same number, rounded to the shown digits.
#[test]
fn every_output_of_a_run_has_the_same_goodput() {
    let is_rounded = |text: &str, exact: f64| {
        let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half = 0.5 * 10_f64.powi(-(digits as i32));
        (number(text) - exact).abs() <= half * 1.000_001
    };
    let folder = Folder::new("goodput");
    for (scenario, duration) in [
        ("line-2", "20 s"),
        ("testbed-3", "30 s"),
        ("readings", "90 s"),
    ] {
        let result = folder.file(scenario);
        let args = ["run", scenario, "--duration", duration, "--result", &result];
        let run = redpoll(&args);
        assert_eq!(code(&run), 0, "{run:?}");
        let printed = stdout(&run);
        let json = std::fs::read(folder.0.join(scenario).join("result.json")).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        let page = stdout(&redpoll(&["report", &result, "--out", "-"]));
        let flows = json["flows"].as_array().unwrap();
        let (mut rates, mut shown) = (Vec::new(), 0);
        for flow in flows {
            let exact = flow["goodput_kbps"].as_f64().unwrap();
            let name = flow["name"].as_str().unwrap();
            let ends = ["from", "to"].map(|key| flow[key].as_str().unwrap());
            rates.push(exact);
            // The first columns of the table are name, ends and delivered bytes.
            let is_row = |line: &&str| {
                let mut words = line.split_whitespace();
                words.next() == Some(name)
                    && words.next() == Some(ends[0])
                    && words.next() == Some(ends[1])
            };
            if let Some(row) = printed.lines().find(is_row) {
                let rate = row.split(" kb/s").next().unwrap();
                let rate = rate.split_whitespace().last().unwrap();
                assert!(is_rounded(rate, exact), "{scenario}: {row}, not {exact}");
                shown += 1;
            }
            let cells = format!(
                "<td class=\"t\">{name}<td class=\"t\">{} → {}",
                ends[0], ends[1]
            );
            let row = page.split(&*cells).nth(1).expect("a row of the page");
            let mut cells = row.split("<td class=\"n\">").skip(1);
            assert_eq!(cells.next().map(number), flow["delivered_bytes"].as_f64());
            let rate = cells.next().unwrap();
            assert!(
                is_rounded(rate, exact),
                "{scenario}: {name}: {rate}, not {exact}"
            );
        }
        assert!(shown > 0, "{printed}");
        let sentence = page.split("<p class=\"big\">").nth(1).unwrap();
        let sentence = sentence.split("</p>").next().unwrap();
        for rate in sentence
            .split(" kb/s")
            .map(|part| part.rsplit(' ').next().unwrap())
        {
            if let Ok(rate) = rate.parse::<f64>() {
                let text = rate.to_string();
                let is_one = rates.iter().any(|exact| is_rounded(&text, *exact));
                assert!(is_one, "{sentence}: {rates:?}");
            }
        }
        assert!(sentence.contains(" kb/s"), "{sentence}");
        assert!(page.contains("goodput from the first to the last byte (kb/s)"));
    }
}

#[test]
fn a_series_adds_up_to_the_result_of_the_run() {
    let folder = Folder::new("series");
    let (csv, parquet, json) = (
        folder.file("s.csv"),
        folder.file("s.parquet"),
        folder.file("r.json"),
    );
    let mut args = vec!["run", "line-2", "--duration", "4500 ms", "--json", &json];
    args.extend(["--series-interval", "500 ms", "--series"]);
    for file in [&csv, &parquet] {
        let run = redpoll(&[&args[..], &[file.as_str()]].concat());
        assert_eq!(code(&run), 0, "{run:?}");
    }
    let text = std::fs::read_to_string(&csv).unwrap();
    let rows = rows(&text);
    let report: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    // A flow and three nodes have a row each at 0, 0.5, ... 4.5 s.
    assert_eq!(rows.len(), 10 * 4);
    let flow: Vec<_> = rows.iter().filter(|row| row["kind"] == "flow").collect();
    let times: Vec<f64> = flow.iter().map(|row| number(row["t_s"])).collect();
    assert_eq!(
        times,
        (0..10).map(|n| f64::from(n) * 0.5).collect::<Vec<_>>()
    );
    let (last, of_run) = (flow.last().unwrap(), &report["flows"][0]);
    assert_eq!(last["name"], "bulk");
    assert_eq!(
        number(last["delivered_bytes"]),
        of_run["delivered_bytes"].as_f64().unwrap()
    );
    assert_eq!(
        number(last["segments_sent"]),
        of_run["segments_sent"].as_f64().unwrap()
    );
    let bits: f64 = flow[1..]
        .iter()
        .map(|row| 500.0 * number(row["goodput_interval_kbps"]))
        .sum();
    assert!((bits / 8.0 - number(last["delivered_bytes"])).abs() < 1e-6);
    for row in &flow[1..] {
        assert!(
            number(row["cwnd_bytes"]) > 400.0 && number(row["rto_ms"]) >= 1.0,
            "{row:?}"
        );
        assert!(number(row["srtt_ms"]) > 1.0 && number(row["in_flight_bytes"]) < 20_000.0);
        assert_eq!(row["radio_listen_share"], "");
    }
    let nodes = report["nodes"].as_array().unwrap();
    for (at, node) in nodes.iter().enumerate() {
        let name = node["name"].as_str().unwrap();
        let of_node = rows
            .iter()
            .filter(|row| row["kind"] == "node" && row["name"] == name);
        let of_node: Vec<_> = of_node.collect();
        let last = of_node.last().unwrap();
        assert_eq!(
            number(last["frames_sent"]),
            node["frames_sent"].as_f64().unwrap()
        );
        assert_eq!(
            number(last["charge_mc"]),
            node["energy"]["charge_mc"].as_f64().unwrap()
        );
        let states = ["off", "sleep", "idle", "listen", "receive", "transmit"];
        let mut receiving = 0.0;
        for row in &of_node[1..] {
            let share = |state: &str| number(row[format!("radio_{state}_share").as_str()]);
            let all: f64 = states.iter().map(|state| share(state)).sum();
            assert!((all - 1.0).abs() < 1e-9, "{at}: {row:?}");
            receiving += 0.5 * share("receive");
        }
        let expected = node["energy"]["receive_s"].as_f64().unwrap();
        assert!(
            (receiving - expected).abs() < 1e-6,
            "{receiving} {expected}"
        );
    }
    // Reads the same rows as Parquet.
    let reader = SerializedFileReader::new(File::open(&parquet).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let notes = metadata.key_value_metadata().unwrap();
    assert!(notes.iter().any(|note| note.key == "srtt_ms"));
    let again: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(again.len(), rows.len());
    for (row, again) in rows.iter().zip(&again) {
        assert_eq!(number(row["t_s"]), again.get_double(0).unwrap());
        assert_eq!(row["name"], again.get_string(2).unwrap());
    }
}

#[test]
fn a_series_of_another_kind_is_refused_before_the_run() {
    let folder = Folder::new("series-wrong");
    let (file, json) = (folder.file("s.xlsx"), folder.file("r.json"));
    let run = redpoll(&["run", "pair", "--series", &file, "--json", &json]);
    assert_eq!(code(&run), 2);
    assert_eq!(
        complaint(&run),
        format!("redpoll: --series {file}: allowed: a name that ends in .csv or .parquet")
    );
    assert!(!Path::new(&json).exists());
    let run = redpoll(&["run", "pair", "--series", &folder.file("nowhere/s.csv")]);
    assert_eq!(code(&run), 1);
    let run = redpoll(&["run", "pair", "--series-interval", "0 ms"]);
    assert_eq!(code(&run), 2);
}

#[test]
fn a_result_is_plotted_explained_and_compared() {
    let folder = Folder::new("results");
    for (side, mss) in [("a", "5 frames"), ("b", "2 frames")] {
        for seed in ["1", "2", "3"] {
            let out = folder.file(&format!("{side}/{seed}"));
            let mut args = vec!["run", "line-2", "--duration", "3 s", "--seed", seed];
            let set = format!("tcp.mss={mss}");
            args.extend(["--set", &set, "--result", &out]);
            assert_eq!(code(&redpoll(&args)), 0);
        }
    }
    let result = folder.file("a/1");
    let again = redpoll(&["run", "pair", "--result", &result]);
    assert_eq!(code(&again), 2);
    assert!(complaint(&again).contains("is not empty"));

    let plotted = redpoll(&["plot", &result]);
    assert_eq!(code(&plotted), 0, "{plotted:?}");
    for name in [
        "topology",
        "goodput",
        "window",
        "round-trip",
        "radio",
        "charge",
    ] {
        let file = |ending| folder.0.join(format!("a/1/plots/{name}.{ending}"));
        let svg = std::fs::read_to_string(file("svg")).unwrap();
        assert!(
            svg.starts_with("<svg xmlns=") && !svg.contains("var("),
            "{name}"
        );
        let png = std::fs::read(file("png")).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n"), "{name}");
    }
    let out = folder.file("one");
    let one = redpoll(&[
        "plot",
        &result,
        "--out",
        &out,
        "--picture",
        "queue",
        "--format",
        "svg",
    ]);
    assert_eq!(code(&one), 0);
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
    let none = redpoll(&["plot", &result, "--of", "nobody"]);
    assert_eq!(code(&none), 2);
    assert!(complaint(&none).ends_with("has no flow or node called \"nobody\""));
    let other = folder.write("other.json", "{}");
    assert_eq!(code(&redpoll(&["plot", &other])), 2);
    assert_eq!(code(&redpoll(&["plot", &folder.file("nothing")])), 1);

    let page = redpoll(&["report", &result, "--out", "-"]);
    let html = stdout(&page);
    assert_eq!(code(&page), 0);
    assert!(html.contains("<title>line-2, seed 1</title>") && html.ends_with("</html>\n"));
    assert!(html.contains("Overrides of the scenario's file: <code>duration ="));
    assert!(html.contains("goodput (kb/s)") && html.contains("node-3"));
    // The page loads nothing from other servers.
    assert!(
        !html.contains("http://") && !html.contains("src="),
        "{html}"
    );

    let compared = redpoll(&[
        "compare",
        &folder.file("a"),
        &folder.file("b"),
        "--json",
        "-",
    ]);
    assert_eq!(code(&compared), 0, "{compared:?}");
    let compared: Value = serde_json::from_str(&stdout(&compared)).unwrap();
    let comparison = &compared["comparisons"][0];
    assert_eq!(comparison["seeds_a"], serde_json::json!([1, 2, 3]));
    let goodput = &comparison["lines"][0];
    assert_eq!(goodput["what"], "goodput of all flows (kb/s)");
    assert_eq!(goodput["differs"], true, "{goodput}");
    assert!(goodput["ratio"]["high"].as_f64().unwrap() < 1.0);
    let same = redpoll(&[
        "compare",
        &folder.file("a"),
        &folder.file("a"),
        "--json",
        "-",
    ]);
    let same: Value = serde_json::from_str(&stdout(&same)).unwrap();
    let lines = same["comparisons"][0]["lines"].as_array().unwrap();
    assert!(lines.iter().all(|line| line["differs"] == false));
    let dots = redpoll(&[
        "compare",
        &folder.file("a"),
        &folder.file("b"),
        "--html",
        "-",
    ]);
    let dots = stdout(&dots);
    assert!(
        dots.contains("figures differ significantly. Goodput of B is 0."),
        "{dots}"
    );
    // Each figure has three seeds for A and three for B.
    let figures = compared["comparisons"][0]["lines"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(dots.matches("<circle").count(), 6 * figures);
    let one = redpoll(&["compare", &result, &folder.file("b/1")]);
    let one = stdout(&one);
    assert!(
        one.contains(": A has 1 seed (1), B has 1 seed (1)\n"),
        "{one}"
    );
    assert!(
        one.ends_with(
            "confidence intervals need at least two seeds in A and in B: run A with --seed 1 \
             --result A/1 and with --seed 2 --result A/2, and B likewise into B/1 and B/2; then \
             compare the folders A and B\n"
        ),
        "{one}"
    );
    assert!(!one.contains("warning"), "{one}");
}

#[test]
fn sweeps_are_compared_point_by_point() {
    let folder = Folder::new("compare-sweeps");
    let sizes = "tcp.mss = [\"2 frames\", \"5 frames\"]";
    for (name, delay, grid) in [
        ("a", "0 ms", sizes),
        ("b", "40 ms", sizes),
        ("c", "0 ms", "mac.min_be = [2, 3]"),
    ] {
        let plan = format!(
            "scenario = \"line-2\"\nseeds = 2\n[set]\nduration = \"1 s\"\n\
             mac.link_retry_delay = \"{delay}\"\n[grid]\n{grid}\n"
        );
        folder.write(&format!("{name}.toml"), &plan);
        let mut command = Command::new(PROGRAM);
        command
            .args(["sweep", &format!("{name}.toml")])
            .current_dir(&folder.0);
        assert!(command.output().unwrap().status.success());
    }
    let same = redpoll(&[
        "compare",
        &folder.file("a.sqlite"),
        &folder.file("a.sqlite"),
    ]);
    assert_eq!(code(&same), 0, "{same:?}");
    assert_eq!(
        stdout(&same)
            .matches("A has 2 seeds (1, 2), B has 2 seeds (1, 2)\n")
            .count(),
        2
    );
    // The swept keys are the same; other settings differ.
    let other = redpoll(&[
        "compare",
        &folder.file("a.sqlite"),
        &folder.file("b.sqlite"),
    ]);
    assert_eq!(code(&other), 0, "{other:?}");
    let text = stdout(&other);
    assert_eq!(
        text.matches("A has 2 seeds (1, 2), B has 2 seeds (1, 2)\n")
            .count(),
        2,
        "{text}"
    );
    for size in ["2 frames", "5 frames"] {
        let of = |delay: &str| format!("line-2 duration=1 s mac.link_retry_delay={delay} ms");
        let head = format!("tcp.mss={size}: {} and {}: A has", of("0"), of("40"));
        assert!(text.contains(&head), "{text}");
    }
    let other = redpoll(&[
        "compare",
        &folder.file("a.sqlite"),
        &folder.file("c.sqlite"),
    ]);
    assert_eq!(code(&other), 2);
    assert!(complaint(&other).ends_with("have no scenario in common"));
}

#[test]
fn sweeps_and_several_seeds_are_plotted_and_reported_with_intervals() {
    let folder = Folder::new("plot-sweeps");
    let plan = "scenario = \"line-2\"\nseeds = 3\n[set]\nduration = \"2 s\"\n[grid]\n\
                mac.link_retry_delay = [\"0 ms\", \"20 ms\", \"40 ms\"]\n\
                tcp.mss = [\"2 frames\", \"5 frames\"]\n";
    folder.write("a.toml", plan);
    let mut command = Command::new(PROGRAM);
    command.args(["sweep", "a.toml"]).current_dir(&folder.0);
    assert!(command.output().unwrap().status.success());
    let (file, out) = (folder.file("a.sqlite"), folder.file("plots"));
    let plotted = redpoll(&["plot", &file, "--out", &out, "--format", "svg"]);
    assert_eq!(code(&plotted), 0, "{plotted:?}");
    assert!(
        stdout(&plotted)
            .ends_with("not drawn, because the mean is the same at all points: duty-cycle\n")
    );
    let svg = |name: &str| std::fs::read_to_string(format!("{out}/{name}.svg")).unwrap();
    let goodput = svg("goodput");
    // Each of the two lines has three delays.
    assert_eq!(goodput.matches("class=\"interval\"").count(), 6);
    assert!(goodput.contains("aria-label=\"mac.link_retry_delay (ms)\""));
    assert!(goodput.contains("aria-label=\"tcp.mss = 5 frames\""));
    assert!(goodput.contains("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"336\""));
    let wide = ["--width", "page", "--over", "tcp.mss", "--picture", "loss"];
    let wide = redpoll(&[&["plot", &file, "--out", &out][..], &wide].concat());
    assert_eq!(code(&wide), 0, "{wide:?}");
    assert!(svg("loss").contains("width=\"500\"") && svg("loss").contains("tcp.mss (frames)"));

    let page = stdout(&redpoll(&["report", &file, "--out", "-"]));
    assert!(
        page.contains("<strong>Goodput is highest, ")
            && page.contains("kb/s, with mac.link_retry_delay")
    );
    assert!(page.contains("redpoll run line-2 --seed 1 --set"));
    assert_eq!(page.matches("class=\"interval\"").count() % 6, 0);

    for (wrong, says) in [
        (
            ["--of", "bulk"],
            "has several runs; allowed: the result of one run",
        ),
        (
            ["--over", "mss"],
            "does not vary \"mss\"; allowed: mac.link_retry_delay, tcp.mss",
        ),
        (
            ["--picture", "duty-cycle"],
            "has the same number at every point",
        ),
    ] {
        let refused = redpoll(&[&["plot", &file][..], &wrong].concat());
        assert_eq!(code(&refused), 2, "{refused:?}");
        assert!(complaint(&refused).contains(says), "{refused:?}");
    }

    for seed in ["1", "2"] {
        let out = folder.file(&format!("seeds/{seed}"));
        let run = [
            "run",
            "line-2",
            "--duration",
            "2 s",
            "--seed",
            seed,
            "--result",
            &out,
        ];
        assert_eq!(code(&redpoll(&run)), 0);
    }
    let seeds = folder.file("seeds");
    let page = stdout(&redpoll(&["report", &seeds, "--out", "-"]));
    assert!(
        page.contains("1 point; the point with the most seeds has 2 seeds"),
        "{page}"
    );
    let one = folder.file("seeds/1");
    let refused = redpoll(&["report", &one, "--over", "tcp.mss"]);
    assert_eq!(code(&refused), 2);
    assert!(complaint(&refused).ends_with("is one run; allowed: the file of a sweep"));
}

#[test]
fn a_report_starts_with_the_outcome_its_causes_and_the_command() {
    let folder = Folder::new("report-head");
    let out = folder.file("r");
    let slow = [
        "--set",
        "tcp.transport=uip-3.0",
        "--set",
        "mac.link_retry_delay=0 ms",
    ];
    let run = [
        "run",
        "line-3",
        "--duration",
        "30 s",
        "--seed",
        "2",
        "--result",
        &out,
    ];
    assert_eq!(code(&redpoll(&[&run[..], &slow].concat())), 0);
    let page = stdout(&redpoll(&["report", &out, "--out", "-"]));
    let order = [
        "<h1>line-3, seed 2</h1>",
        "bulk delivered ",
        "The oracle found no violation.",
        "node-4:",
        "<strong>a window of one segment</strong>",
        "Remedy: ",
        "redpoll run line-3 --seed 2 --set &#39;duration=30 s&#39; --set \
         &#39;mac.link_retry_delay=0 ms&#39; --set tcp.transport=uip-3.0",
        "<h2>Flows</h2>",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|text| page.find(text).unwrap_or_else(|| panic!("{text}: {page}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("Content-Security-Policy\" content=\"default-src 'none';"));
    // `report` refuses a damaged capture, instead of leaving out the causes.
    folder.write("r/frames.pcapng", "nothing");
    let refused = redpoll(&["report", &out, "--out", "-"]);
    assert_eq!(code(&refused), 2);
    assert!(complaint(&refused).contains("frames.pcapng: not a capture"));
}

#[test]
fn progress_bars_appear_only_on_a_terminal() {
    if !redpoll_testkit::has_terminals("progress_bars_appear_only_on_a_terminal") {
        return;
    }
    let folder = Folder::new("bars");
    let kept = folder.file("kept");
    let run = ["run", "line-2", "--duration", "20 s", "--result", &kept];
    assert_eq!(code(&redpoll(&run)), 0);
    for command in [
        &["why", &kept][..],
        &["dissect", &kept],
        &["diff", &kept, &kept],
        &["compare", &kept, &kept],
    ] {
        let (code_there, shown) = on_terminal(command);
        assert_eq!(code_there, 0, "{command:?}: {shown}");
        assert!(
            shown.contains(" %  ") && shown.contains(" left"),
            "{command:?}: {shown:?}"
        );
        let piped = redpoll(command);
        assert_eq!(code(&piped), 0);
        assert_eq!(stderr(&piped), "", "{command:?}");
    }
}

#[test]
fn the_first_frame_that_differs_is_found() {
    let folder = Folder::new("diff");
    let run = |name: &str, more: &[&str]| {
        let out = folder.file(name);
        let args = ["run", "line-2", "--set", "duration=2 s", "--pcap", &out];
        assert_eq!(code(&redpoll(&[&args[..], more].concat())), 0);
        out
    };
    let a = run("a.pcapng", &[]);
    let same = redpoll(&["diff", &a, &a]);
    assert_eq!(code(&same), 0);
    assert!(stdout(&same).ends_with("frames are the same\n"));
    // The receiver advertises the window; the SYN|ACK is the first frame with it.
    let b = run("b.pcapng", &["--set", "tcp.receive_buffer=924 B"]);
    let found = redpoll(&["diff", &a, &b, "--json", "-"]);
    assert_eq!(code(&found), 1);
    let found: Value = serde_json::from_str(&stdout(&found)).unwrap();
    let what = found["what"].as_str().unwrap();
    assert!(
        what.contains("TCP: win ") && what.contains(" in A, 924 in B"),
        "{found}"
    );
    // The common part is equal, and the next frame differs.
    let lines = |file: &str| {
        let text = stdout(&redpoll(&["dissect", file]));
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let same = found["frames"].as_u64().unwrap() as usize;
    let (of_a, of_b) = (lines(&a), lines(&b));
    assert_eq!(of_a[..same], of_b[..same]);
    assert_ne!(of_a[same], of_b[same]);
    // The capture of a shorter run ends first.
    let short = run("short.pcapng", &["--set", "duration=1 s"]);
    let found = stdout(&redpoll(&["diff", &a, &short]));
    assert!(
        found.contains("B has no more frames, A continues"),
        "{found}"
    );
    let wrong = redpoll(&["diff", &a, &folder.write("x", "nothing")]);
    assert_eq!(code(&wrong), 2);
    assert!(complaint(&wrong).ends_with("not a capture; allowed: pcapng or pcap"));
}

/// Frames alone do not show the cause: here a frame is not received, and the first difference is
/// its retransmission, or its missing acknowledgement.
#[test]
fn differences_before_the_first_frame_are_named() {
    let folder = Folder::new("diff-cause");
    let kept = |name: &str, more: &[&str]| {
        let out = folder.file(name);
        let args = ["run", "line-2", "--duration", "4 s", "--result", &out];
        assert_eq!(code(&redpoll(&[&args[..], more].concat())), 0);
        out
    };
    let (a, b) = (
        kept("a", &[]),
        kept("b", &["--set", "medium.success_ratio_rx=95 %"]),
    );
    let found = stdout(&redpoll(&["diff", &a, &b]));
    assert!(
        found.contains("earlier difference: outcome at node-"),
        "{found}"
    );
    // Captures alone do not show the cause.
    let [a, b] = [a, b].map(|folder| format!("{folder}/frames.pcapng"));
    let found = stdout(&redpoll(&["diff", &a, &b]));
    assert!(
        found.contains("difference: ") && !found.contains("before it"),
        "{found}"
    );
}

#[test]
fn two_programs_are_distinguished_by_their_first_frame() {
    let folder = Folder::new("diff-programs");
    let args = ["line-2", "--seed", "3", "--duration", "2 s"];
    let same = redpoll(&[&["diff", "--program", PROGRAM][..], &args].concat());
    assert_eq!(code(&same), 0, "{same:?}");
    // The other program waits longer before it sends a frame.
    let old = folder.write(
        "old",
        &format!("#!/bin/sh\nexec {PROGRAM} \"$@\" --set mac.min_be=5\n"),
    );
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = redpoll(&[&["diff", "--program", &old][..], &args].concat());
    assert_eq!(code(&found), 1, "{found:?}");
    let text = stdout(&found);
    assert!(
        text.contains("only the time differs: in B the frame begins"),
        "{text}"
    );
    assert!(text.contains("earlier difference: "), "{text}");
    // A program that cannot run the scenario is an error, not a difference.
    let failing = redpoll(&["diff", "--program", "/bin/false", "line-2"]);
    assert_eq!(code(&failing), 2);
    assert!(complaint(&failing).contains("has written no capture"));
    let missing = redpoll(&["diff", "--program", "/nowhere/redpoll", "line-2"]);
    assert_eq!(code(&missing), 2);
}
