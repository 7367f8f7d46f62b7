//! The rights of a running `redpoll up` in /proc; with them its files and live view still work.

#[path = "up/program.rs"]
mod program;
#[path = "support/rights.rs"]
mod rights;
#[path = "up/stick.rs"]
mod stick;
#[path = "support/mod.rs"]
mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use program::Program;
use redpoll_linux::radio::counter::CounterFile;
use redpoll_testkit::{has_terminals, skipped};
use rights::{GROUP, NOTHING, USER, USER_OPTION, check, check_sandbox, settled, started};
use stick::Stick;
use support::Folder;

const OFFICE: [&str; 6] = [
    "up",
    "office",
    "--join",
    "forward",
    "--forward",
    "0:leaf-12:80",
];

/// Starts the program. Returns the port that is forwarded to the leaf.
fn up(more: &[&str]) -> (Program, u16) {
    let mut mesh = Program::start(&[&OFFICE[..], more].concat());
    mesh.wait_until_up();
    let line = mesh.line();
    let port = line.split("127.0.0.1:").nth(1).expect("a port");
    let port = port.split(' ').next().unwrap().parse().expect("a number");
    (mesh, port)
}

fn is_root(test: &str) -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        skipped(&format!("test {test}: it needs root"));
    }
    is_root
}

/// Copies the program to where every user can start it: the build may be in a folder that only root
/// can enter.
fn program_for_all(folder: &Folder) -> String {
    let copy = folder.file("redpoll");
    std::fs::copy(support::PROGRAM, &copy).expect("a copy of the program");
    copy
}

fn folder_of_user(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::os::unix::fs::chown(&folder.0, Some(USER), Some(GROUP))
        .expect("root may change the owner");
    folder
}

fn get(port: u16, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the program listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    program::body(&answer)
}

#[test]
fn files_are_complete_in_a_folder_of_another_user() {
    if !is_root("files_are_complete_in_a_folder_of_another_user") {
        return;
    }
    let folder = folder_of_user("up-series");
    for name in ["series.csv", "series.parquet"] {
        let (series, json) = (folder.file(name), folder.file("report.json"));
        let (mesh, _) = up(&["--series", &series, "--json", &json]);
        mesh.end(Signal::SIGINT, Some(0));
        let bytes = std::fs::read(&series).unwrap();
        let whole = match name {
            "series.csv" => bytes.starts_with(b"t"),
            _ => bytes.ends_with(b"PAR1"),
        };
        assert!(whole, "{series}");
        assert!(std::fs::read(&json).unwrap().ends_with(b"}\n"));
    }
    let left: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn dropped_capabilities_cannot_be_regained() {
    let (mesh, _) = up(&["--web", "127.0.0.1:0"]);
    let threads = settled(mesh.pid(), 2);
    for thread in &threads {
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert_eq!(thread.line(set), NOTHING, "{set}");
        }
        assert_eq!(thread.line("NoNewPrivs"), "1");
    }
    if is_root("dropped_capabilities_cannot_be_regained (the bounding set)") {
        check(&threads, NOTHING, false);
    }
    mesh.end(Signal::SIGINT, Some(0));
}

/// Each thread runs as the user without any capability. The leaf and the live view answer, and all
/// files are complete and belong to that user.
#[test]
fn as_another_user_the_mesh_serves_and_writes_files() {
    if !is_root("as_another_user_the_mesh_serves_and_writes_files") {
        return;
    }
    let folder = folder_of_user("up-user");
    let [series, json, pcap, hosts] =
        ["series.parquet", "report.json", "frames.pcapng", "hosts"].map(|name| folder.file(name));
    let (mut mesh, port) = up(&[
        "--user",
        USER_OPTION,
        "--web",
        "127.0.0.1:0",
        "--series",
        &series,
        "--series-interval",
        "100 ms",
        "--json",
        &json,
        "--pcap",
        &pcap,
        "--hosts",
        &hosts,
    ]);
    let line = mesh.line();
    let page = line.split("127.0.0.1:").nth(1).expect("a port");
    let page: u16 = page.split('/').next().unwrap().parse().unwrap();
    check(&settled(mesh.pid(), 2), NOTHING, true);
    assert!(!get(port, "/").is_empty(), "the leaf");
    assert!(get(page, "/").starts_with(b"<!"), "the live view");
    check(&settled(mesh.pid(), 2), NOTHING, true);
    mesh.end(Signal::SIGINT, Some(0));
    assert!(std::fs::read(&series).unwrap().ends_with(b"PAR1"));
    assert!(std::fs::read(&json).unwrap().ends_with(b"}\n"));
    assert!(std::fs::metadata(&pcap).unwrap().len() > 1_000);
    for path in [series, json, pcap, hosts] {
        let owner = std::fs::metadata(&path).unwrap();
        assert_eq!((owner.uid(), owner.gid()), (USER, GROUP), "{path}");
    }
}

