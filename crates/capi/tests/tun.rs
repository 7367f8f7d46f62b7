//! The node in C that is behind a TUN interface, against the kernel's TCP, in a network
//! namespace of its own. Left out by name without the right to make one, or the tools.

use std::process::Command;

use crate::c::{built, compiler, here, library, runs, skipped, text};

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
