//! Step 1: the host's own ping.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::plan::Plan;
use super::show::Step;
use super::{Outcome, StepFailure, command, is_installed};

const COUNT: u32 = 5;
/// Required number of answers. A working mesh may lose a few packets, but not most of them.
const ENOUGH: u32 = 3;

pub(super) fn run(plan: &Plan, step: &Step) -> Result<Outcome, StepFailure> {
    if !plan.host_is_joined {
        return Ok(Outcome::LeftOut(plan.needs_tun()));
    }
    if !is_installed("ping") {
        return Ok(Outcome::LeftOut(
            "ping is not installed: sudo apt-get install iputils-ping".to_owned(),
        ));
    }
    let address = plan.server.address.to_string();
    step.note(&format!("$ ping -c {COUNT} {address}"));
    let mut ping = command("ping")
        .args(["-6", "-n", "-W", "5", "-c", &COUNT.to_string(), &address])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut answers = 0;
    let mut times = String::new();
    for line in BufReader::new(ping.stdout.take().ok_or("ping has no output")?).lines() {
        let line = line?;
        if line.contains("bytes from") {
            answers += 1;
            step.note(&line);
        } else if let Some((_, rest)) = line.split_once("min/avg/max/mdev = ") {
            times = format!(", round-trip time min/mean/max {}", least_mean_most(rest));
        }
    }
    ping.wait()?;
    if answers < ENOUGH {
        return Err(format!("{answers} of {COUNT} pings were answered").into());
    }
    Ok(Outcome::Done(format!(
        "{answers} of {COUNT} pings answered{times}"
    )))
}

/// Removes the last figure, the deviation, from `71.2/80.0/90.1/7.0 ms`.
fn least_mean_most(figures: &str) -> String {
    let figures = figures.split_whitespace().next().unwrap_or_default();
    let three: Vec<&str> = figures.split('/').take(3).collect();
    format!("{} ms", three.join("/"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_ping_deviation_is_omitted() {
        assert_eq!(
            super::least_mean_most("71.2/80.0/90.1/7.0 ms"),
            "71.2/80.0/90.1 ms"
        );
    }
}
