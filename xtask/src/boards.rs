//! Checks that the examples for boards build with the present crates. The examples are not linked,
//! so neither a C library nor a board is necessary. The template for users is copied first, as a
//! user does, and its first program is also tested on this computer.

use std::path::{Path, PathBuf};

use crate::report::Failure;
use crate::source;
use crate::workspace::{self, Workspace};

/// The example for an nRF52840, which is a separate workspace.
const EXAMPLE: &str = "examples/nrf52840";
/// Images of the example, each with its features and its target.
const IMAGES: [(&str, &str, &str); 2] = [
    ("leaf", "", "thumbv7em-none-eabihf"),
    ("thread", "thread", "thumbv7em-none-eabi"),
];
/// Folder of the example's builds: next to those of the workspace, but separate.
const TARGET: &str = "target/nrf52840";

/// The project that users copy, a separate workspace.
const TEMPLATE: &str = "examples/template";
/// Boards of the template, and their targets.
const BOARDS: [(&str, &str); 2] = [
    ("nrf52840", "thumbv7em-none-eabihf"),
    ("rp2040", "thumbv6m-none-eabi"),
];
/// Maximum number of lines of the template's program.
const LINES: usize = 40;

/// Checks the first image and the first board, and tests the template on this computer. The other
/// image and the other board have their own dependencies, which take half of the time.
pub fn short(workspace: &Workspace) -> Result<Option<String>, Failure> {
    run(workspace, &IMAGES[..1], &BOARDS[..1])
}

/// Runs the check of all images and boards as a separate command, `make boards`.
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    if let Some(left_out) = run(workspace, &IMAGES, &BOARDS)? {
        println!("boards: skipped, because the target is missing: {left_out}");
    }
    Ok(())
}

/// Checks images and boards; returns the skipped ones, for whose target the library is missing.
fn run(
    workspace: &Workspace,
    images: &[(&str, &str, &str)],
    boards: &[(&str, &str)],
) -> Result<Option<String>, Failure> {
    let mut rustc = std::process::Command::new("rustc");
    let sysroot = workspace::output(rustc.args(["--print", "sysroot"]))?;
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
    let has = |target: &str| libraries.join(target).join("lib").is_dir();
    let mut left_out = Vec::new();
    for (image, features, target) in images {
        if !has(target) {
            left_out.push(format!("{image} (rustup target add {target})"));
            continue;
        }
        let mut cargo = workspace.cargo();
        cargo.current_dir(workspace.root.join(EXAMPLE));
        cargo.args(["check", "--quiet", "--release", "--locked", "--bin", image]);
        cargo.args(["--features", features, "--target", target]);
        cargo.arg("--target-dir").arg(workspace.root.join(TARGET));
        // Flags for the host in this variable would replace the example's own.
        cargo.env_remove("RUSTFLAGS");
        workspace::run(&mut cargo)?;
        println!("boards: {EXAMPLE} {image} builds for {target}");
    }
    let copy = Copied::new(workspace)?;
    for (board, target) in boards {
        if !has(target) {
            left_out.push(format!("{board} (rustup target add {target})"));
            continue;
        }
        let mut cargo = copy.cargo(workspace);
        cargo.args(["check", "--release", "--target", target]);
        cargo.arg("--target-dir").arg(workspace.root.join(TARGET));
        // The example's profile has this setting, too. With equal settings, common dependencies are
        // checked only once. On these targets a panic aborts in any case.
        cargo.env("CARGO_PROFILE_RELEASE_PANIC", "abort");
        cargo.env_remove("RUSTFLAGS");
        workspace::run(&mut cargo)?;
        println!("boards: a copy of {TEMPLATE} builds for {target}");
    }
    let mut cargo = copy.cargo(workspace);
    // No other build shares the crates of this repository that are built for these tests. The tests
    // are few and short, so their build omits the optimisation.
    for name in patched(&workspace.root.join(TEMPLATE))? {
        let setting = format!("profile.dev.package.redpoll-{name}.opt-level=0");
        cargo.args(["--config", &setting]);
    }
    // With the workspace's folder and its profile, common dependencies are built only once.
    cargo.arg("test");
    cargo.env("CARGO_PROFILE_DEV_LTO", "off");
    cargo.arg("--target-dir").arg(workspace.root.join("target"));
    workspace::run(&mut cargo)?;
    println!("boards: the tests of a copy of {TEMPLATE} pass on this computer");
    Ok((!left_out.is_empty()).then(|| left_out.join(", ")))
}

/// A copy of the template outside of the repository, deleted afterwards.
struct Copied {
    folder: PathBuf,
}

impl Copied {
    fn new(workspace: &Workspace) -> Result<Copied, Failure> {
        let template = workspace.root.join(TEMPLATE);
        let program = source::read(&template.join("src/main.rs"))?;
        let lines = program.lines().count();
        if lines > LINES {
            return Err(Failure::new(format!(
                "boards: {TEMPLATE}/src/main.rs has {lines} lines, the limit is {LINES}"
            )));
        }
        let name = format!("redpoll-template-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let copied = Copied { folder };
        copy(&template, &copied.folder)?;
        let patches = copied.folder.join("patches.toml");
        write(&patches, &patches_of(workspace, &template)?)?;
        Ok(copied)
    }

    fn cargo(&self, workspace: &Workspace) -> std::process::Command {
        let mut cargo = workspace.cargo();
        cargo.current_dir(&self.folder);
        cargo.args(["--config", "patches.toml", "--quiet", "--locked"]);
        cargo
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        // A folder that remains is harmless.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the folders of this repository's crates that the template patches.
fn patched(template: &Path) -> Result<Vec<String>, Failure> {
    let manifest = source::read(&template.join("Cargo.toml"))?;
    let (_, patched) = manifest
        .split_once("[patch.crates-io]")
        .ok_or_else(|| Failure::new(format!("boards: {TEMPLATE} has no [patch.crates-io]")))?;
    let names = patched.lines().filter_map(|line| {
        let (name, _) = line.split_once(" = { git")?;
        name.strip_prefix("redpoll-").map(str::to_owned)
    });
    Ok(names.collect())
}

/// Returns the lines that replace published crates, which the template uses, by local crates.
fn patches_of(workspace: &Workspace, template: &Path) -> Result<String, Failure> {
    let crates = workspace.root.join("crates");
    let names = patched(template)?;
    let lines = names.iter().map(|name| {
        let path = crates.join(name);
        format!("redpoll-{name} = {{ path = {path:?} }}\n")
    });
    Ok(format!("[patch.crates-io]\n{}", lines.collect::<String>()))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| failed(path, &error))
}

/// Copies a folder without its `target` folders.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(to).map_err(|error| failed(to, &error))?;
    let entries = std::fs::read_dir(from).map_err(|error| failed(from, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(from, &error))?;
        let (path, there) = (entry.path(), to.join(entry.file_name()));
        if !path.is_dir() {
            std::fs::copy(&path, &there).map_err(|error| failed(&path, &error))?;
        } else if entry.file_name() != "target" {
            copy(&path, &there)?;
        }
    }
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("boards: {}: {error}", path.display()))
}
