//! Attributes the instructions of a segment to functions: QEMU's trace of every instruction, with
//! the image's symbols and lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use super::image::{self, Image};
use super::qemu;
use crate::report::{self, Failure, Outcome};
use crate::workspace::{self, Workspace};

/// Number of traced segments; few, because the trace has 80 bytes per instruction.
const SEGMENTS: u32 = 40;
const ROWS: usize = 25;

/// Prints the functions that execute most instructions.
pub fn print(workspace: &Workspace, image: &Image) -> Outcome {
    let trace = workspace.root.join("target/size-trace.log");
    let mut command = qemu::command(qemu::SMALL, &image.path, SEGMENTS);
    one_instruction_a_block(&mut command);
    command.args(["-d", "exec,nochain"]);
    command.arg("-D").arg(&trace);
    workspace::output(&mut command)?;
    let profile = read(image, &trace)?;
    std::fs::remove_file(&trace).ok();

    let each = |count: u64| format!("{:.1}", count as f64 / f64::from(SEGMENTS));
    let print = |title: &str, counts: &BTreeMap<String, u64>| {
        let mut sorted: Vec<(&String, &u64)> = counts.iter().collect();
        sorted.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let mut rows = vec![vec![title.to_owned(), "instructions a segment".to_owned()]];
        rows.extend(
            sorted
                .iter()
                .take(ROWS)
                .map(|(name, count)| vec![(*name).clone(), each(**count)]),
        );
        report::print_table(&rows);
        println!();
    };
    print(
        "function whose source contains the instruction",
        &profile.written,
    );
    print(
        "function whose machine code contains the instruction",
        &profile.own,
    );
    print(
        "function that executes the instruction, itself or by a call",
        &profile.with_callees,
    );
    Ok(())
}

/// Selects blocks of one instruction; the option's name depends on QEMU's version.
fn one_instruction_a_block(command: &mut Command) {
    let help = Command::new(qemu::EMULATOR).arg("-help").output();
    let help = help.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if help.is_ok_and(|help| help.contains("one-insn-per-tb")) {
        command.args(["-accel", "tcg,one-insn-per-tb=on"]);
    } else {
        command.arg("-singlestep");
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Profile {
    /// Instructions by the innermost function of the project that contains them.
    written: BTreeMap<String, u64>,
    /// Instructions by the function into which they were compiled.
    own: BTreeMap<String, u64>,
    /// Instructions by every function that was being executed.
    with_callees: BTreeMap<String, u64>,
}

fn read(image: &Image, trace: &Path) -> Result<Profile, Failure> {
    let unreadable = |e| Failure::new(format!("cannot read {}: {e}", trace.display()));
    let file = File::open(trace).map_err(unreadable)?;
    let mark = |name| {
        image
            .symbol_named(name)
            .map(|symbol| symbol.address)
            .ok_or_else(|| Failure::new(format!("size: the image has no `{name}`")))
    };
    let (begins, ends) = (mark("exchange_begins")?, mark("exchange_ends")?);

    let mut counting = false;
    let mut at: BTreeMap<u64, u64> = BTreeMap::new();
    let mut stack = CallStack::default();
    let mut profile = Profile::default();
    for line in BufReader::new(file).lines() {
        let Some(address) = address(&line.map_err(unreadable)?) else {
            continue;
        };
        counting = (counting || address == begins) && address != ends;
        if counting {
            *at.entry(address).or_insert(0) += 1;
            stack.step(address, |address| {
                image
                    .symbol_at(address)
                    .is_some_and(|symbol| symbol.address == address)
            });
            for function in stack.functions(address) {
                if let Some(symbol) = image.symbol_at(function) {
                    *profile.with_callees.entry(symbol.name.clone()).or_insert(0) += 1;
                }
            }
        }
    }
    for (address, count) in at {
        let own = image.symbol_at(address).map_or("?", |s| s.name.as_str());
        *profile.own.entry(own.to_owned()).or_insert(0) += count;
        let frames = image.functions_at(address);
        let written = frames
            .iter()
            .find(|frame| image::crate_of(&frame.name).starts_with("redpoll_"))
            .map_or(own, |frame| frame.name.as_str());
        *profile.written.entry(written.to_owned()).or_insert(0) += count;
    }
    Ok(profile)
}

/// Returns the address in a line `Trace 0: 0x7f.. [00800400/00004508/..] name`.
fn address(line: &str) -> Option<u64> {
    let (_, state) = line.strip_prefix("Trace ")?.split_once('[')?;
    u64::from_str_radix(state.split('/').nth(1)?, 16).ok()
}

/// The call stack, from addresses alone: a call jumps to the start of a function, and returns to
/// the instruction after the call.
#[derive(Debug, Default)]
struct CallStack {
    /// Return address of each call, and beginning of the called function.
    calls: Vec<(u64, u64)>,
    before: Option<u64>,
}

impl CallStack {
    fn step(&mut self, address: u64, is_beginning: impl Fn(u64) -> bool) {
        let before = self.before.replace(address);
        if let Some(depth) = self.calls.iter().rposition(|(back, _)| *back == address) {
            self.calls.truncate(depth);
        } else if let Some(before) = before {
            let went_on = (before..=before + 4).contains(&address);
            if !went_on && is_beginning(address) {
                // BL is four bytes long. A jump to a function instead of a call returns to the
                // caller of the jumping function, so the wrong address that is stored here is never
                // reached.
                self.calls.push((before + 4, address));
            }
        }
    }

    /// Returns the start of every function that is being executed, each once.
    fn functions(&self, address: u64) -> BTreeSet<u64> {
        let outer = self.calls.iter().map(|(_, beginning)| *beginning);
        let inner = (self.calls.is_empty()).then_some(address);
        outer.chain(inner).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_the_trace() {
        let line = "Trace 0: 0x7f0f1c28bd40 [00800400/00004508/00000510/ff020201] image_main";
        assert_eq!(address(line), Some(0x4508));
        assert_eq!(address("Stopped execution of TB chain"), None);
        assert_eq!(address(""), None);
    }

    #[test]
    fn calls_nest_and_return() {
        let begins = |address: u64| [100, 200].contains(&address);
        let mut stack = CallStack::default();
        let mut depths = Vec::new();
        // 10 calls 100. In a loop, 100 calls 200 twice; then it returns.
        for address in [10, 100, 102, 200, 202, 106, 102, 200, 106, 14] {
            stack.step(address, begins);
            depths.push(stack.calls.len());
        }
        assert_eq!(depths, [0, 1, 1, 2, 2, 1, 1, 2, 1, 0]);
    }

    #[test]
    fn a_jump_to_a_function_returns_with_its_caller() {
        let begins = |address: u64| [100, 200].contains(&address);
        let mut stack = CallStack::default();
        for address in [10, 100, 102, 200, 14] {
            stack.step(address, begins);
        }
        assert!(stack.calls.is_empty());
        assert_eq!(stack.functions(14).len(), 1);
    }
}
