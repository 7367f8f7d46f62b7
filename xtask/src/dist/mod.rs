//! `cargo xtask dist`: the files of a release in `target/dist`, the same bytes from the same commit.
//!
//! - `programs`: stripped programs for each architecture, and their debug files;
//! - `packages`: packages for Debian, by cargo-deb;
//! - `python`: wheels and the source distribution, by maturin;
//! - `c`: the library for C, for microcontrollers and for Linux;
//! - `bill`: the components of each program, in CycloneDX.
//!
//! `traces` fails if one of the files contains a path of this computer.
//! `wheel` measures the installation of the wheel, `chroots` tests the packages in Debian's releases, `vm` uses them
//! under systemd in a virtual machine, and `short` checks one of them in CI.

mod bill;
mod c;
mod chroots;
mod packages;
mod programs;
mod python;
mod short;
mod traces;
mod vm;
mod wheel;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

pub use chroots::run as test;
pub use short::run as short;
pub use vm::run as vm;
pub use wheel::run as wheel;

/// An architecture of a release.
#[derive(Debug, PartialEq, Eq)]
struct Arch {
    name: &'static str,
    /// Rust's name of the architecture.
    target: &'static str,
    /// Debian's name of the architecture.
    debian: &'static str,
    /// Name of the emulator: `qemu-NAME-static`.
    qemu: &'static str,
    has_wheel: bool,
}

const ARCHS: [Arch; 3] = [
    Arch {
        name: "x86_64",
        target: "x86_64-unknown-linux-gnu",
        debian: "amd64",
        qemu: "x86_64",
        has_wheel: true,
    },
    Arch {
        name: "aarch64",
        target: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        qemu: "aarch64",
        has_wheel: true,
    },
    Arch {
        name: "armv7",
        target: "armv7-unknown-linux-gnueabihf",
        debian: "armhf",
        qemu: "arm",
        has_wheel: false,
    },
];

/// Folder of the sources in every file of a release, whichever folder they are built in.
const SOURCES: &str = "/usr/src/redpoll";

/// The oldest C library that the programs run with: Debian 11's.
const GLIBC: &str = "2.31";

/// A program of a release.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// Name of the program, which cargo's package and Debian's package also have.
    name: &'static str,
    /// Folder of the program's manifest.
    folder: &'static str,
    /// Largest size of the stripped program, if the project has a target.
    max_bytes: Option<u64>,
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "redpoll-taim",
        folder: "crates/taim",
        max_bytes: Some(3_000_000),
    },
    Program {
        name: "redpoll",
        folder: "crates/cli",
        max_bytes: None,
    },
];

/// A part of a release, with its name for `--only`.
type Part = (&'static str, fn(&Release<'_>) -> Outcome);

/// The parts of a release in their order. Later parts use the files of earlier ones.
const PARTS: [Part; 5] = [
    ("programs", programs::build),
    ("packages", packages::build),
    ("python", python::build),
    ("c", c::build),
    ("bill", bill::build),
];

/// Options of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    archs: Vec<String>,
    programs: Vec<String>,
    parts: Vec<String>,
    is_twice: bool,
}

impl Options {
    /// Reads the options. An error names the wrong ones.
    pub fn parse(args: &[&str]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut rest = args.iter();
        while let Some(option) = rest.next() {
            let wrong = || args.join(" ");
            let mut one_of = |known: &[&str]| {
                let value = rest.next().filter(|value| known.contains(value));
                value.map(|it| (*it).to_owned()).ok_or_else(wrong)
            };
            match *option {
                "--arch" => options.archs.push(one_of(&ARCHS.map(|it| it.name))?),
                "--program" => options.programs.push(one_of(&PROGRAMS.map(|it| it.name))?),
                "--only" => options.parts.push(one_of(&PARTS.map(|it| it.0))?),
                "--twice" => options.is_twice = true,
                _ => return Err(wrong()),
            }
        }
        Ok(options)
    }

    fn archs(&self) -> impl Iterator<Item = &'static Arch> {
        ARCHS.iter().filter(|it| has(&self.archs, it.name))
    }

    fn programs(&self) -> impl Iterator<Item = &'static Program> {
        PROGRAMS.iter().filter(|it| has(&self.programs, it.name))
    }
}

