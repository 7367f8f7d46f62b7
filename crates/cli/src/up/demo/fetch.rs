//! Step 2: curl, with the host's TCP or through a port forward.

use std::io::Read;
use std::process::Stdio;
use std::time::Instant;

use redpoll_sim::counting_lines;
use sha2::{Digest, Sha256};

use super::plan::Plan;
use super::show::{Step, kbps};
use super::{Outcome, StepFailure, command, is_installed};

/// Time limit of the transfer in seconds. Any working mesh transfers a file of this size sooner.
const MAX_TIME_S: &str = "300";

pub(super) fn run(plan: &Plan, step: &Step) -> Result<Outcome, StepFailure> {
    if !is_installed("curl") {
        return Ok(Outcome::LeftOut(
            "curl is not installed: sudo apt-get install curl".to_owned(),
        ));
    }
    let page = curl(plan, step, "/", None)?;
    let shown = String::from_utf8_lossy(&page);
    step.note(&format!(
        "{} bytes: {}",
        page.len(),
        shown.lines().next().unwrap_or_default()
    ));

    let started = Instant::now();
    let file = curl(plan, step, "/file", Some(plan.file_bytes))?;
    let (got, wanted) = (checksum(&file), checksum(&expected(plan.file_bytes)));
    if got != wanted {
        return Err(format!(
            "{} bytes with SHA-256 {got} arrived; expected: {} bytes with {wanted}",
            file.len(),
            plan.file_bytes
        )
        .into());
    }
    step.note(&format!("SHA-256 {got}, as expected"));
    let rate = kbps(file.len() as u64, started.elapsed());
    Ok(Outcome::Done(format!(
        "{} bytes, all correct, at {rate}",
        file.len()
    )))
}

fn curl(plan: &Plan, step: &Step, path: &str, total: Option<u64>) -> Result<Vec<u8>, StepFailure> {
    let url = format!("{}{path}", plan.server_url());
    step.note(&format!("$ curl {url}"));
    let mut curl = command("curl")
        .args([
            "--silent",
            "--show-error",
            "--fail",
            "--globoff",
            "--noproxy",
            "*",
        ])
        .args(["--max-time", MAX_TIME_S, &url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let bar = total.map(|total| step.bar(total));
    let mut output = curl.stdout.take().ok_or("curl has no output")?;
    let mut body = Vec::new();
    let mut block = [0; 4096];
    loop {
        match output.read(&mut block)? {
            0 => break,
            len => body.extend_from_slice(block.get(..len).unwrap_or_default()),
        }
        if let Some(bar) = &bar {
            bar.set_position(body.len() as u64);
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let result = curl.wait_with_output()?;
    if !result.status.success() {
        let text = String::from_utf8_lossy(&result.stderr);
        return Err(text
            .lines()
            .next()
            .unwrap_or("curl failed without a message")
            .to_owned()
            .into());
    }
    Ok(body)
}

fn expected(len: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    counting_lines(0, &mut bytes);
    bytes
}

fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_sha256sum() {
        // FIPS 180-4's example, as printed by `printf abc | sha256sum`.
        assert!(checksum(b"abc").starts_with("ba7816bf8f01cfea"));
    }
}
