//! Examines seeds like `redpoll chaos`, for `make chaos-mutants`, which builds this small example
//! for each mutant instead of the whole program. Usage: `seeds FIRST COUNT [FOLDER]`.

use std::process::ExitCode;

use redpoll_chaos::{Plan, campaign};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse().ok());
    let (Some(first_seed), Some(count)) = (number(1), number(2)) else {
        eprintln!("usage: seeds FIRST COUNT [FOLDER]");
        return ExitCode::from(2);
    };
    let plan = Plan {
        first_seed,
        seeds: Some(count),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        shrink_runs: if words.len() > 3 { 500 } else { 0 },
    };
    // Without a folder, stop at the first finding.
    let found = campaign(&plan, &mut |now| words.len() > 3 || now.findings == 0);
    for finding in &found.findings {
        println!("seed {}: {}", finding.seed, finding.failure.line);
        if let Some(folder) = words.get(3) {
            let file = format!("{folder}/chaos-{}.toml", finding.seed);
            if let Err(error) = std::fs::write(&file, &finding.text) {
                eprintln!("cannot write {file}: {error}");
            }
        }
    }
    println!("{} runs, {} events", found.runs, found.events);
    ExitCode::from(u8::from(!found.findings.is_empty()))
}
