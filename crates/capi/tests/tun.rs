//! The nodes in C that are behind a TUN interface, against the kernel's TCP, in network
//! namespaces of their own. Left out by name without the right to make one, or the tools.

use std::process::Command;

use crate::c::sanitized;
use crate::c::{VALGRIND, built, compiler, has_valgrind, here, library, runs, skipped, text};

/// A shell in a namespace: as root as it is, else as root of a user namespace.
fn shell() -> Option<Command> {
    ["-n", "-rn"].into_iter().find_map(|how| {
        let shell = || {
            let mut shell = Command::new("unshare");
            shell.args([how, "timeout", "60", "bash"]);
            shell
        };
        let mut works = shell();
        works.args(["-c", "test -c /dev/net/tun && ip link show lo"]);
        runs(works).then(shell)
    })
}

#[test]
fn the_kernel_gets_an_echo_from_c() {
    let mut version = compiler();
    version.arg("--version");
    let Some(mut shell) = shell().filter(|_| runs(version)) else {
        skipped("of a node in C over TUN: no compiler, no ip, or no right to a namespace");
        return;
    };
    let program = built(&library(), "examples/tun_echo.c", &[]);
    let output = shell.arg(here("tests/tun.sh")).arg(program).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn the_kernel_and_a_node_without_a_radio_fetch_from_one_another() {
    let mut version = compiler();
    version.arg("--version");
    let Some(shell) = shell().filter(|_| runs(version)).map(|_| shell) else {
        skipped("of TCP in C over TUN: no compiler, no ip, or no right to a namespace");
        return;
    };
    let library = library();
    let peer = built(&library, "tests/kernel.c", &[]);
    let run = |options: &[&str], under: &[&str]| {
        let program = built(&library, "examples/ip_tun.c", options);
        let mut shell = shell().expect("there was one");
        shell.arg(here("tests/ip.sh")).arg(&peer);
        let output = shell.args(under).arg(program).output().unwrap();
        assert!(output.status.success(), "{under:?}: {}", text(&output));
    };
    run(sanitized(), &[]);
    if has_valgrind() {
        run(&[], &VALGRIND);
    } else {
        skipped("of TCP in C over TUN under Valgrind: there is none");
    }
}
