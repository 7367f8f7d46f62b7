//! The program's messages if a node of another stack cannot be used.
#![cfg(feature = "modules")]

mod support;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use support::{Folder, code, redpoll, stderr, stdout};

fn compile(folder: &Folder, options: &[&str]) -> PathBuf {
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../modules/tests/support/node.c"
    );
    let to = PathBuf::from(folder.file("node.so"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O1"]).args(options);
    let status = command.arg("-o").arg(&to).arg(source).status();
    assert!(status.is_ok_and(|status| status.success()));
    to
}

fn scenario(folder: &Folder, module: &str) -> String {
    let text = format!(
        "duration = \"5 s\"\n[mac]\naddresses = \"extended\"\n[modules]\npatience = \"500 ms\"\n\
         [topology]\nkind = \"line\"\nnodes = 2\nspacing = \"40 m\"\n\
         [nodes.node-1]\nkind = \"module\"\nmodule = \"{module}\"\n\
         [nodes.node-2]\nkind = \"module\"\nmodule = \"{module}\"\n"
    );
    let file = folder.file("mesh.toml");
    std::fs::write(&file, text).unwrap();
    file
}

/// Checks that a module's path is relative to the scenario, and that `--module-log` has its output.
#[test]
fn modules_run_and_print() {
    let folder = Folder::new("modules-run");
    compile(&folder, &[]);
    let file = scenario(&folder, "node.so");
    let log = folder.file("log.txt");
    let run = redpoll(&["run", &file, "--module-log", &log]);
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    assert!(stdout(&run).contains("every frame is accounted for"));
    let log = std::fs::read_to_string(log).unwrap();
    let heard = log.lines().filter(|line| line.ends_with("node-2 heard 1"));
    assert!(heard.count() >= 3, "{log}");
}

#[test]
fn a_module_that_cannot_be_loaded_is_one_line_and_exit_code_2() {
    let folder = Folder::new("modules-missing");
    std::fs::write(folder.file("text.so"), "no module").unwrap();
    for (module, expected) in [
        ("nowhere.so", "cannot be read"),
        ("text.so", "which is not a module ("),
    ] {
        let file = scenario(&folder, module);
        let run = redpoll(&["run", &file]);
        let told = stderr(&run);
        assert_eq!(code(&run), 2, "{told}");
        assert!(
            told.contains("mesh.toml: nodes.node-1.module: got "),
            "{told}"
        );
        assert!(
            told.contains(expected) && told.trim().lines().count() == 1,
            "{told}"
        );
    }
}

/// Checks that a module that hangs when it is loaded, or at a later tick, ends the program.
#[test]
fn a_module_that_hangs_is_one_line_and_exit_code_2() {
    for tick in ["0", "7"] {
        let folder = Folder::new("modules-hang");
        compile(&folder, &[&format!("-DHANGS={tick}")]);
        let file = scenario(&folder, "node.so");
        let began = Instant::now();
        let run = redpoll(&["run", &file]);
        let told = stderr(&run);
        assert_eq!(code(&run), 2, "{told}");
        assert!(told.contains("mesh.toml: nodes.node-"), "{told}");
        // The message states how long the module has run, which depends on the load of the machine.
        for part in [
            "the module hangs: it has run for",
            "at most 0.5 s (modules.patience)",
        ] {
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(told.trim().lines().count(), 1, "{told}");
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

/// Checks that firmware with `redpoll_module.h` runs, and that a node whose firmware fails is
/// reported after the run.
#[test]
fn firmware_that_fails_is_named_after_the_run() {
    let folder = Folder::new("firmware");
    let modules = concat!(env!("CARGO_MANIFEST_DIR"), "/../modules");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O1", "-I"]);
    command.arg(format!("{modules}/include")).arg("-o");
    command.arg(folder.file("node.so"));
    command.arg(format!("{modules}/examples/beacon.c"));
    assert!(command.status().is_ok_and(|status| status.success()));
    let node = "kind = \"module\"\ninterface = \"redpoll\"\nmodule = \"node.so\"\n";
    let text = format!(
        "duration = \"8 s\"\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"10 m\"\n\
         [nodes.node-1]\n{node}console = [\"7 s: sent\"]\n[nodes.node-2]\n{node}"
    );
    let file = folder.file("mesh.toml");
    for (console, expected) in [("", 0), ("console = [\"5 s: crash\"]\n", 2)] {
        std::fs::write(&file, format!("{text}{console}")).unwrap();
        let (log, json) = (folder.file("log.txt"), folder.file("result.json"));
        let run = redpoll(&["run", &file, "--module-log", &log, "--json", &json]);
        let told = stderr(&run);
        assert_eq!(code(&run), expected, "{told}");
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.contains("node-1 heard 2"), "{log}");
        assert!(log.contains("7.000000 node-1 sent 6"), "{log}");
        assert!(std::fs::read_to_string(json).unwrap().contains("\"nodes\""));
        let lines = told.lines().filter(|line| line.contains("firmware failed"));
        assert_eq!(lines.count(), usize::from(expected == 2), "{told}");
        assert!(
            expected == 0 || told.contains("mesh.toml: nodes.node-2: after 5.000 s"),
            "{told}"
        );
    }
}
