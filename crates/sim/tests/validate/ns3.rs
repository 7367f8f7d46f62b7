//! Saturated senders and lines, compared with the lr-wpan module of ns-3.

use std::path::{Path, PathBuf};
use std::process::Command;

use redpoll_mac::{Ifs, MacConfig};

use crate::contention::{mean, outside, saturated, standard};
use crate::is_long;
use crate::pipe::carry;
use crate::script::{FOLDER, numbers, skipped};
use crate::table::{Row, check};

const LIBRARIES: [&str; 6] = [
    "lr-wpan",
    "mobility",
    "spectrum",
    "propagation",
    "network",
    "core",
];

/// Builds `scripts/validate/lr_wpan.cc`; `None` if ns-3 or a compiler is missing.
fn build(name: &str) -> Option<PathBuf> {
    if !Path::new("/usr/include/ns3/lr-wpan-mac.h").exists() {
        skipped("ns-3: libns3-dev is missing");
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = Command::new("c++")
        .args(["-std=c++17", "-O1", "-o"])
        .arg(&program)
        .arg(format!("{FOLDER}lr_wpan.cc"))
        .args(LIBRARIES.map(|library| format!("-lns3-{library}")))
        .status();
    let Ok(status) = built else {
        skipped("ns-3: c++ is missing");
        return None;
    };
    assert!(status.success(), "lr_wpan.cc does not compile");
    Some(program)
}

/// Channel assessment of ns-3: corrected to the standard, or unchanged.
#[derive(Clone, Copy)]
enum Assessment {
    Whole,
    End,
}

impl Assessment {
    fn name(self) -> &'static str {
        match self {
            Assessment::Whole => "whole",
            Assessment::End => "end",
        }
    }
}

fn lr_wpan(
    program: &Path,
    what: &str,
    assessment: Assessment,
    count: usize,
    seconds: u64,
    seeds: u64,
) -> [f64; 2] {
    let pair = |seed: u64| {
        let [count, seconds, seed] = [count as u64, seconds, seed].map(|number| number.to_string());
        let output = Command::new(program)
            .args([what, assessment.name(), &count, &seconds, &seed])
            .output()
            .unwrap();
        assert!(output.status.success(), "{what}: {output:?}");
        let found = numbers(&String::from_utf8(output.stdout).unwrap());
        Some([found[0], found[1]])
    };
    mean(seeds, pair).unwrap()
}

/// Returns the standard's parameters with ns-3's interframe space.
fn sequential() -> MacConfig {
    standard().with(|it| it.ifs = Ifs::Sequential)
}

#[test]
fn contention_beside_ns3() {
    let Some(program) = build("lr_wpan_contention") else {
        return;
    };
    // Senders keep their relative phase, so more seeds help more than longer runs.
    let (senders, seconds, seeds, limit) = match is_long() {
        true => (&[1, 2, 5, 10, 20][..], 20, 10, 0.05),
        false => (&[1, 5][..], 10, 3, 0.08),
    };
    let (mut rows, mut explained) = (Vec::new(), Vec::new());
    for senders in senders.iter().copied() {
        let ns3 = |how| lr_wpan(&program, "contention", how, senders, seconds, seeds);
        let ours = saturated(&sequential(), senders, seconds, seeds);
        let whole = ns3(Assessment::Whole);
        let what = |what| format!("{senders} senders, {what}");
        rows.push(Row::within(what("a second"), ours[0], whole[0], limit));
        rows.push(Row::near(what("collisions"), ours[1], whole[1], limit));
        let args = ["--assessment", "end", "--ifs", "sequential"];
        let Some(outside) = outside(&args, senders, seconds, seeds) else {
            continue;
        };
        let end = ns3(Assessment::End);
        explained.push(Row::within(what("a second"), outside[0], end[0], limit));
        explained.push(Row::near(what("collisions"), outside[1], end[1], limit));
    }
    check("contention, beside ns-3 with whole assessments", &rows);
    check(
        "scripts/validate/contention.py, beside ns-3 as it is",
        &explained,
    );
}

#[test]
fn lines_beside_ns3() {
    let Some(program) = build("lr_wpan_line") else {
        return;
    };
    let (hops, seconds, seeds, limit) = match is_long() {
        true => (1..=4, 200, 5, 0.05),
        false => (1..=2, 30, 2, 0.08),
    };
    let mut rows = Vec::new();
    for hops in hops {
        let theirs = lr_wpan(&program, "line", Assessment::Whole, hops, seconds, seeds);
        for restarts in [false, true] {
            let pair = |seed| {
                let carried = carry(&sequential(), restarts, hops, seconds, seed);
                Some([carried.per_second, carried.lost])
            };
            let ours = mean(seeds, pair).unwrap();
            // Relays of ns-3 restart a backoff when they receive a frame (docs/validation.md).
            let limit = match hops > 3 && !restarts {
                true => 0.15,
                false => limit,
            };
            let backoff = if restarts { "begun anew" } else { "goes on" };
            let what = |what| format!("{hops} hops, backoff {backoff}, {what}");
            rows.push(Row::within(what("a second"), ours[0], theirs[0], limit));
            rows.push(Row::near(what("lost"), ours[1], theirs[1], limit));
        }
    }
    check("lines, beside ns-3 with whole assessments", &rows);
}
