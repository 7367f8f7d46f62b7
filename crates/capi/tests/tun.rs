//! The C programs with a TUN interface, against the kernel's TCP, each in its own network
//! namespace. Without the right to make a namespace, or without the tools, the tests are skipped
//! and their names printed.

use std::process::Command;

use crate::c::sanitized;
use crate::c::{built, compiler, has_valgrind, here, library, runs, skipped, text, valgrind};

/// Returns a shell in a namespace: as root directly, otherwise as root of a user namespace.
/// Returns the reason if neither is possible.
fn shell() -> Result<Command, String> {
    let mut version = compiler();
    version.arg("--version");
    if !runs(version) {
        let name = compiler().get_program().to_string_lossy().into_owned();
        return Err(format!("there is no C compiler ({name})"));
    }
    for (program, option, package) in [
        ("unshare", "--version", "util-linux"),
        ("bash", "--version", "bash"),
        ("ip", "-V", "iproute2"),
    ] {
        let mut tool = Command::new(program);
        tool.arg(option);
        if !runs(tool) {
            return Err(format!("there is no {program} (the package {package})"));
        }
    }
    let in_namespace = |how: &str, command: &str| {
        let mut works = Command::new("unshare");
        works.args([how, "bash", "-c", command]);
        runs(works)
    };
    let Some(how) = ["-n", "-rn"]
        .into_iter()
        .find(|how| in_namespace(how, "true"))
    else {
        return Err("this user may make no network namespace".to_owned());
    };
    if !in_namespace(how, "ip tuntap add dev rp0 mode tun") {
        return Err("no TUN interface can be made in a namespace (/dev/net/tun)".to_owned());
    }
    let mut shell = Command::new("unshare");
    shell.args([how, "timeout", "60", "bash"]);
    Ok(shell)
}

#[test]
fn the_kernel_gets_an_echo_from_c() {
    let mut shell = match shell() {
        Ok(shell) => shell,
        Err(reason) => return skipped(&format!("of a node in C over TUN: {reason}")),
    };
    let program = built(&library(), "examples/tun_echo.c", &[]);
    let output = shell.arg(here("tests/tun.sh")).arg(program).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn the_kernel_and_a_node_without_a_radio_fetch_from_one_another() {
    if let Err(reason) = shell() {
        return skipped(&format!("of TCP in C over TUN: {reason}"));
    }
    let library = library();
    let peer = built(&library, "tests/kernel.c", &[]);
    let run = |options: &[&str], under: &[&str]| {
        let program = built(&library, "examples/ip_tun.c", options);
        let mut shell = shell().expect("the first shell was found");
        shell.arg(here("tests/ip.sh")).arg(&peer);
        let output = shell.args(under).arg(program).output().unwrap();
        assert!(output.status.success(), "{under:?}: {}", text(&output));
    };
    run(sanitized(), &[]);
    if has_valgrind() {
        run(&[], &valgrind());
    } else {
        skipped("of TCP in C over TUN under Valgrind: there is none");
    }
}
