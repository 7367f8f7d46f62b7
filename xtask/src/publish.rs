//! The published crates: their packages are complete, they build with the oldest supported Rust,
//! and their interfaces are compatible with the last release. A check whose tool this machine lacks
//! is skipped, and reported as skipped.

use std::path::PathBuf;
use std::process::Command;

use crate::report::Failure;
use crate::source;
use crate::workspace::{self, Workspace};

const FILES: [&str; 5] = [
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "src/lib.rs",
];
/// Environment variable with the commit that is compared instead of a release.
const BASELINE: &str = "REDPOLL_BASELINE";

/// Checks the packages, the oldest supported Rust and the interfaces; returns the skipped checks.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let crates = published(workspace)?;
    pack(workspace, &crates)?;
    let left_out = [msrv(workspace, &crates)?, semver(workspace, &crates)?];
    let left_out: Vec<String> = left_out.into_iter().flatten().collect();
    Ok((!left_out.is_empty()).then(|| left_out.join("; ")))
}

/// Returns the package of each crate in the Makefile's list, which has the order of publishing.
pub fn published(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let makefile = source::read(&workspace.root.join("Makefile"))?;
    let names =
        names(&makefile).ok_or_else(|| Failure::new("publish: no PUBLISHED in Makefile"))?;
    Ok(names.map(|name| format!("redpoll-{name}")).collect())
}

fn names(makefile: &str) -> Option<impl Iterator<Item = &str>> {
    let line = makefile
        .lines()
        .find_map(|line| line.strip_prefix("PUBLISHED := "))?;
    Some(line.split_whitespace())
}

fn with_packages(mut cargo: Command, crates: &[String]) -> Command {
    for name in crates {
        cargo.args(["--package", name]);
    }
    cargo
}

/// Smallest and largest size of a README in bytes.
const README_LEN: std::ops::RangeInclusive<usize> = 1_000..=3_072;
/// The start of links from a README into the repository.
const REPOSITORY: &str = "https://github.com/redpoll/redpoll/blob/main/";

/// Finds faults in the README of a crate, which is also the first part of its documentation.
fn wrong_readme(workspace: &Workspace, name: &str) -> Result<Vec<String>, Failure> {
    let short = name.trim_start_matches("redpoll-");
    let folder = workspace.root.join("crates").join(short);
    let readme = source::read(&folder.join("README.md"))?;
    let manifest = source::read(&folder.join("Cargo.toml"))?;
    let library = source::read(&folder.join("src/lib.rs"))?;
    let mut findings = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            findings.push(format!("crates/{short}: {what}"));
        }
    };
    check(
        readme.starts_with(&format!("# {name}\n")),
        "README.md does not begin with the crate's name",
    );
    check(
        README_LEN.contains(&readme.len()),
        "README.md does not have 1 to 3 KB",
    );
    check(
        readme.contains("```rust\n"),
        "README.md has no example that is tested",
    );
    check(
        manifest.contains("\nreadme = \"README.md\"\n"),
        "Cargo.toml does not name the crate's own README.md",
    );
    check(
        library.contains("#![doc = include_str!(\"../README.md\")]"),
        "src/lib.rs does not include README.md",
    );
    check(
        library.contains("#![warn(missing_docs)]"),
        "src/lib.rs has no #![warn(missing_docs)]",
    );
    for feature in features(&manifest) {
        check(
            readme.contains(&format!("`{feature}`")),
            &format!("README.md does not name the feature {feature}"),
        );
    }
    for path in linked(&readme) {
        check(
            workspace.root.join(path).is_file(),
            &format!("README.md links {path}, which does not exist"),
        );
    }
    Ok(findings)
}

/// Returns the features that a manifest declares, without `default`.
fn features(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().skip_while(|line| *line != "[features]");
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split_once(" = [").map(|(name, _)| name));
    names.filter(|name| *name != "default" && !name.starts_with(['#', ' ']))
}

fn linked(readme: &str) -> impl Iterator<Item = &str> {
    let links = readme.split(REPOSITORY).skip(1);
    links.filter_map(|link| link.split([')', '#']).next())
}