#[test]
fn a_folder_that_the_user_cannot_write_is_refused_at_the_start() {
    if !is_root("a_folder_that_the_user_cannot_write_is_refused_at_the_start") {
        return;
    }
    let folder = Folder::new("up-root");
    let series = folder.file("series.csv");
    let args = [&OFFICE[..], &["--user", USER_OPTION, "--series", &series]].concat();
    let (code, line) = Program::start(&args).fails();
    assert_eq!((code, line.lines().count()), (1, 1), "{line}");
    assert!(
        line.contains(&series) && line.contains("--user 64321"),
        "{line}"
    );
    assert!(!std::fs::exists(&series).unwrap());
}

#[test]
fn unknown_or_forbidden_users_are_refused() {
    if is_root("unknown_or_forbidden_users_are_refused (an unknown user)") {
        for user in ["no-such-user", "64321", "", "64321:", "nobody:nogroup"] {
            for command in [&OFFICE[..], &["taim", "--queue", "77"]] {
                let program = Program::start(&[command, &["--user", user]].concat());
                let (code, line) = program.fails();
                assert_eq!((code, line.lines().count()), (2, 1), "{user}: {line}");
                assert!(line.contains("there is no user"), "{line}");
            }
        }
    }
    let folder = Folder::new("forbidden-user");
    let mut command = Command::new(program_for_all(&folder));
    command.args(OFFICE).args(["--user", "nobody"]);
    if nix::unistd::geteuid().is_root() {
        command.uid(USER).gid(GROUP);
    }
    let (code, line) = Program::spawn(&mut command).fails();
    assert_eq!((code, line.lines().count()), (2, 1), "{line}");
    assert!(line.contains("only root can become another user"), "{line}");
}

#[test]
fn running_as_root_is_reported() {
    if !is_root("running_as_root_is_reported") {
        return;
    }
    for (more, is_told) in [
        (&[][..], true),
        (&["--user", "root"], false),
        (&["--user", USER_OPTION], false),
    ] {
        let (mesh, _) = up(more);
        settled(mesh.pid(), 1);
        let said = mesh.ends_with(Signal::SIGINT);
        assert_eq!(said.contains("--user NAME"), is_told, "{more:?}: {said}");
    }
}

/// Runs a border router on a radio over UDP until it has stored a frame counter; returns the
/// counter.
fn counted(state: &str, as_user: bool) -> u32 {
    let listen = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let radio = format!("zep://{}", listen.local_addr().unwrap());
    let folder = Folder::new("counted");
    let mut command = Command::new(program_for_all(&folder));
    command.args(OFFICE).args(["--radio", &radio]);
    command.args(["--set", "routing=rpl", "--state", state]);
    command.args(["--set", "security.level=enc-mic-32"]);
    command.args(["--set", "security.key=000102030405060708090a0b0c0d0e0f"]);
    if as_user {
        command.uid(USER).gid(GROUP)
    } else {
        command.args(["--user", USER_OPTION])
    };
    let mesh = Program::spawn(&mut command);
    if !as_user {
        check(&settled(mesh.pid(), 1), NOTHING, true);
    }
    // Wait until the mesh has sent its first frame.
    listen
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    listen.recv(&mut [0; 2_048]).expect("frames are sent");
    mesh.end(Signal::SIGINT, Some(0));
    CounterFile::open(state.as_ref()).unwrap().1
}

