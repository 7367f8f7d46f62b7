//! Traces of noise, tested by the frames that they destroy.

use std::fmt::Write as _;
use std::path::PathBuf;

use redpoll_base::Instant;
use redpoll_sim::live::{FrameClass, Outcome};
use redpoll_sim::{Scenario, World};

fn file(name: &str, content: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("noise");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// Returns `cycles` times 20 ms of noise at -60 dBm and 80 ms at -98 dBm.
fn cycles(cycles: usize) -> String {
    let mut text = String::new();
    for i in 0..cycles * 100 {
        let _ = writeln!(text, "{}", if i % 100 < 20 { -60 } else { -98 });
    }
    text
}

/// Returns two nodes 10 m apart (-70.2 dBm) with a reading about every 97 ms, without retries.
/// Assessments ignore the noise unless `overrides` change that.
fn scenario(trace: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let text = format!(
        "duration = \"400 s\"\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"10 m\"\n\
         [medium]\nmodel = \"sinr\"\nnoise_trace = \"{trace}\"\ncca_threshold = \"-50 dBm\"\n\
         [radio]\nmodel = \"ideal\"\n[mac]\nmax_frame_retries = 0\nmax_csma_backoffs = 0\n\
         [nodes.node-1]\nrole = \"border\"\n\
         [apps.readings]\ntype = \"sensor\"\non = \"node-2\"\nto = \"border:7\"\n\
         transport = \"udp\"\nreading = \"60 B\"\ninterval = \"97 ms\"\n"
    );
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    let beside = file("s.toml", "");
    Scenario::parse(beside.to_str().unwrap(), &text, &overrides).map_err(|error| error.to_string())
}

/// Returns the number of frames, the share that noise destroyed, and the share of intended frames
/// that found the channel free.
fn run(scenario: &Scenario) -> (f64, f64, f64) {
    let mut world = World::new(scenario, 1).unwrap();
    world.run_until(Instant::from_millis(400_000));
    let report = world.report();
    assert!(report.oracle.ok, "{:?}", report.oracle.violations);
    let ledger = world.air().ledger();
    let frames = ledger.opened(FrameClass::Unicast) as f64;
    let lost = ledger.count(FrameClass::Unicast, Outcome::RandomLoss) as f64 / frames;
    let busy = report.nodes[1].drops.get("mac.channel_access_failure");
    let busy = busy.copied().unwrap_or_default() as f64;
    (frames, lost, busy / (busy + frames))
}

/// Checks that noise which is loud for 20 ms of every 100 ms destroys each frame that overlaps this
/// time: 22.9 % of frames of 2.9 ms. Four standard deviations are 2.6 points.
#[test]
fn noise_destroys_the_frames_that_meet_it() {
    file("long.txt", &cycles(5_000));
    let (frames, lost, busy) = run(&scenario("long.txt", &[]).unwrap());
    assert!(frames > 4_000.0 && busy == 0.0, "{frames} {busy}");
    assert!((lost - 0.229).abs() < 0.026, "{lost}");
    // The model has equally long and frequent loud intervals, because its history covers 20 ms.
    let model = [("medium.noise_model", "cpm")];
    let (_, lost, _) = run(&scenario("long.txt", &model).unwrap());
    assert!((lost - 0.229).abs() < 0.06, "{lost}");
    // Noise 14 dB below the signal does no harm.
    let quiet = [
        ("medium.tx_power", "4 dBm"),
        ("medium.noise_floor", "-80 dBm"),
    ];
    let trace = cycles(5_000).replace("-60", "-80");
    file("quiet.txt", &trace);
    let (_, lost, _) = run(&scenario("quiet.txt", &quiet).unwrap());
    assert_eq!(lost, 0.0);
}

/// Checks that at the default threshold of -77 dBm assessments fail in the loud intervals, and for
/// 128 µs around them: 20 %. The trace is as long as the run, so both nodes start at its beginning.
#[test]
fn assessments_hear_noise() {
    file("exact.txt", &cycles(4_000));
    let usual = [("medium.cca_threshold", "-77 dBm")];
    let (_, lost, busy) = run(&scenario("exact.txt", &usual).unwrap());
    assert!((busy - 0.2).abs() < 0.026, "{busy}");
    // The remaining losses are frames that start in the last 3.1 ms of the 80 ms without noise.
    assert!((lost - 0.039).abs() < 0.014, "{lost}");
}

#[test]
fn a_trace_that_does_not_suffice_is_refused() {
    file("short.txt", &cycles(20));
    let error = scenario("short.txt", &[]).unwrap_err();
    let expected = "medium.noise_trace: got a trace of 2 s, shorter than the run of 400 s; allowed: \
                    a longer one, medium.noise_repeat = true, or medium.noise_model = \"cpm\"";
    assert!(error.contains(expected), "{error}");
    assert!(scenario("short.txt", &[("duration", "2 s")]).is_ok());
    assert!(scenario("short.txt", &[("medium.noise_model", "cpm")]).is_ok());
    let repeated = scenario("short.txt", &[("medium.noise_repeat", "true")]).unwrap();
    let (_, lost, _) = run(&repeated);
    assert!((lost - 0.229).abs() < 0.026, "{lost}");
    file("twenty.txt", &"-98\n".repeat(20));
    let error = scenario("twenty.txt", &[("medium.noise_model", "cpm")]).unwrap_err();
    assert!(
        error.contains("got a trace of 20 samples; allowed with cpm: more than 20"),
        "{error}"
    );
    file("wrong.txt", "-98\n-97\nloud\n");
    let error = scenario("wrong.txt", &[]).unwrap_err();
    assert!(
        error.contains("wrong.txt:3:1: got \"loud\"; allowed: noise in dBm"),
        "{error}"
    );
    let error = scenario("missing.txt", &[]).unwrap_err();
    assert!(
        error.contains("medium.noise_trace: got the file"),
        "{error}"
    );
}

#[test]
fn keys_of_noise_without_a_trace_are_refused() {
    for (key, value) in [("noise_model", "\"cpm\""), ("noise_repeat", "true")] {
        let text = format!(
            "[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"10 m\"\n\
             [medium]\nmodel = \"sinr\"\n{key} = {value}\n"
        );
        let error = Scenario::parse("t", &text, &[]).unwrap_err().to_string();
        assert!(
            error.contains("has no meaning without medium.noise_trace"),
            "{error}"
        );
    }
}
