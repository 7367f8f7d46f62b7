//! The two terminals of a tutorial's reader.
//!
//! Each block is a script of bash that stops at the first command that fails. The next block of the
//! terminal starts in the same folder and with the same variables.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::page::Block;

/// Longest time of a block of commands, which may compile a program. A longer block fails.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longest time until a program has shown the output that the page expects.
const UP_WITHIN: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 40 });
/// Ctrl-C ends a program within this time.
const DOWN_WITHIN: Duration = Duration::from_secs(10);
/// A program that has just shown its output must still run after this time.
const STILL_UP: Duration = Duration::from_millis(100);
const STEP: Duration = Duration::from_millis(20);

pub struct Terminals {
    /// Folder of scripts, shell states and outputs.
    notes: PathBuf,
    folder: PathBuf,
    path: String,
    /// The program in the first terminal.
    running: Option<Running>,
    /// The process groups of all blocks.
    groups: Vec<u32>,
    count: usize,
}

struct Running {
    child: Child,
    output: PathBuf,
    failed: PathBuf,
}

impl Running {
    fn printed(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap_or_default()).into_owned()
    }

    fn wait(&mut self, patience: Duration) -> Result<Option<ExitStatus>, String> {
        let begun = Instant::now();
        loop {
            let status = self.child.try_wait().map_err(|e| e.to_string())?;
            if status.is_some() || begun.elapsed() > patience {
                return Ok(status);
            }
            sleep(STEP);
        }
    }
}

impl Terminals {
    pub fn new(root: &Path, folder: &Path, program: &Path) -> Terminals {
        let bin = root.join(".bin");
        let notes = root.join(".notes");
        // If one of these calls fails, the first command of the page fails, too.
        let _ = fs::create_dir_all(&bin);
        let _ = fs::create_dir_all(&notes);
        let _ = std::os::unix::fs::symlink(program, bin.join("redpoll"));
        let path = std::env::var("PATH").unwrap_or_default();
        Terminals {
            notes,
            folder: folder.to_owned(),
            path: format!("{}:{path}", bin.display()),
            running: None,
            groups: Vec::new(),
            count: 0,
        }
    }

    /// Runs a block, and compares its output.
    pub fn run(&mut self, block: &Block) -> Result<(), String> {
        if block.terminal == 0 && self.running.is_some() {
            return Err(format!(
                "{}: a program still runs in the first terminal",
                block.line
            ));
        }
        let mut running = self
            .start(block)
            .map_err(|e| format!("{}: cannot start bash: {e}", block.line))?;
        if block.stays {
            let up = await_shown(block, &mut running);
            self.running = Some(running);
            return up;
        }
        let status = running.wait(PATIENCE)?;
        let printed = running.printed();
        match status {
            None => Err(format!(
                "{}: still runs after {} s\n    command   {}\n    got       {}",
                block.line,
                PATIENCE.as_secs(),
                last_command(&block.text),
                excerpt(&printed)
            )),
            Some(status) if !status.success() => Err(failed(block, &running, status)),
            Some(_) => judge(block, &printed),
        }
    }

    /// Presses Ctrl-C in the first terminal.
    pub fn interrupt(&mut self, line: usize) -> Result<(), String> {
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        let early = running.wait(STILL_UP)?;
        if let Some(status) = early {
            return Err(format!(
                "{line}: the program ended before Ctrl-C, {status}\n    got       {}",
                excerpt(&running.printed())
            ));
        }
        signal("INT", running.child.id());
        match running.wait(DOWN_WITHIN)? {
            Some(_) => Ok(()),
            None => Err(format!(
                "{line}: Ctrl-C does not end the program within {} s",
                DOWN_WITHIN.as_secs()
            )),
        }
    }

    pub fn end(&mut self) -> Result<(), String> {
        let outcome = self.interrupt(0);
        for group in self.groups.drain(..) {
            signal("KILL", group);
        }
        outcome
    }

