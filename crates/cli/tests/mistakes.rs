//! Mistakes of users and faults of the system. For each, the program prints one line with a remedy,
//! ends with exit code 2 or 1, and leaves nothing behind. Each row runs in a new network namespace.

#[path = "mistakes/disk.rs"]
mod disk;

use std::fs;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_redpoll");

/// A mistake or fault.
struct Row {
    name: &'static str,
    /// Shell commands before the program; `$R` is the program, `$D` a folder.
    before: &'static str,
    /// Arguments of the program.
    args: &'static str,
    code: i32,
    /// Words of the cause and of the remedy that the output must contain.
    words: [&'static str; 2],
    /// Whether the program may print several faults and its progress, instead of one line.
    is_chatty: bool,
}

const fn row(
    name: &'static str,
    before: &'static str,
    args: &'static str,
    code: i32,
    words: [&'static str; 2],
) -> Row {
    Row {
        name,
        before,
        args,
        code,
        words,
        is_chatty: false,
    }
}

const UNKNOWN: &str = "echo 'qeue = 1' >$D/bad.toml";
const KEY: [&str; 2] = ["bad.toml:1:1: got the unknown key \"qeue\"", "allowed: "];
/// A program that listens at the port 9633 of the loopback interface.
const LISTENER: &str = "ip link set lo up; : >$D/log; $R taim --queue 1 --metrics 127.0.0.1:9633 2>$D/log & \
    until grep -q 'Ctrl-C ends the program' $D/log; do sleep 0.1; done";
/// Makes `$R` run the program as a user without rights.
const AS_NOBODY: &str =
    "R=\"setpriv --reuid 65534 --clear-groups --bounding-set=-all --inh-caps=-all $R\"";
const RIGHTS: &str = "no permission ";

const ROWS: [Row; 20] = [
    row("key, taim", UNKNOWN, "taim --config $D/bad.toml", 2, KEY),
    row(
        "key, install",
        UNKNOWN,
        "taim install --config $D/bad.toml --interface lo",
        2,
        KEY,
    ),
    row(
        "key, check",
        UNKNOWN,
        "taim check --config $D/bad.toml --interface lo",
        2,
        KEY,
    ),
    row(
        "key, uninstall",
        UNKNOWN,
        "taim uninstall --config $D/bad.toml --interface lo",
        2,
        KEY,
    ),
    row("key, up", UNKNOWN, "up --config $D/bad.toml", 2, KEY),
    row(
        "value, up",
        "echo 'channel = 9' >$D/bad.toml",
        "up --config $D/bad.toml",
        2,
        ["bad.toml:1:11: channel", "11..=26"],
    ),
    row(
        "no settings",
        "",
        "taim --config $D/none.toml",
        2,
        [
            "cannot read ",
            "none.toml: No such file or directory (os error 2); correct --config, or leave it out",
        ],
    ),
    row(
        "port, metrics",
        LISTENER,
        "taim --queue 2 --metrics 127.0.0.1:9633",
        1,
        [
            "cannot listen at 127.0.0.1:9633",
            "choose another with --metrics",
        ],
    ),
    row(
        "port, page",
        LISTENER,
        "up office --web 127.0.0.1:9633 --join forward --forward 8081:leaf-12:80",
        1,
        [
            "cannot listen at 127.0.0.1:9633",
            "to use a free port: --web",
        ],
    ),
    row(
        "port, forward",
        LISTENER,
        "up office --join forward --forward 9633:leaf-12:80",
        1,
        ["9633", "--forward"],
    ),
    row(
        "queue",
        LISTENER,
        "taim --queue 1",
        1,
        [
            "queue 1 is used by another program",
            "choose another number",
        ],
    ),
    row(
        "interface, install",
        "",
        "taim install --interface nowhere0",
        2,
        ["nowhere0 does not exist (present: lo)", "--interface NAME"],
    ),
    row(
        "interface, name",
        "",
        "up office --name lo",
        2,
        [
            "interface lo already exists",
            "choose another name with --name",
        ],
    ),
    row(
        "interface, advertise",
        "",
        "up office --advertise nowhere0",
        2,
        ["there is no interface nowhere0", "`ip link`"],
    ),
    row(
        "disk, hosts",
        "",
        "up office --hosts /dev/full --join forward --forward 8081:leaf-12:80",
        1,
        [
            "cannot write /dev/full: No space left",
            "on another file system",
        ],
    ),
    row(
        "disk, capture",
        "",
        "up office --pcap /dev/full --join forward --forward 8081:leaf-12:80",
        1,
        [
            "cannot write /dev/full: No space left",
            "on another file system",
        ],
    ),
    row(
        "rights, taim",
        AS_NOBODY,
        "taim --queue 3",
        1,
        [RIGHTS, "needs root, or CAP_NET_ADMIN"],
    ),
    row(
        "rights, install",
        AS_NOBODY,
        "taim install --interface lo",
        2,
        [RIGHTS, "run the command as root"],
    ),
    row(
        "rights, interface",
        AS_NOBODY,
        "up office --join tun",
        1,
        [RIGHTS, "needs root or CAP_NET_ADMIN"],
    ),
    row(
        "rights, port",
        AS_NOBODY,
        "up office --join forward --forward 80:leaf-12:80",
        1,
        [
            "cannot listen on port 80",
            "choose another local port in --forward",
        ],
    ),
];

/// Defines a shell function that prints the interfaces, rules and queues of the namespace.
const STATE: &str = "state() { ip -o link | cut -d: -f2; for it in legacy nft; do ip6tables-$it-save 2>/dev/null \
    | grep '^-A'; done; cut -c1-6 /proc/self/net/netfilter/nfnetlink_queue; }";

fn check(row: &Row) {
    let name = row.name.replace([',', ' '], "-");
    let folder =
        std::env::temp_dir().join(format!("redpoll-mistake-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let script = format!(
        "D={}; R={PROGRAM}; {STATE}\n{}\nstate >$D/before\ntimeout 60 $R {} >$D/out 2>$D/errors\n\
         echo $? >$D/code\nstate >$D/after\n[ -z \"$!\" ] || kill $!\n",
        folder.display(),
        row.before,
        row.args
    );
    let status = Command::new("unshare")
        .args(["--net", "--mount", "sh", "-c", &script])
        .status();
    assert!(status.is_ok(), "{name}");
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    let errors = read("errors");
    assert_eq!(
        read("code").trim(),
        row.code.to_string(),
        "{name}: {errors}"
    );
    let is_fault = |line: &&str| !row.is_chatty || line.starts_with("redpoll: ");
    let faults: Vec<&str> = errors.lines().filter(is_fault).collect();
    assert!(!faults.is_empty(), "{name}: {errors}");
    assert!(faults.len() == 1 || row.is_chatty, "{name}: {errors}");
    for (line, words) in faults
        .iter()
        .flat_map(|line| row.words.map(|it| (line, it)))
    {
        assert!(line.contains(words), "{name}: `{words}`: {errors}");
    }
    assert_eq!(read("before"), read("after"), "{name}: something remains");
    fs::remove_dir_all(folder).unwrap();
}

/// Returns whether this user may create a network namespace with queues, and become another user.
fn is_possible() -> bool {
    let try_them = "setpriv --reuid 65534 --clear-groups true && test -r /proc/self/net/netfilter/nfnetlink_queue";
    let mut command = Command::new("unshare");
    let tried = command.args(["--net", "sh", "-c", try_them]);
    tried.status().is_ok_and(|status| status.success())
}

#[test]
fn a_mistake_or_fault_is_one_line_with_a_remedy_and_leaves_nothing() {
    if !is_possible() {
        redpoll_testkit::skipped("mistakes and faults: they need root, namespaces and NFQUEUE");
        return;
    }
    for row in &ROWS {
        check(row);
    }
}
