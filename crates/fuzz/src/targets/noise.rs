//! Noise traces, plain or compressed with gzip, read by a scenario.

use redpoll_sim::Scenario;

const TEXT: &str = "[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"10 m\"\n\
                    [medium]\nmodel = \"sinr\"\nnoise_repeat = true\n";

pub fn run(bytes: &[u8]) {
    let name = format!("redpoll-fuzz-noise-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, bytes).expect("the temporary folder is writable");
    let set = [("medium.noise_trace".to_owned(), file.display().to_string())];
    let scenario = Scenario::parse("noise", TEXT, &set);
    let _ = std::fs::remove_file(&file);
    let Ok(scenario) = scenario else { return };
    let noise = scenario.noise.expect("the scenario has a noise trace");
    let samples = &noise.trace.samples_dbm;
    assert!(!samples.is_empty());
    assert!(samples.iter().all(|sample| sample.is_finite()));
}