    fn start(&mut self, block: &Block) -> std::io::Result<Running> {
        self.count += 1;
        let note = |what: &str| self.notes.join(format!("{}.{what}", self.count));
        let (script, output, failed) = (note("sh"), note("out"), note("failed"));
        fs::write(&script, &block.text)?;
        let printed = File::create(&output)?;
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc"]);
        if block.is_typed {
            bash.stdin(File::open(&script)?);
        } else {
            let state = self.notes.join(format!("terminal-{}", block.terminal));
            let driver = format!(
                "[ ! -f {state} ] || . {state}\n\
                 trap '{{ export -p; printf \"cd %q\\n\" \"$PWD\"; }} > {state}' EXIT\n\
                 trap 'echo $LINENO > {failed}' ERR\n\
                 set -aeE -o pipefail\n\
                 . {script}\n",
                state = state.display(),
                failed = failed.display(),
                script = script.display(),
            );
            bash.args(["-c", &driver]).stdin(Stdio::null());
        }
        bash.current_dir(&self.folder)
            .env("PATH", &self.path)
            // Crates are read from the copies on this computer.
            .env("CARGO_NET_OFFLINE", "true")
            .env_remove("CARGO_MANIFEST_DIR")
            .stdout(printed.try_clone()?)
            .stderr(printed)
            .process_group(0);
        let child = bash.spawn()?;
        self.groups.push(child.id());
        Ok(Running {
            child,
            output,
            failed,
        })
    }
}

/// Waits until a program that stays has printed the output of the page.
fn await_shown(block: &Block, running: &mut Running) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        let ended = running.wait(Duration::ZERO)?;
        let judged = judge(block, &running.printed());
        match (judged, ended) {
            (_, Some(status)) => return Err(failed(block, running, status)),
            (Ok(()), None) => return Ok(()),
            (Err(wrong), None) if begun.elapsed() > UP_WITHIN => return Err(wrong),
            (Err(_), None) => sleep(STEP),
        }
    }
}

fn judge(block: &Block, printed: &str) -> Result<(), String> {
    let Some(expected) = &block.expected else {
        return Ok(());
    };
    expected.compare(printed).map_err(|difference| {
        format!(
            "{}: different output\n    command   {}\n    expected  {}\n    got       {}\n    \
             whole output {}",
            difference.line,
            last_command(&block.text),
            difference.expected,
            difference.got,
            excerpt(printed)
        )
    })
}

fn failed(block: &Block, running: &Running, status: ExitStatus) -> String {
    let noted = fs::read_to_string(&running.failed).unwrap_or_default();
    let (at, command) = command_at(&block.text, noted.trim().parse().unwrap_or(1));
    format!(
        "{}: the command ended, {status}\n    command   {command}\n    got       {}",
        block.line + at - 1,
        excerpt(&running.printed())
    )
}

/// Returns the command of line `at` (from 1) of a block, and the number of the command's first
/// line.
fn command_at(text: &str, at: usize) -> (usize, String) {
    let lines: Vec<&str> = text.lines().collect();
    let goes_on = |line: usize| lines.get(line - 1).is_some_and(|it| it.ends_with('\\'));
    let mut first = at.max(1);
    while first > 1 && goes_on(first - 1) {
        first -= 1;
    }
    let mut last = first;
    while goes_on(last) {
        last += 1;
    }
    let command = lines.get(first - 1..last.min(lines.len()));
    (first, command.unwrap_or_default().join(" "))
}

fn last_command(text: &str) -> &str {
    text.lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or_default()
}

/// Returns the end of an output, indented.
fn excerpt(printed: &str) -> String {
    const LINES: usize = 40;
    let lines: Vec<&str> = printed.lines().collect();
    let from = lines.len().saturating_sub(LINES);
    let head = if from > 0 { "…\n              " } else { "" };
    format!("{head}{}", lines[from..].join("\n              "))
}

fn signal(name: &str, group: u32) {
    // The shell's own `kill`: some programs of that name read a small group number as a signal.
    let mut kill = Command::new("bash");
    kill.args(["-c", &format!("kill -s {name} -- -{group}")]);
    // Ignores the error: `kill` fails if the process group has ended.
    let _ = kill.output();
}