/// Returns whether `chosen` has `name`; an empty choice has all names.
fn has(chosen: &[String], name: &str) -> bool {
    chosen.is_empty() || chosen.iter().any(|it| it == name)
}

/// A release that is being built.
struct Release<'w> {
    workspace: &'w Workspace,
    options: &'w Options,
    /// Folder of the files to publish.
    out: PathBuf,
    /// Folder of the files that one part leaves for another.
    stage: PathBuf,
    /// Cargo's target folder.
    target: PathBuf,
    /// Version of the programs.
    version: String,
    /// Time of the commit, which all files in archives have, in seconds since 1970.
    epoch: String,
}

impl Release<'_> {
    /// Returns a command for this release: at the root, with the project's own tools before those
    /// of the system, with the time of the commit, and without the paths of this computer in the
    /// programs.
    fn command(&self, program: impl Into<OsString>) -> Command {
        let root = &self.workspace.root;
        let tools = ["target/tools/dist/bin", "target/tools/bin"].map(|it| root.join(it));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = tools.into_iter().chain(std::env::split_paths(&path));
        let mut command = Command::new(program.into());
        command.current_dir(root);
        if let Ok(paths) = std::env::join_paths(paths) {
            command.env("PATH", paths);
        }
        command
            .env("SOURCE_DATE_EPOCH", &self.epoch)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "0")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC");
        let renamed = self.renamed();
        let flags: Vec<String> = renamed
            .iter()
            .map(|(from, to)| format!("--remap-path-prefix={from}={to}"))
            .collect();
        let of_c: Vec<String> = renamed
            .iter()
            .map(|(from, to)| format!("-ffile-prefix-map={from}={to}"))
            .collect();
        command
            .env("RUSTFLAGS", flags.join(" "))
            .env("CFLAGS", of_c.join(" "))
            .env("CXXFLAGS", of_c.join(" "));
        command
    }

    /// Returns paths of this computer with their replacements. The last pair that fits applies.
    fn renamed(&self) -> Vec<(String, String)> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
        let registries = home.map(|home| home.join("registry/src"));
        let registries = registries.and_then(|folder| std::fs::read_dir(folder).ok());
        let registries = registries.into_iter().flatten().flatten();
        let mut renamed = vec![
            (shown(&self.workspace.root), SOURCES.to_owned()),
            (shown(&self.target), format!("{SOURCES}/target")),
        ];
        renamed.extend(registries.map(|it| (shown(&it.path()), "/usr/src/crates".to_owned())));
        renamed
    }

    /// Returns a command that packs files into `archive` with the same bytes for the same files.
    fn tar(&self, archive: &Path) -> Command {
        let mut tar = self.command("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
        tar.arg("--mode=go=rX,u+rw,a-s");
        tar.arg(format!("--mtime=@{}", self.epoch));
        tar.env("XZ_OPT", "-6 -T1").arg("-cJf").arg(archive);
        tar
    }

    /// Returns the folder of a stripped program for `arch`. Cargo's layout lets cargo-deb find it.
    fn stripped(&self, arch: &Arch) -> PathBuf {
        self.stage.join(arch.target).join("release")
    }
}

/// Builds a release as `options` say.
pub fn run(workspace: &Workspace, options: &Options) -> Outcome {
    let folder = workspace.root.join("target");
    let out = folder.join("dist");
    let first = build(workspace, options, &out, &folder.join("dist-build"))?;
    if options.is_twice {
        let again = folder.join("dist-again");
        let second = build(
            workspace,
            options,
            &again.join("dist"),
            &again.join("build"),
        )?;
        let different = different(&first, &second);
        Failure::unless_empty("dist: files that differ between two builds:", different)?;
        println!(
            "dist: two builds have the same {} hashes",
            first.lines().count()
        );
    }
    Ok(())
}

/// Returns the lines that only one of two lists of hashes has.
fn different(first: &str, second: &str) -> Vec<String> {
    let only = |one: &str, other: &str| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        lines.map(str::to_owned).collect()
    };
    [only(first, second), only(second, first)].concat()
}

