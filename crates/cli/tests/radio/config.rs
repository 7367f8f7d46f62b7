//! The settings of a border router: `redpoll up --config`, `--check-config` and SIGHUP.

use std::fs::File;
use std::os::linux::fs::MetadataExt as _;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::datagrams;
use crate::support::{Folder, PROGRAM, code, complaint, redpoll, stdout};

/// Returns settings of a border router with a radio over UDP and without an interface.
fn settings(more: &str) -> String {
    let [radio, _] = datagrams();
    let [port, _] = crate::ports();
    format!(
        "scenario = \"office\"\nset = [\"routing=rpl\"]\nradio = \"{radio}\"\njoin = \"forward\"\n\
         forward = [\"{port}:leaf-12:80\"]\n{more}"
    )
}

/// A running border router. Its output is in files.
struct Border {
    child: Child,
    folder: Folder,
}

impl Drop for Border {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Border {
    fn start(text: &str, more: &[&str]) -> Border {
        Border::start_in(text, more, &[], false)
    }

    /// Starts a border router. If `is_journal`, its environment states that systemd's journal reads
    /// its standard error.
    fn start_in(
        text: &str,
        more: &[&str],
        environment: &[(&str, &str)],
        is_journal: bool,
    ) -> Border {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = Folder::new(&format!("border-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let config = folder.write("border.toml", text);
        let file = |name: &str| File::create(folder.file(name)).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["up", "--config", &config]).args(more);
        command
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("log"));
        command.envs(environment.iter().copied());
        if is_journal {
            let log = std::fs::metadata(folder.file("log")).unwrap();
            command.env(
                "JOURNAL_STREAM",
                format!("{}:{}", log.st_dev(), log.st_ino()),
            );
        }
        let child = command.spawn().unwrap();
        let border = Border { child, folder };
        border.hears("out", "The radio is ");
        border
    }

    fn hears(&self, file: &str, words: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let text = std::fs::read_to_string(self.folder.file(file)).unwrap();
            if text.contains(words) {
                return;
            }
            let log = std::fs::read_to_string(self.folder.file("log")).unwrap();
            assert!(
                Instant::now() < until,
                "no `{words}` in {file}: {text}{log}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Replaces the settings file by renaming, as editors do, and sends SIGHUP.
    fn reload(&self, text: &str) {
        let new = self.folder.write("new", text);
        std::fs::rename(new, self.folder.file("border.toml")).unwrap();
        self.signal(Signal::SIGHUP);
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }
}

#[test]
fn settings_are_read_again_while_the_border_router_runs() {
    let text = settings("channel = 20\n");
    let mut border = Border::start(&text, &["--set", "seed=3"]);
    border.hears("out", "channel 20.");

    border.reload(&text.replace("channel = 20", "channel = 21\nexpose = [\"1883\"]"));
    border.hears(
        "log",
        "warning: a new value of channel applies only after a restart",
    );
    border.hears("log", "the settings were reloaded");
    border.reload(&text.replace("channel = 20", "channel = 99"));
    border.hears("log", "error: the settings were not reloaded: ");
    border.hears("log", "border.toml:6:11: channel: invalid value '99'");
    border.reload(&text.replace("\"office\"", "\"nowhere\""));
    border.hears("log", "error: the settings were not reloaded: nowhere");

    border.signal(Signal::SIGTERM);
    assert_eq!(border.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_service_manager_hears_of_start_and_life_and_the_journal_gets_levels() {
    let folder = Folder::new("border-notify");
    let address = folder.file("notify");
    let socket = UnixDatagram::bind(&address).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let environment = [
        ("NOTIFY_SOCKET", address.as_str()),
        ("WATCHDOG_USEC", "3000000"),
    ];
    let text = settings("channel = 20\nlog_level = \"warn\"\n");
    let border = Border::start_in(&text, &[], &environment, true);
    let hear = || {
        let mut text = [0; 64];
        let len = socket.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..len]).into_owned()
    };
    assert_eq!([hear(), hear()], ["READY=1", "WATCHDOG=1"]);
    let begin = Instant::now();
    assert_eq!(hear(), "WATCHDOG=1");
    assert!(begin.elapsed() < Duration::from_secs(3), "too late");

    border.reload(&text.replace("20", "21"));
    border.hears(
        "log",
        "<4>a new value of channel applies only after a restart",
    );
    border.reload(&text.replace("warn", "info"));
    border.hears("log", "<6>the settings were reloaded");
    let log = std::fs::read_to_string(border.folder.file("log")).unwrap();
    assert_eq!(log.matches("<6>").count(), 1, "{log}");
    border.reload("channel = 99\n");
    border.hears("log", "<3>the settings were not reloaded: ");
}

#[test]
fn without_settings_hangup_ends_a_border_router() {
    let folder = Folder::new("border-plain");
    let [radio, _] = datagrams();
    let [port, _] = crate::ports();
    let out = File::create(folder.file("out")).unwrap();
    let forward = format!("{port}:leaf-12:80");
    let mut child = Command::new(PROGRAM)
        .args(["up", "office", "--set", "routing=rpl", "--radio", &radio])
        .args(["--join", "forward", "--forward", &forward])
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(folder.file("out"))
        .unwrap()
        .contains("The radio is ")
    {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGHUP).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn settings_are_checked_without_starting() {
    let folder = Folder::new("border-check");
    let good = settings("");
    let check = |text: &str, more: &[&str]| {
        let config = folder.write("border.toml", text);
        redpoll(&[&["up", "--config", &config, "--check-config"], more].concat())
    };
    let output = check(&good, &[]);
    let config = folder.file("border.toml");
    assert_eq!(
        (code(&output), stdout(&output)),
        (0, format!("{config}: no errors\n"))
    );
    // Each fault: the text, more options, and the words of the one line of output.
    let faults: [(&str, &[&str], &str); 7] = [
        (
            "chanel = 20\n",
            &[],
            "border.toml:6:1: got the unknown key \"chanel\"; allowed: scenario, ",
        ),
        (
            "channel = 9\n",
            &[],
            "border.toml:6:11: channel: invalid value '9'",
        ),
        ("name = \n", &[], "border.toml:6:8: "),
        (
            "radio = \"zep://127.0.0.1:1\"\n",
            &[],
            "border.toml:6:1: duplicate key",
        ),
        ("", &["--set", "routing=fixed"], "--radio needs RPL"),
        ("", &["--set", "mac.nothing=1"], "nothing"),
        (
            "",
            &[
                "--set",
                "security.level=enc-mic-32",
                "--set",
                "security.key=000102030405060708090a0b0c0d0e0f",
            ],
            "needs --state FILE",
        ),
    ];
    for (text, more, words) in faults {
        let output = check(&format!("{good}{text}"), more);
        let line = complaint(&output);
        assert_eq!(code(&output), 2, "{line}");
        assert!(line.contains(words), "{words}: {line}");
    }
    let missing = redpoll(&["up", "--config", "/nowhere/border.toml"]);
    assert_eq!(code(&missing), 2);
    let told = complaint(&missing);
    assert!(
        told.contains("--config: cannot read /nowhere/border.toml: "),
        "{told}"
    );
    assert!(told.contains("; correct the path"), "{told}");
    // The example is valid, and the options of the command line override it.
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist/border.toml");
    let output = redpoll(&[
        "up",
        "--config",
        example,
        "--check-config",
        "--channel",
        "11",
    ]);
    assert_eq!(code(&output), 0, "{output:?}");
}
