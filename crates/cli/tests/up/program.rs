//! A program that a test starts, and that ends with the test.
#![allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]

#[path = "../support/processor.rs"]
pub mod processor;

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use processor::processor_seconds;

/// Time after which a program that has not ended is stuck, even on a busy machine.
const STUCK: Duration = Duration::from_secs(60);
/// Processor time in seconds that a program may spend on its end.
const ENDING: f64 = 10.0;

pub struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    pub fn start(args: &[&str]) -> Self {
        Self::start_with(args, &[])
    }

    pub fn start_with(args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        Self::spawn(command.args(args).envs(variables.iter().copied()))
    }

    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        Program { child, output }
    }

    /// Reads the program's output until the last node is listed, and returns the output.
    pub fn wait_until_up(&mut self) -> String {
        let mut text = String::new();
        while !text.contains("leaf-15 ") {
            let line = self.read_line();
            assert!(!line.is_empty(), "it ended: {text}{}", self.errors());
            text.push_str(&line);
        }
        text
    }

    /// Returns the next line of the program's output.
    pub fn line(&mut self) -> String {
        self.read_line()
    }

    /// Reads the next line of the output; an empty line is the end. Fails after a minute without
    /// output, so that a test ends if an expected text never arrives.
    fn read_line(&mut self) -> String {
        if self.output.buffer().is_empty() {
            let mut output = [PollFd::new(
                self.output.get_ref().as_fd(),
                PollFlags::POLLIN,
            )];
            let ready = poll(&mut output, PollTimeout::from(60_000_u16)).expect("poll");
            assert!(ready > 0, "redpoll printed nothing for a minute");
        }
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .expect("the output is UTF-8");
        line
    }

    /// Returns the process identifier of the program.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the program. Returns its messages on standard error until its end.
    pub fn ends_with(mut self, signal: Signal) -> String {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        kill(pid, signal).expect("the program still runs");
        self.child.wait().unwrap();
        self.errors()
    }

    /// Sends a signal and waits for the program's end; `code` is `None` for an end by the signal.
    pub fn end(mut self, signal: Signal, code: Option<i32>) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        let before = processor_seconds(self.child.id());
        kill(pid, signal).expect("the program still runs");
        let deadline = Instant::now() + STUCK;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert_eq!(status.code(), code, "{}", self.errors());
                return;
            }
            assert!(Instant::now() < deadline, "it does not end");
            let spent = processor_seconds(self.child.id()) - before;
            assert!(
                spent < ENDING,
                "it computes instead of ending: {spent:.1} s"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the program's end and returns its exit code and its output.
    pub fn finishes(mut self) -> (i32, String) {
        let mut text = String::new();
        self.output
            .read_to_string(&mut text)
            .expect("the output is UTF-8");
        let status = self.child.wait().unwrap();
        text.push_str(&self.errors());
        (status.code().expect("an exit code"), text)
    }

    /// Waits for the program's end and returns its exit code and its messages on standard error.
    pub fn fails(mut self) -> (i32, String) {
        let deadline = Instant::now() + STUCK;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(Instant::now() < deadline, "it does not fail"),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        (status.code().expect("an exit code"), self.errors())
    }

    fn errors(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            let _ = errors.read_to_string(&mut text);
        }
        text
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the data that nodes serve and upload: the beginning of `seq -f %07.0f 0 N`'s output.
pub fn expected(len: usize) -> Vec<u8> {
    (0_u32..)
        .flat_map(|n| format!("{n:07}\n").into_bytes())
        .take(len)
        .collect()
}

/// Returns the part after the header of an HTTP response.
pub fn body(answer: &[u8]) -> Vec<u8> {
    assert!(
        answer.starts_with(b"HTTP/1.1 200 "),
        "{}",
        String::from_utf8_lossy(answer)
    );
    let end = answer
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .expect("the header ends");
    answer[end + 4..].to_vec()
}
