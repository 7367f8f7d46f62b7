//! `redpoll up --tui` on a pseudo-terminal: its output, and the restored terminal at its end.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::Pid;

const PROGRAM: &str = env!("CARGO_BIN_EXE_redpoll");
const PATIENCE: Duration = Duration::from_secs(60);
/// Control sequence that restores the previous screen.
const LEFT: &str = "\u{1b}[?1049l";

struct Session {
    child: Child,
    master: File,
    slave: OwnedFd,
    bytes: Receiver<Vec<u8>>,
    shown: String,
}

impl Session {
    fn start() -> Session {
        let size = Winsize {
            ws_row: 40,
            ws_col: 150,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let OpenptyResult { master, slave } = openpty(&size, None).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = Command::new(PROGRAM)
            .args([
                "up",
                "office",
                "--join",
                "forward",
                "--forward",
                "0:leaf-12:80",
                "--tui",
            ])
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let master = File::from(master);
        let mut reader = master.try_clone().unwrap();
        let (sender, bytes) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        Session {
            child,
            master,
            slave,
            bytes,
            shown: String::new(),
        }
    }

    /// Waits until the text of the whole output contains these words.
    fn wait_for(&mut self, words: &str) {
        self.wait_until(words, |shown| plain(shown).contains(words));
    }

    fn wait_until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_there(&self.shown) {
            let left = until.saturating_duration_since(Instant::now());
            match self.bytes.recv_timeout(left) {
                Ok(bytes) => self.shown += &String::from_utf8_lossy(&bytes),
                Err(_) => panic!("no {what:?} in {}", self.shown),
            }
        }
    }

    fn is_raw(&self) -> bool {
        let flags = tcgetattr(&self.slave).unwrap().local_flags;
        !flags.intersects(LocalFlags::ICANON | LocalFlags::ECHO)
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end of the program, which restores the terminal.
    fn ended(mut self) -> ExitStatus {
        self.wait_until("end of the screen", |shown| shown.contains(LEFT));
        let until = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > until => panic!("it does not end: {}", self.shown),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        assert!(!self.is_raw());
        status
    }
}

/// Returns the text without the control sequences for the cursor.
fn plain(shown: &str) -> String {
    let mut parts = shown.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(part.len(), |at| at + 1);
        text.push(' ');
        text.push_str(&part[end..]);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

#[test]
fn a_mesh_is_shown_changed_and_left_by_a_key() {
    if !redpoll_testkit::has_terminals("a_mesh_is_shown_changed_and_left_by_a_key") {
        return;
    }
    let mut session = Session::start();
    session.wait_for("leaf-12");
    session.wait_for("TCP connections");
    assert!(session.is_raw());
    // Selects the border router's first child, and switches it off.
    session.press("jx");
    session.wait_for("node-2 is switched off");
    session.press("x");
    session.wait_for("node-2 is switched on again");
    session.press("q");
    assert_eq!(session.ended().code(), Some(0));
}

#[test]
fn control_c_and_sigterm_give_the_terminal_back() {
    if !redpoll_testkit::has_terminals("control_c_and_sigterm_give_the_terminal_back") {
        return;
    }
    let mut session = Session::start();
    session.wait_for("TCP connections");
    session.press("\u{3}");
    assert_eq!(session.ended().code(), Some(0));

    let mut session = Session::start();
    session.wait_for("TCP connections");
    kill(Pid::from_raw(session.child.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(session.ended().code(), Some(0));
}

#[test]
fn without_a_terminal_the_tui_is_refused() {
    let output = Command::new(PROGRAM)
        .args(["up", "pair", "--tui"])
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(
        line.contains("standard output is not a terminal; allowed: a terminal, or --web"),
        "{line}"
    );
    assert!(output.stdout.is_empty());
}
