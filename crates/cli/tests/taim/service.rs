//! The program as a service: configuration file, reload, and log.

use std::fs::File;
use std::os::linux::fs::MetadataExt as _;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use redpoll_linux::tun::{Tun, TunConfig};

use crate::daemon::{Daemon, figure};
use crate::net::Network;
use crate::rules;
use crate::sudden::until;
use crate::support::{Folder, code, complaint, redpoll, stdout};

/// A program whose log is in a file.
struct Service {
    daemon: Daemon,
    folder: Folder,
}

impl Service {
    fn start(n: u16, text: &str, args: &[&str]) -> Service {
        let folder = Folder::new(&format!("taim-{n}"));
        let config = folder.write("taim.toml", text);
        let log = File::create(folder.file("log")).unwrap();
        let mut command = Daemon::plain(&["--config", &config, "--metrics", "127.0.0.1:0"]);
        command.args(args).stderr(log);
        let child = command.spawn().expect("the program starts");
        let path = folder.file("log");
        let read = || std::fs::read_to_string(&path).unwrap();
        until("it does not start", || {
            read().contains("Ctrl-C ends the program")
        });
        let daemon = Daemon::of(child, read());
        Service { daemon, folder }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.file("log")).unwrap()
    }

    /// Replaces the configuration file by renaming, as editors do, and sends SIGHUP.
    fn reload(&self, text: &str) {
        let new = self.folder.write("new", text);
        std::fs::rename(new, self.folder.file("taim.toml")).unwrap();
        self.daemon.signal(Signal::SIGHUP);
    }

    fn hears(&self, text: &str) {
        until(&format!("no `{text}` in the log"), || {
            self.log().contains(text)
        });
    }

    fn delay(&self) -> f64 {
        figure(&self.daemon.metrics(), "redpoll_taim_delay_seconds ")
    }
}

pub fn reloads() {
    let service = Service::start(41, "queue = 41\ndelay = \"20 ms\"\n", &["--margin", "64"]);
    assert!(service.log().contains("reading queue 41,"));
    assert_eq!(service.delay(), 0.02);
    service.reload("queue = 41\ndelay = \"30 ms\"\nmargin = 999\n");
    service.hears("the settings were reloaded file=");
    assert_eq!(service.delay(), 0.03);

    // An error is logged with its place, and the old settings stay.
    service.reload("queue = 41\ndelay = 5\n");
    service.hears("error: the settings were not reloaded: ");
    service.hears("taim.toml:2:9: delay: got 5; allowed: a time of");
    assert_eq!(service.delay(), 0.03);
    std::fs::remove_file(service.folder.file("taim.toml")).unwrap();
    service.daemon.signal(Signal::SIGHUP);
    service.hears("error: the settings were not reloaded: cannot read ");
    assert_eq!(service.delay(), 0.03);

    // A setting that needs a restart is reported at each reload, and does not change.
    for times in 1..=2 {
        service.reload("queue = 42\nflows = 77\nlog_level = \"debug\"\n");
        until("nothing is named", || {
            let said = "a new value of queue applies only after a restart";
            service.log().matches(said).count() == times
        });
    }
    service.hears("a new value of flows applies only after a restart");
    assert!(crate::sudden::is_taken("41") && !crate::sudden::is_taken("42"));
    assert_eq!(service.delay(), 0.05);

    let (code, _) = service.daemon.end(Signal::SIGTERM);
    assert_eq!(code, Some(0));
}

pub fn full_disk() {
    let more = ["--json", "/dev/full", "--every", "1"];
    let service = Service::start(45, "queue = 45\n", &more);
    service.hears("warning: cannot write /dev/full: No space left on device");
    service.hears("choose a place on another file system; reports are lost");
    // The program's main loop still runs after further reports were lost.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(service.delay(), 0.05);
    assert_eq!(service.log().matches("cannot write").count(), 1);
    let (code, _) = service.daemon.end(Signal::SIGTERM);
    assert_eq!(code, Some(0));
}

pub fn settings() {
    let text = "queue = 43\ndelay = \"20 ms\"\n";
    let service = Service::start(43, text, &["--delay", "10"]);
    assert_eq!(service.delay(), 0.01, "the command line overrides the file");
    let config = service.folder.file("taim.toml");
    let check =
        |more: &[&str]| redpoll(&[&["taim", "--config", &config, "--check-config"], more].concat());
    let good = check(&[]);
    assert_eq!(
        (code(&good), stdout(&good)),
        (0, format!("{config}: no errors\n"))
    );
    let crossed = check(&["--min-delay", "21"]);
    assert_eq!(code(&crossed), 2);
    assert!(complaint(&crossed).contains("min_delay (21 ms) is longer than delay"));
    service.folder.write("taim.toml", "queue = 1\nqeue = 2\n");
    let bad = check(&[]);
    assert_eq!(code(&bad), 2);
    assert!(
        complaint(&bad).contains("taim.toml:2:1: got the unknown key \"qeue\"; allowed: queue")
    );
    let missing = redpoll(&["taim", "--check-config", "--config", "/nowhere/taim.toml"]);
    assert_eq!(code(&missing), 2);
    assert!(complaint(&missing).contains("cannot read /nowhere/taim.toml"));
    // The rules are for the queue and the interface of the file.
    service
        .folder
        .write("taim.toml", "queue = 9\ninterface = \"lo\"\n");
    let rules = redpoll(&["taim", "install", "--print", "--config", &config]);
    let text = stdout(&rules);
    assert!(
        text.contains("-i lo -p tcp") && text.contains("--queue-num 9 "),
        "{text}"
    );
    let (code, _) = service.daemon.end(Signal::SIGTERM);
    assert_eq!(code, Some(0));
}