/// Packs the crates without building the packages, which `make package` builds.
fn pack(workspace: &Workspace, crates: &[String]) -> Result<(), Failure> {
    let mut findings = Vec::new();
    for name in crates {
        findings.extend(wrong_readme(workspace, name)?);
        let mut cargo = workspace.cargo();
        cargo.args(["package", "--list", "--allow-dirty", "--package", name]);
        let list = workspace::output(&mut cargo)?;
        let lacks = FILES
            .iter()
            .filter(|file| !list.lines().any(|it| it == **file));
        findings.extend(lacks.map(|file| format!("{name}: its package does not contain {file}")));
    }
    Failure::unless_empty("publish:", findings)?;
    let mut cargo = workspace.cargo();
    cargo.args(["package", "--quiet", "--no-verify", "--allow-dirty"]);
    workspace::run(&mut with_packages(cargo, crates))?;
    println!("publish: {} crates are packed", crates.len());
    Ok(())
}

/// Checks the crates with the oldest supported Rust, if rustup has it.
fn msrv(workspace: &Workspace, crates: &[String]) -> Result<Option<String>, Failure> {
    let manifest = source::read(&workspace.root.join("Cargo.toml"))?;
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "));
    let version = version.map(|it| it.trim_matches('"').to_owned());
    let version = version.ok_or_else(|| Failure::new("publish: no rust-version in Cargo.toml"))?;
    let mut rustup = Command::new("rustup");
    if workspace::output(rustup.args(["run", &version, "rustc", "--version"])).is_err() {
        return Ok(Some(format!(
            "Rust {version} is missing (scripts/setup.sh publish)"
        )));
    }
    let mut cargo = Command::new("rustup");
    cargo.current_dir(&workspace.root);
    cargo.args([
        "run",
        &version,
        "cargo",
        "check",
        "--quiet",
        "--lib",
        "--all-features",
    ]);
    cargo.args(["--target-dir", "target/msrv"]);
    // Removes the variables by which another toolchain started this program.
    cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    workspace::run(&mut with_packages(cargo, crates))?;
    println!("publish: Rust {version} builds the crates");
    Ok(None)
}

/// Compares the crates with their last release, if there is one and cargo-semver-checks exists.
fn semver(workspace: &Workspace, crates: &[String]) -> Result<Option<String>, Failure> {
    let left_out = |why: &str| {
        Ok(Some(format!(
            "compatibility with the last release is not checked: {why}"
        )))
    };
    let mut git = Command::new("git");
    git.current_dir(&workspace.root);
    git.args(["describe", "--tags", "--abbrev=0"]);
    let baseline = std::env::var(BASELINE).ok();
    let Some(baseline) = baseline.or_else(|| workspace::output(&mut git).ok()) else {
        return left_out("there is no release yet");
    };
    let folder = workspace.root.join("target/tools/bin");
    let own = folder.join("cargo-semver-checks");
    let there = [own, PathBuf::from("cargo-semver-checks")];
    let program = there.into_iter().find(|program| {
        workspace::output(Command::new(program).args(["semver-checks", "--version"])).is_ok()
    });
    let Some(program) = program else {
        return left_out("cargo-semver-checks is missing (scripts/setup.sh semver)");
    };
    let mut checks = Command::new(program);
    checks.current_dir(&workspace.root);
    checks.args([
        "semver-checks",
        "check-release",
        "--baseline-rev",
        baseline.trim(),
    ]);
    workspace::run(&mut with_packages(checks, crates))?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_the_makefile_is_read() {
        let found: Vec<_> = names("A := b\nPUBLISHED := base wire\n").unwrap().collect();
        assert_eq!(found, ["base", "wire"]);
        assert!(names("A := b\n").is_none());
        let all = published(&Workspace::here()).unwrap();
        assert!(all.len() >= 13 && all.contains(&"redpoll-tcp".to_owned()));
    }

    #[test]
    fn features_and_links_of_a_crate_are_read() {
        let manifest =
            "[features]\ndefault = [\"a\"]\n# b = [\na = []\nc = [\"a\"]\n\n[lints]\nd = []\n";
        assert_eq!(features(manifest).collect::<Vec<_>>(), ["a", "c"]);
        let readme = format!("[x]({REPOSITORY}docs/size.md#flash), [y]({REPOSITORY}README.md)");
        let found: Vec<_> = linked(&readme).collect();
        assert_eq!(found, ["docs/size.md", "README.md"]);
    }

    #[test]
    fn published_crates_have_readmes_of_their_own() {
        let workspace = Workspace::here();
        let all = published(&workspace).unwrap();
        let found = all
            .iter()
            .flat_map(|it| wrong_readme(&workspace, it).unwrap());
        assert_eq!(found.collect::<Vec<_>>(), Vec::<String>::new());
    }
}