/// The state file belongs to the user, so the next start can use it, as root with the same `--user`
/// or as that user.
#[test]
fn a_frame_counter_continues_for_the_same_user() {
    if !is_root("a_frame_counter_continues_for_the_same_user") {
        return;
    }
    let folder = folder_of_user("up-state");
    let state = folder.file("counter");
    let mut last = 0;
    for as_user in [false, false, true, false] {
        let counter = counted(&state, as_user);
        assert!(counter > last, "{last} -> {counter}");
        last = counter;
        let owner = std::fs::metadata(&state).unwrap();
        assert_eq!((owner.uid(), owner.gid()), (USER, GROUP));
    }
}

/// Checks with ptrace(2) that each thread of the real program is denied files, connections, signals
/// and system calls, and that it continues to write and serve.
#[test]
fn the_sandbox_denies_unneeded_calls() {
    if !is_root("the_sandbox_denies_unneeded_calls") {
        return;
    }
    let folder = folder_of_user("up-sandbox");
    let readable = folder.write("readable", "anybody may read this");
    let series = folder.file("series.csv");
    for (user, is_sandboxed) in [
        (USER_OPTION, true),
        ("root", true),
        (USER_OPTION, false),
        ("root", false),
    ] {
        let mut args = vec!["--user", user, "--web", "127.0.0.1:0", "--series", &series];
        args.extend((!is_sandboxed).then_some("--no-sandbox"));
        let (mut mesh, port) = up(&args);
        let line = mesh.line();
        let page = line.split("127.0.0.1:").nth(1).expect("a port");
        let page: u16 = page.split('/').next().unwrap().parse().unwrap();
        let threads = if is_sandboxed {
            settled(mesh.pid(), 2)
        } else {
            started(mesh.pid(), 2)
        };
        check_sandbox(&threads, &readable, is_sandboxed);
        let before = std::fs::metadata(&series).unwrap().len();
        assert!(!get(port, "/").is_empty(), "the leaf");
        assert!(get(page, "/").starts_with(b"<!"), "the live view");
        mesh.end(Signal::SIGINT, Some(0));
        let after = std::fs::metadata(&series).unwrap().len();
        assert!(after > before, "{before} -> {after}");
        std::fs::remove_file(&series).unwrap();
    }
}

/// A program next to the mesh runs as the user, can gain no right, and leaves no process behind,
/// although redpoll has no capability to end processes of other users.
#[test]
fn a_program_beside_the_mesh_runs_as_the_user() {
    if !is_root("a_program_beside_the_mesh_runs_as_the_user") {
        return;
    }
    let script = "grep -E '^(Uid|Gid|Groups|CapPrm|NoNewPrivs):' /proc/self/status; \
                  echo HOME=$HOME; \
                  setsid sh -c 'trap \"\" TERM HUP; sleep 600' & \
                  echo left=$!; exit 7";
    let args = ["--user", USER_OPTION, "--", "sh", "-c", script];
    let (code, text) = Program::start(&[&OFFICE[..], &args].concat()).finishes();
    assert_eq!(code, 7, "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    for expected in [
        format!("Uid: {USER} {USER} {USER} {USER} Gid: {GROUP} {GROUP} {GROUP} {GROUP}"),
        format!("Groups: {GROUP} CapPrm: {NOTHING} NoNewPrivs: 1 HOME=/"),
    ] {
        assert!(words.contains(&expected), "{words}");
    }
    let left = words.split("left=").nth(1).unwrap();
    let left = left.split(' ').next().unwrap();
    assert!(!std::fs::exists(format!("/proc/{left}")).unwrap(), "{text}");
}

/// Starts a border router on a radio, and waits until the radio is set up.
fn up_on(radio: &str) -> Program {
    let more = [
        "--user",
        USER_OPTION,
        "--radio",
        radio,
        "--set",
        "routing=rpl",
    ];
    let mut mesh = Program::start(&[&OFFICE[..], &more].concat());
    mesh.wait_until_up();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !mesh.line().contains("The radio is FAKE/1.0") {
        assert!(Instant::now() < deadline, "the radio is not set up");
    }
    check(&settled(mesh.pid(), 1), NOTHING, true);
    mesh
}