/// Builds a release in `out`, with the build folder `target`. Returns its `SHA256SUMS`.
fn build(
    workspace: &Workspace,
    options: &Options,
    out: &Path,
    target: &Path,
) -> Result<String, Failure> {
    let release = Release {
        workspace,
        options,
        out: out.to_owned(),
        stage: workspace.root.join("target/dist-stage"),
        target: target.to_owned(),
        version: version(workspace)?,
        epoch: epoch(workspace)?,
    };
    // Removes the files of earlier versions before a whole release.
    let is_whole = [&options.parts, &options.archs, &options.programs]
        .iter()
        .all(|chosen| chosen.is_empty());
    if is_whole {
        create_empty(&release.out)?;
    }
    create(&release.out)?;
    create(&release.stage)?;
    for (name, part) in PARTS {
        if has(&options.parts, name) {
            println!("dist: {name}");
            part(&release)?;
        }
    }
    traces::check(&release)?;
    sums(&release)
}

/// Returns the version of the programs.
fn version(workspace: &Workspace) -> Result<String, Failure> {
    let path = workspace.root.join("Cargo.toml");
    let manifest = source::read(&path)?.parse::<toml::Table>();
    let manifest =
        manifest.map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    let version = manifest["workspace"]["package"]["version"].as_str();
    Ok(version.unwrap_or_default().to_owned())
}

/// Returns the time of the commit, or `SOURCE_DATE_EPOCH` if this variable is set.
fn epoch(workspace: &Workspace) -> Result<String, Failure> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(given);
    }
    let mut git = Command::new("git");
    git.current_dir(&workspace.root);
    git.args(["log", "-1", "--format=%ct"]);
    Ok(workspace::output(&mut git)?.trim().to_owned())
}

/// Writes the hashes of all files of the release to `SHA256SUMS`, and returns them.
fn sums(release: &Release<'_>) -> Result<String, Failure> {
    let mut names: Vec<String> = Vec::new();
    for entry in list(&release.out)? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name != "SHA256SUMS" && entry.is_file() {
            names.push(name.into_owned());
        }
    }
    let mut sum = Command::new("sha256sum");
    let text = workspace::output(sum.current_dir(&release.out).args(&names))?;
    write(&release.out.join("SHA256SUMS"), &text)?;
    print!("{text}");
    Ok(text)
}

fn create(folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder).map_err(|error| cannot("create", folder, &error))
}

/// Creates a folder without entries; the entries of an earlier build are removed.
fn create_empty(folder: &Path) -> Outcome {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|error| cannot("remove", folder, &error))?;
    }
    create(folder)
}

fn write(path: &Path, text: &str) -> Outcome {
    std::fs::write(path, text).map_err(|error| cannot("write", path, &error))
}

/// Returns the entries of a folder, sorted.
fn list(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(folder)?.map(|entry| entry.map(|it| it.path()));
        entries.collect()
    };
    let mut entries = read().map_err(|error| cannot("read", folder, &error))?;
    entries.sort();
    Ok(entries)
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {what} {}: {error}", path.display()))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_choose_architectures_programs_and_parts() {
        let all = Options::parse(&[]).unwrap();
        assert_eq!((all.archs().count(), all.programs().count()), (3, 2));
        let args = ["--arch", "armv7", "--program", "redpoll-taim", "--twice"];
        let some = Options::parse(&args).unwrap();
        assert!(some.archs().all(|it| it.debian == "armhf"));
        assert_eq!((some.archs().count(), some.programs().count()), (1, 1));
        assert!(some.is_twice && has(&some.parts, "python"));
        for wrong in [&["--arch"][..], &["--arch", "mips"], &["--fast"]] {
            assert_eq!(Options::parse(wrong), Err(wrong.join(" ")));
        }
    }

    #[test]
    fn a_file_that_differs_or_is_missing_is_named() {
        assert!(different("1  a\n2  b\n", "2  b\n1  a\n").is_empty());
        assert_eq!(different("1  a\n2  b\n", "1  a\n3  b\n"), ["2  b", "3  b"]);
        assert_eq!(different("1  a\n", ""), ["1  a"]);
    }
}
