//! Modules that the tests compile, and scenarios that use them.
#![allow(dead_code, reason = "each test uses some of these functions")]

use std::path::{Path, PathBuf};
use std::process::Command;

use redpoll_sim::{BuildError, Scenario, World, WorldOptions};

use redpoll_modules::Modules;

/// Compiles the tests' own node with these options. Rust's linker needs a C compiler anyway.
pub fn compile(name: &str, options: &[&str]) -> PathBuf {
    compile_file("tests/support/node.c", name, options)
}

/// Compiles the example with these options.
pub fn compile_guest(name: &str, options: &[&str]) -> PathBuf {
    let header = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include");
    let options: Vec<_> = [header].iter().chain(options).copied().collect();
    compile_file("examples/beacon.c", &format!("guest-{name}"), &options)
}

fn compile_file(source: &str, name: &str, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.so"));
    // Tests run in parallel: replace the file only when it is complete.
    let fresh = to.with_extension(std::process::id().to_string());
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]);
    command.args(options).arg("-o").arg(&fresh).arg(source);
    let status = command.status().expect("a C compiler");
    assert!(status.success(), "{compiler} failed");
    std::fs::rename(&fresh, &to).expect("a folder for temporary files");
    to
}

/// Returns a scenario with a line of modules, in which each node hears only its neighbours.
pub fn line(modules: &[&Path]) -> String {
    let mut text =
        "[mac]\naddresses = \"extended\"\npan_id = 0xabcd\n[border]\nprefix = \"fd00::/64\"\n\
         [medium]\ntransmission_range = \"50 m\"\n[topology]\nkind = \"line\"\nspacing = \"40 m\"\n"
            .to_owned();
    text += &format!("nodes = {}\n", modules.len());
    for (index, module) in modules.iter().enumerate() {
        let number = index + 1;
        let module = module.display();
        text += &format!("[nodes.node-{number}]\nkind = \"module\"\nmodule = \"{module}\"\n");
    }
    text
}

pub fn world(text: &str, set: &[(&str, &str)], seed: u64) -> Result<World, BuildError> {
    let set: Vec<_> = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::parse("test.toml", text, &set).unwrap_or_else(|it| panic!("{it}"));
    let modules = Modules::new(|line| panic!("{line}"));
    let options = WorldOptions {
        seed: Some(seed),
        loader: Some(&|node| modules.load(node)),
        ..WorldOptions::default()
    };
    World::with(scenario.clone(), options)
}
