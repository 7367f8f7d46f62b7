//! Runs cases on all cores.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration as WallDuration;

use nix::time::{ClockId, clock_gettime};

use crate::case::Case;
use crate::error::StudyError;
use crate::figure::Figure;
use crate::results::Results;
use crate::run::Run;

/// Interval at which the caller decides whether to continue.
const TICK: WallDuration = WallDuration::from_millis(100);

#[derive(Clone, Debug)]
pub struct Job {
    pub case: Case,
    pub seed: u64,
    /// Virtual milliseconds to simulate, for a progress bar.
    pub virtual_ms: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Complete,
    Stopped,
    /// A run failed; the text names the run and the cause.
    Failed(String),
}

/// Returns the runs that `figures` need with `seeds` seeds and `results` lacks, the longest first.
pub fn jobs(figures: &[Figure], seeds: u64, results: &Results) -> Result<Vec<Job>, StudyError> {
    let mut known = BTreeMap::new();
    let mut jobs = Vec::new();
    for case in figures.iter().flat_map(Figure::cases) {
        let asked = case.seeds(seeds);
        // If several figures use this case, the largest number of seeds counts.
        let more = match known.insert(case.key()?, asked) {
            Some(before) if before >= asked => {
                known.insert(case.key()?, before);
                continue;
            }
            before => before.unwrap_or(0),
        };
        let virtual_ms = case.scenario()?.duration.as_millis();
        for seed in more + 1..=asked {
            if !results.has(case, seed)? {
                jobs.push(Job {
                    case: case.clone(),
                    seed,
                    virtual_ms,
                });
            }
        }
    }
    jobs.sort_by_key(|job| std::cmp::Reverse(job.virtual_ms));
    Ok(jobs)
}

/// The result of a job: CPU seconds and the run, `None` if the job was stopped, or an error.
type Done = Result<Option<(f64, Run)>, String>;

/// Runs `jobs` on `threads` threads and stores their results in `results`. `tick` receives the
/// numbers of completed jobs and of simulated milliseconds, and returns whether to continue.
pub fn conduct(
    jobs: &[Job],
    threads: usize,
    results: &Results,
    tick: &mut dyn FnMut(usize, u64) -> bool,
) -> Result<Outcome, StudyError> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let virtual_ms = AtomicU64::new(0);
    let (sender, receiver) = mpsc::sync_channel::<(usize, Done)>(1);
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            let sender = sender.clone();
            let (next, stop, virtual_ms) = (&next, &stop, &virtual_ms);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    let done = work(job, stop, virtual_ms);
                    if sender.send((index, done)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let kept = keep(jobs, results, receiver, &stop, &mut |done| {
            tick(done, virtual_ms.load(Ordering::Relaxed))
        });
        stop.store(true, Ordering::Relaxed);
        kept
    })
}

/// Stores results until all worker threads end. If a result cannot be stored, returns early; later
/// sends of the workers then fail.
fn keep(
    jobs: &[Job],
    results: &Results,
    receiver: mpsc::Receiver<(usize, Done)>,
    stop: &AtomicBool,
    tick: &mut dyn FnMut(usize) -> bool,
) -> Result<Outcome, StudyError> {
    let mut outcome = Outcome::Complete;
    let mut count = 0;
    loop {
        match receiver.recv_timeout(TICK) {
            Ok((index, Ok(Some((cpu_s, run))))) => {
                let job = &jobs[index];
                results.put(&job.case, job.seed, cpu_s, &run)?;
                count += 1;
            }
            Ok((_, Ok(None))) => {}
            Ok((_, Err(line))) => {
                stop.store(true, Ordering::Relaxed);
                outcome = Outcome::Failed(line);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(outcome),
        }
        if !tick(count) && outcome == Outcome::Complete {
            stop.store(true, Ordering::Relaxed);
            outcome = Outcome::Stopped;
        }
    }
}

fn work(job: &Job, stop: &AtomicBool, virtual_ms: &AtomicU64) -> Done {
    let began = cpu_s();
    let advance = |passed: redpoll_base::Duration| {
        virtual_ms.fetch_add(passed.as_millis(), Ordering::Relaxed);
        !stop.load(Ordering::Relaxed)
    };
    let place = || format!("{} (seed {})", job.case.text(), job.seed);
    // A panic in one run must not lose the results of the others.
    let ran = catch_unwind(AssertUnwindSafe(|| job.case.run(job.seed, &advance)));
    match ran {
        Ok(Ok(run)) => Ok(run.map(|run| (cpu_s() - began, run))),
        Ok(Err(error)) => Err(format!("{}: {error}", place())),
        Err(_) => Err(format!("{}: the simulator panicked", place())),
    }
}

/// Returns the CPU time that this thread has used, in seconds.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(0.0, |it| WallDuration::from(it).as_secs_f64())
}
