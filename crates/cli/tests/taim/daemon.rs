//! The program under test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub struct Daemon {
    pub child: Child,
    said: String,
}

impl Daemon {
    /// Returns a command with `--always`: it delays packets in every mesh, as the TAiM paper does.
    pub fn command(args: &[&str]) -> Command {
        Self::plain(&[&["--always"], args].concat())
    }

    pub fn plain(args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        command.arg("taim").args(args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn start(args: &[&str]) -> Daemon {
        Self::spawn(Self::command(args))
    }

    /// Starts the program as a real-time process if the system allows it. Returns whether it runs
    /// as a real-time process.
    pub fn start_in_time(args: &[&str]) -> (Daemon, bool) {
        let chrt = |program: &str| {
            let mut command = Command::new("chrt");
            command.args(["-f", "1", program]);
            command
        };
        let is_allowed = chrt("true").status().is_ok_and(|status| status.success());
        if !is_allowed {
            return (Self::start(args), false);
        }
        let mut command = chrt(env!("CARGO_BIN_EXE_redpoll"));
        command.args(["taim", "--always"]).args(args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        (Self::spawn(command), true)
    }

    pub fn spawn(mut command: Command) -> Daemon {
        let mut child = command.spawn().expect("the program starts");
        let mut said = String::new();
        let errors = child.stderr.as_mut().expect("standard error is a pipe");
        BufReader::new(errors).read_line(&mut said).unwrap();
        assert!(said.contains("reading queue "), "{said}");
        Daemon { child, said }
    }

    /// Wraps a running program and the first lines of its log.
    pub fn of(child: Child, said: String) -> Daemon {
        Daemon { child, said }
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("the program still runs");
    }

    /// Returns the value of a line of /proc/PID/status (proc(5)).
    pub fn status(&self, name: &str) -> String {
        let all = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let all = all.expect("the program runs");
        let line = all.lines().find_map(|line| line.strip_prefix(name));
        line.expect("the kernel tells it").trim().to_owned()
    }

    pub fn memory(&self) -> u64 {
        let text = self.status("VmRSS:");
        text.trim_end_matches(" kB").parse().expect("a number")
    }

    pub fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        self.signal(signal);
        // Read before the wait: the process would block if its output filled the pipe.
        let mut text = String::new();
        let out = self
            .child
            .stdout
            .as_mut()
            .expect("standard output is a pipe");
        out.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        (status.code(), text)
    }

    pub fn metrics(&self) -> String {
        let at = self
            .said
            .split("http://")
            .nth(1)
            .expect("the program serves metrics");
        let at = at.split('/').next().unwrap();
        let mut stream = TcpStream::connect(at).expect("the program listens");
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn figure(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0.0, |value| value.trim().parse().expect("a number"))
}