pub fn logs() {
    let network = Network::new(44, [1, 1]);
    rules("44");
    let text = "queue = 44\ninterface = \"rpw44\"\npackets = 2\nalways = true\ndelay = \"1 min\"\nmax_wait = \"0 s\"\n";
    let service = Service::start(44, text, &[]);
    service.hears("warning: the interface does not exist; waiting for it interface=rpw44");
    let tun = Tun::create(&TunConfig {
        name: "rpw44".to_owned(),
        ..crate::common::config(44)
    });
    service.hears("redpoll: the interface appeared interface=rpw44");
    drop(tun);
    service.hears("warning: the interface vanished interface=rpw44");
    let bytes: u64 = network.upload(Duration::from_secs(2), 1).iter().sum();
    assert!(bytes > 0);
    service.hears(
        "warning: the limit of held packets was reached: packets were forwarded before their turn; \
         --packets sets this limit packets=",
    );
    // The log level `warn` leaves out less severe events.
    service.reload(&format!("{text}log_level = \"warn\"\n"));
    until("it is not quiet", || {
        let before = service.log().len();
        service.daemon.signal(Signal::SIGHUP);
        std::thread::sleep(Duration::from_millis(300));
        service.log().len() == before
    });
    let (code, _) = service.daemon.end(Signal::SIGTERM);
    assert_eq!(code, Some(0));

    the_journal_gets_entries_with_fields();
}

/// The journal reads the severity of the message with which the program ends.
pub fn a_fatal_error_has_its_severity() {
    let folder = Folder::new("taim-fatal");
    let log = File::create(folder.file("log")).unwrap();
    let place = log.metadata().unwrap();
    let stream = format!("{}:{}", place.st_dev(), place.st_ino());
    let mut program = Daemon::plain(&["--check-config", "--config", "/nowhere/taim.toml"]);
    let status = program.env("JOURNAL_STREAM", stream).stderr(log).status();
    assert_eq!(status.unwrap().code(), Some(2));
    let text = std::fs::read_to_string(folder.file("log")).unwrap();
    assert!(
        text.starts_with("<3>cannot read /nowhere/taim.toml: "),
        "{text}"
    );
}

/// Starts a program whose standard error is read by a journal, according to its environment. The
/// test is the journal: the program sees the test's socket at the place of the journal's socket.
fn the_journal_gets_entries_with_fields() {
    let folder = Folder::new("taim-journal");
    let journal = UnixDatagram::bind(folder.file("socket")).unwrap();
    let wait = Some(Duration::from_secs(60));
    journal.set_read_timeout(wait).unwrap();
    for has_socket in [true, false] {
        let log = File::create(folder.file("log")).unwrap();
        let place = log.metadata().unwrap();
        let program = Daemon::plain(&["--queue", "45", "--interface", "rpw45"]);
        let hidden = if has_socket { "socket" } else { "none" };
        let script = "mount --bind \"$0\" /mnt && mount -t tmpfs none /run && \
                      mkdir -p /run/systemd/journal && \
                      { [ ! -e \"/mnt/$1\" ] || { : >/run/systemd/journal/socket && \
                      mount --bind \"/mnt/$1\" /run/systemd/journal/socket; }; } && \
                      shift && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, &folder.file("."), hidden]);
        command.arg(program.get_program()).args(program.get_args());
        let stream = format!("{}:{}", place.st_dev(), place.st_ino());
        command.env("JOURNAL_STREAM", stream).stderr(log);
        let daemon = Daemon::of(command.spawn().unwrap(), String::new());
        if has_socket {
            let hear = || {
                let mut entry = [0; 2_000];
                let len = journal.recv(&mut entry).expect("an entry of the journal");
                String::from_utf8_lossy(&entry[..len]).into_owned()
            };
            let started = hear();
            assert!(started.contains("PRIORITY=6\n"), "{started}");
            assert!(started.contains("\nMESSAGE=reading queue 45"), "{started}");
            let mut warned = hear();
            // A warning about the program's user may precede the one about the interface.
            while !warned.contains("the interface does not exist") {
                warned = hear();
            }
            assert!(warned.starts_with("PRIORITY=4\n"), "{warned}");
            assert!(warned.contains("SYSLOG_IDENTIFIER=redpoll"), "{warned}");
            assert!(warned.ends_with("\nREDPOLL_INTERFACE=rpw45\n"), "{warned}");
        } else {
            // Without a socket the journal reads lines, whose first characters are the severity.
            until("no lines for the journal", || {
                let text = std::fs::read_to_string(folder.file("log")).unwrap();
                text.contains("<6>reading queue 45")
                    && text.contains("<4>the interface does not exist")
            });
        }
        drop(daemon);
    }
}