/// The sandbox lets the program open its serial radio again after replugging, as a new device.
#[test]
fn a_replugged_radio_works_in_the_sandbox() {
    let test = "a_replugged_radio_works_in_the_sandbox";
    if !is_root(test) || !has_terminals(test) {
        return;
    }
    let folder = folder_of_user("up-stick");
    let link = folder.0.join("stick");
    let stick = Stick::plug_in(&link, USER);
    let mesh = up_on(&format!("spinel+hdlc+uart://{}", link.display()));
    let patience = Duration::from_secs(20);
    stick
        .asked
        .recv_timeout(patience)
        .expect("the program sets the radio up");
    stick.unplug();
    std::thread::sleep(Duration::from_millis(300));
    let stick = Stick::plug_in(&link, USER);
    let again = stick.asked.recv_timeout(patience);
    again.expect("the program sets the radio up again");
    check(&settled(mesh.pid(), 1), NOTHING, true);
    let said = mesh.ends_with(Signal::SIGINT);
    assert!(!said.contains("cannot open"), "{said}");
    // The user may not open a device of root, so the program prints a warning at the start.
    let _stick = Stick::plug_in(&link, 0);
    let mesh = up_on(&format!("spinel+hdlc+uart://{}", link.display()));
    let said = mesh.ends_with(Signal::SIGINT);
    assert!(said.contains("cannot open"), "{said}");
}

/// Environment variable that makes this test program act as a radio program.
const IS_RADIO: &str = "REDPOLL_TEST_IS_RADIO";

#[test]
fn radio_of_a_test() {
    if std::env::var_os(IS_RADIO).is_some() {
        let line = std::fs::File::from(nix::unistd::dup(std::io::stdin()).unwrap());
        let (_ends, end) = std::sync::mpsc::channel();
        let (sender, _asked) = std::sync::mpsc::channel();
        stick::serve(line, &end, &sender);
    }
}

fn children(pid: u32) -> Vec<String> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace().map(str::to_owned).collect()
}

/// A radio program runs as the user from the beginning, and is started again in the sandbox.
#[test]
fn a_radio_program_runs_as_the_user_and_is_restarted() {
    let test = "a_radio_program_runs_as_the_user_and_is_restarted";
    if !is_root(test) || !has_terminals(test) {
        return;
    }
    // The user may execute the program in this folder.
    let folder = folder_of_user("up-forkpty");
    let program = folder.file("radio");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let radio = format!("spinel+hdlc+forkpty://{program}?--exact&radio_of_a_test&--nocapture");
    let more = [
        "--user",
        USER_OPTION,
        "--radio",
        &radio,
        "--set",
        "routing=rpl",
    ];
    let args = [&OFFICE[..], &more].concat();
    let mut mesh = Program::start_with(&args, &[(IS_RADIO, "1")]);
    mesh.wait_until_up();
    check(&settled(mesh.pid(), 1), NOTHING, true);
    let is_users = |child: &str| {
        let status = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("Uid:"))
            .unwrap();
        line.split_whitespace()
            .skip(1)
            .all(|id| id == USER.to_string())
    };
    let [first] = &children(mesh.pid())[..] else {
        panic!("{:?}", children(mesh.pid()));
    };
    assert!(is_users(first));
    let pid = nix::unistd::Pid::from_raw(first.parse().unwrap());
    nix::sys::signal::kill(pid, Signal::SIGKILL).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let second = loop {
        match &children(mesh.pid())[..] {
            [child] if child != first => break child.clone(),
            _ => assert!(Instant::now() < deadline, "it is not started again"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_users(&second));
    // The radio program inherits the seccomp filter.
    let status = std::fs::read_to_string(format!("/proc/{second}/status")).unwrap();
    assert!(status.contains("Seccomp:\t2"), "{status}");
    mesh.end(Signal::SIGINT, Some(0));
    assert!(!std::fs::exists(format!("/proc/{second}")).unwrap());
}
