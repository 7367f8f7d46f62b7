//! `redpoll-fuzz`: runs the targets with random inputs on stable Rust, and counts the executions.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Parser;
use redpoll_fuzz::{Mutator, TARGETS, Target};

/// Time after which a running input is reported as endless.
const LONGEST: Duration = Duration::from_secs(20);
/// Interval between two checks for endless inputs.
const WATCH: Duration = Duration::from_millis(500);

/// Give random bytes to the parsers and state machines of Redpoll.
///
/// An input that makes a target panic, or that does not end within 20 s, is written to a file. The
/// program then stops running this target. Without a target, all targets run, as many at once as
/// there are cores.
///
/// Exit code: 0 when no input failed; 1 when an input failed or a file cannot be written; 2 when
/// the call is wrong.
#[derive(Parser)]
#[command(name = "redpoll-fuzz")]
struct Args {
    /// The target; all if not given
    target: Option<String>,
    /// Run the target once with the bytes of this file
    input: Option<PathBuf>,
    /// Seconds for each target
    #[arg(long, default_value_t = 10, value_name = "S")]
    seconds: u64,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Folder for failing inputs
    #[arg(long, default_value = "target/fuzz", value_name = "DIR")]
    out: PathBuf,
    /// Print the targets with the folders of their inputs, and exit
    #[arg(long)]
    list: bool,
}

/// The input that a thread currently runs, which [`watch`] reads.
#[derive(Default)]
struct Running {
    target: Mutex<Option<(&'static Target, Vec<u8>)>>,
    /// Number of executions so far. If [`watch`] reads the same number for longer than [`LONGEST`],
    /// the execution of the current input does not end.
    count: AtomicU64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.list {
        for target in TARGETS {
            println!("{} {}", target.name, target.folders().join(" "));
        }
        return ExitCode::SUCCESS;
    }
    let targets: Vec<&Target> = match &args.target {
        None => TARGETS.iter().collect(),
        Some(name) => match Target::find(name) {
            Some(target) => vec![target],
            None => {
                eprintln!("redpoll-fuzz: no target `{name}`; --list prints the targets");
                return ExitCode::from(2);
            }
        },
    };
    if let (Some(path), [target]) = (&args.input, &targets[..]) {
        return match std::fs::read(path) {
            Ok(bytes) => {
                (target.run)(&bytes);
                println!("{}: nothing found", target.name);
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("redpoll-fuzz: cannot read {}: {error}", path.display());
                ExitCode::FAILURE
            }
        };
    }
    campaign(&args, &targets)
}

fn campaign(args: &Args, targets: &[&'static Target]) -> ExitCode {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let running: Vec<Running> = (0..cores.min(targets.len()))
        .map(|_| Running::default())
        .collect();
    let (next, total, has_found) = (
        AtomicUsize::new(0),
        AtomicU64::new(0),
        AtomicBool::new(false),
    );
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = running
            .iter()
            .map(|own| {
                scope.spawn(|| {
                    while let Some(target) = targets.get(next.fetch_add(1, Relaxed)) {
                        match fuzz(args, target, own) {
                            Ok(count) => _ = total.fetch_add(count, Relaxed),
                            Err(line) => {
                                eprintln!("redpoll-fuzz: {line}");
                                has_found.store(true, Relaxed);
                            }
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| watch(args, &running, &is_done));
        for thread in threads {
            // `fuzz` catches the panics of targets, so `join` cannot fail.
            let _ = thread.join();
        }
        is_done.store(true, Relaxed);
    });
    println!(
        "{} executions of {} targets",
        total.into_inner(),
        targets.len()
    );
    match has_found.into_inner() {
        false => ExitCode::SUCCESS,
        true => ExitCode::FAILURE,
    }
}

/// Runs a target for the given time. Returns the number of executions, or a line about a failing
/// input.
fn fuzz(args: &Args, target: &'static Target, running: &Running) -> Result<u64, String> {
    let seeds = target.seeds();
    let seeds = seeds.map_err(|error| format!("{}: cannot read seeds: {error}", target.name))?;
    let mut inputs = seeds.clone().into_iter();
    let mut mutator = Mutator::new(args.seed, seeds);
    let begin = Instant::now();
    let (mut input, mut count) = (Vec::new(), 0);
    // Read the clock only every 16 executions, because many targets are faster than this read.
    while count % 16 != 0 || begin.elapsed() < Duration::from_secs(args.seconds) {
        match inputs.next() {
            Some(seed) => input = seed,
            None => mutator.next(&mut input),
        }
        if let Ok(mut place) = running.target.lock() {
            let (of, bytes) = place.get_or_insert_with(|| (target, Vec::new()));
            *of = target;
            bytes.clone_from(&input);
        }
        if catch_unwind(|| (target.run)(&input)).is_err() {
            return Err(keep(&args.out, target, &input, "panics"));
        }
        count += 1;
        running.count.store(count, Relaxed);
    }
    if let Ok(mut place) = running.target.lock() {
        *place = None;
    }
    let rate = count as f64 / begin.elapsed().as_secs_f64();
    println!(
        "{:<12} {count:>12} executions, {rate:>9.0} per second",
        target.name
    );
    Ok(count)
}

/// Writes an input whose execution does not end to a file, and ends the program.
fn watch(args: &Args, running: &[Running], is_done: &AtomicBool) {
    let mut seen: Vec<(u64, Instant)> = running.iter().map(|_| (0, Instant::now())).collect();
    while !is_done.load(Relaxed) {
        std::thread::sleep(WATCH);
        for (own, (count, since)) in running.iter().zip(&mut seen) {
            let now = own.count.load(Relaxed);
            let place = own.target.lock();
            let is_idle = place.as_ref().is_ok_and(|place| place.is_none());
            if now != *count || is_idle {
                (*count, *since) = (now, Instant::now());
            } else if since.elapsed() > LONGEST
                && let Ok(Some((target, input))) = place.as_deref()
            {
                let line = keep(&args.out, target, input, "does not end");
                eprintln!("redpoll-fuzz: {line}");
                std::process::exit(1);
            }
        }
    }
}

/// Writes a failing input to a file, and returns a line about it.
fn keep(folder: &Path, target: &Target, input: &[u8], what: &str) -> String {
    let name = target.name;
    let sum = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = folder.join(format!("{name}-{sum:016x}"));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, input));
    let path = path.display();
    let repeat = format!("cargo run --profile chaos --package redpoll-fuzz -- {name} {path}");
    match written {
        Ok(()) => format!("{name} {what}; to repeat it: {repeat}"),
        Err(error) => format!("{name} {what}, and {path} cannot be written: {error}: {input:02x?}"),
    }
}
