//! The device crates run without an operating system: they build for a Cortex-M0+ without one, and
//! their sources use neither alloc, nor floating point, nor unsafe code.
//!
//! The build needs the target's `core`. A rustup toolchain may have it installed; otherwise
//! Debian's compiler can build it from the source in the package rust-web-src.

use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro2::TokenTree;

use crate::ci;
use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

const TARGET: &str = "thumbv6m-none-eabi";

/// Source of `core` for the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `core` is part of the toolchain.
    Installed,
    /// `core` is built from source.
    BuildStd,
}

impl Way {
    pub fn advice(self) -> &'static str {
        match self {
            Way::Installed => "no toolchain has the target: `rustup target add thumbv6m-none-eabi`",
            Way::BuildStd => {
                "the distribution's compiler is missing, too old, or lacks its source: on Debian \
                 or Ubuntu `apt install rustc-web cargo-web rust-web-src` (the three in the same \
                 version)"
            }
        }
    }
}

/// The compiler's own libraries that a build may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libraries {
    /// For the device crates: if `core` is built from source, a crate that needs a heap does not
    /// build.
    Core,
    /// For an image with a heap, which the CoAP library needs.
    CoreAndAlloc,
}

impl Libraries {
    /// Returns cargo's unstable option that builds these libraries from source.
    fn build_std(self) -> &'static str {
        match self {
            Libraries::Core => "build-std=core",
            Libraries::CoreAndAlloc => "build-std=core,alloc",
        }
    }
}

/// A compiler for the target.
#[derive(Debug)]
pub struct Toolchain {
    cargo: PathBuf,
    rustc: PathBuf,
    /// For [`Way::BuildStd`]: the folder that holds `library/core`.
    source: Option<PathBuf>,
}

pub fn run(workspace: &Workspace, way: Option<Way>) -> Outcome {
    sources(workspace)?;

    let crates = workspace.device_crates()?;
    let toolchain = Toolchain::find(way)?;
    println!("purity: {toolchain}");
    let built = |subcommand| {
        let mut cargo = toolchain.cargo(workspace, subcommand, Libraries::Core);
        // The built code never runs, so the build omits the optimisation.
        cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        cargo
    };
    let mut cargo = built("build");
    cargo.args(
        crates
            .iter()
            .map(|name| format!("--package=redpoll-{name}")),
    );
    workspace::run(&mut cargo)?;
    println!("purity: {} build for {TARGET}", crates.join(", "));
    for features in ["node", "tcp", "radio,full"] {
        let mut cargo = built("rustc");
        cargo.args(["--package=redpoll-capi", "--no-default-features", "--lib"]);
        cargo.args(["--features", features]);
        workspace::run(cargo.args(["--crate-type", "staticlib"]))?;
    }
    println!("purity: the library for C builds for {TARGET}");
    Ok(())
}

/// Runs the checks that need no build.
pub fn sources(workspace: &Workspace) -> Outcome {
    let mut findings = Vec::new();
    for name in &workspace.device_crates()? {
        findings.extend(read(workspace, name)?);
    }
    Failure::unless_empty(
        "purity: a device crate must not use the standard library, a heap, floating point or unsafe code:",
        findings,
    )
}

impl Toolchain {
    /// Returns a note if this compiler's counts of instructions are only shown and not compared.
    pub fn unjudged(&self) -> Option<String> {
        let version = workspace::output(Command::new(&self.rustc).arg("--version"));
        ci::unjudged_release(&version.unwrap_or_default()).map(|version| {
            format!(
                "size: instructions with Rust {version} are only shown; those with {} must match",
                ci::JUDGED_WITH
            )
        })
    }

    /// Returns whether core is compiled from source instead of installed.
    pub fn builds_core(&self) -> bool {
        self.source.is_some()
    }

    /// Returns the first suitable toolchain, in this order: the running one, rustup's, Debian's.
    pub fn find(way: Option<Way>) -> Result<Toolchain, Failure> {
        let wanted = |this| way.is_none_or(|way| way == this);
        if wanted(Way::Installed) {
            let running = Some(PathBuf::from(workspace::cargo()));
            for cargo in [running, rustups_cargo()].into_iter().flatten() {
                let rustc = cargo.with_file_name("rustc");
                if has_target(&rustc) {
                    let source = None;
                    return Ok(Toolchain {
                        cargo,
                        rustc,
                        source,
                    });
                }
            }
        }
        if wanted(Way::BuildStd) {
            let (cargo, rustc) = ("/usr/bin/cargo".into(), PathBuf::from("/usr/bin/rustc"));
            if let Some(source) = debians_source(&rustc, Path::new("/usr/src")) {
                let source = Some(source);
                return Ok(Toolchain {
                    cargo,
                    rustc,
                    source,
                });
            }
        }
        let ways = [Way::Installed, Way::BuildStd].into_iter();
        let advice = ways.filter(|way| wanted(*way)).map(Way::advice);
        Err(Failure::new(format!(
            "no installed compiler can build for {TARGET}: {}",
            advice.collect::<Vec<_>>().join("; or ")
        )))
    }

    /// Returns whether the toolchain has the linker for the target's programs.
    pub fn has_linker(&self) -> bool {
        let mut rustc = Command::new(&self.rustc);
        let Ok(sysroot) = workspace::output(rustc.args(["--print", "sysroot"])) else {
            return false;
        };
        let targets = Path::new(sysroot.trim()).join("lib/rustlib");
        std::fs::read_dir(targets).is_ok_and(|mut targets| {
            targets.any(|entry| entry.is_ok_and(|e| e.path().join("bin/rust-lld").is_file()))
        })
    }

    /// Returns the command `cargo SUBCOMMAND` for the target, in the repository's root. If `core`
    /// is built from source, the output goes to a separate folder, because the compiler may be
    /// another one. If the target is installed, the build may use libraries outside of `libraries`,
    /// too.
    pub fn cargo(&self, workspace: &Workspace, subcommand: &str, libraries: Libraries) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(&workspace.root);
        command.env("RUSTC", &self.rustc).arg(subcommand);
        command.args(["--target", TARGET]);
        if let Some(source) = &self.source {
            // Allows cargo's option that builds core. The option is unstable only because its
            // design is not final; the source of core is that of the compiler.
            command
                .env("RUSTC_BOOTSTRAP", "1")
                .args(["-Z", libraries.build_std()]);
            // Path at which cargo looks for the sources; without this variable it looks in the
            // sysroot, where Debian's package has a link to the same folder.
            command.env("__CARGO_TESTS_ONLY_SRC_ROOT", source.join("library"));
            command.args([Path::new("--target-dir"), &target_dir(workspace)]);
        }
        command
    }
}

impl std::fmt::Display for Toolchain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            None => write!(f, "with {}, which has the target", self.rustc.display()),
            Some(source) => write!(
                f,
                "with {} and core built from {}",
                self.rustc.display(),
                source.display()
            ),
        }
    }
}

/// Returns a folder next to the usual output: two compilers must not share output files.
fn target_dir(workspace: &Workspace) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace.root.join("target"), PathBuf::from)
        .join("build-std")
}

/// Returns the cargo of rustup's default toolchain, if there is one.
fn rustups_cargo() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let own = home.map(|home| home.join("bin/rustup"));
    [Some(PathBuf::from("rustup")), own]
        .into_iter()
        .flatten()
        .find_map(|rustup| workspace::output(Command::new(rustup).args(["which", "cargo"])).ok())
        .map(|path| PathBuf::from(path.trim()))
}

fn has_target(rustc: &Path) -> bool {
    let sysroot = workspace::output(Command::new(rustc).args(["--print", "sysroot"]));
    sysroot.is_ok_and(|sysroot| {
        Path::new(sysroot.trim())
            .join("lib/rustlib")
            .join(TARGET)
            .join("lib")
            .is_dir()
    })
}

/// Returns the source of `rustc` among the folders `rustc-VERSION` of `sources`, if that compiler
/// is recent enough.
fn debians_source(rustc: &Path, sources: &Path) -> Option<PathBuf> {
    let version = workspace::output(Command::new(rustc).arg("--version")).ok()?;
    let number = version_number(&version)?;
    if minor(number)? < minor(env!("CARGO_PKG_RUST_VERSION"))? {
        return None;
    }
    let source = sources.join(format!("rustc-{number}"));
    source.join("library/core").is_dir().then_some(source)
}

/// Returns `1.96.0` from `rustc 1.96.0 (ac68faa20 2026-05-25)`.
fn version_number(version: &str) -> Option<&str> {
    version.split_whitespace().nth(1)
}

/// Returns 96 from `1.96.0`.
fn minor(number: &str) -> Option<u32> {
    number.split('.').nth(1)?.parse().ok()
}

/// Returns forbidden contents of a device crate's sources.
fn read(workspace: &Workspace, name: &str) -> Result<Vec<String>, Failure> {
    let folder = workspace.root.join("crates").join(name).join("src");
    let mut findings = Vec::new();
    let lib = source::read(&folder.join("lib.rs"))?;
    for attribute in ["#![no_std]", "#![forbid(unsafe_code)]"] {
        if !lib.lines().any(|line| line == attribute) {
            findings.push(format!("crates/{name}/src/lib.rs: needs {attribute}"));
        }
    }
    for path in source::rust_files(&folder)? {
        let shown = workspace.relative(&path);
        if !source::is_test_file(shown) {
            findings.extend(impurities(shown, &source::read(&path)?)?);
        }
    }
    Ok(findings)
}

/// Returns uses of alloc, std and floating point in a file without its tests.
fn impurities(path: &Path, text: &str) -> Result<Vec<String>, Failure> {
    let tokens = source::without_docs_and_tests(source::tokens(path, text)?);
    let mut findings = Vec::new();
    let mut after_crate = false;
    source::flatten(tokens, &mut |token| {
        let word = token.to_string();
        let what = match token {
            TokenTree::Ident(_) if word == "f32" || word == "f64" => Some("a float"),
            TokenTree::Ident(_) if after_crate && (word == "std" || word == "alloc") => {
                Some("unavailable on a microcontroller")
            }
            TokenTree::Literal(literal) if is_float(literal) => Some("a float"),
            _ => None,
        };
        after_crate = matches!(token, TokenTree::Ident(_)) && word == "crate";
        if let Some(what) = what {
            let line = token.span().start().line;
            findings.push(format!("{}:{line}: `{word}`: {what}", path.display()));
        }
    });
    Ok(findings)
}

fn is_float(literal: &proc_macro2::Literal) -> bool {
    let tokens = TokenTree::from(literal.clone()).into();
    matches!(syn::parse2(tokens), Ok(syn::Lit::Float(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        impurities(Path::new("x.rs"), text).unwrap()
    }

    #[test]
    fn floats_and_heaps_are_found_by_line() {
        assert_eq!(
            found("fn f(x: u32) {}\nfn g(x: f64) {}\n"),
            ["x.rs:2: `f64`: a float"]
        );
        assert_eq!(found("const A: u8 = 1e3 as u8;").len(), 1);
        assert_eq!(
            found("\nextern crate alloc;"),
            ["x.rs:2: `alloc`: unavailable on a microcontroller"]
        );
    }

    #[test]
    fn tests_comments_and_integers_are_left_alone() {
        let text = "
            //! 0.5 s, an f64.
            /// A tuple's 1.5th field, f32.
            fn f(x: (u8, u8)) -> u8 { x.0 + 0x1f3 + 1_000 } // 2.5
            #[cfg(test)]
            extern crate std;
            #[cfg(test)]
            mod tests { const HALF: f64 = 0.5; }
        ";
        assert!(found(text).is_empty(), "{:?}", found(text));
    }

    #[test]
    fn the_source_must_belong_to_the_compiler() {
        let version = "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)";
        assert_eq!(version_number(version), Some("1.96.0"));
        assert_eq!(version_number(""), None);
        assert_eq!((minor("1.96.0"), minor("1.88")), (Some(96), Some(88)));
        let nowhere = Path::new("/nowhere");
        assert_eq!(debians_source(nowhere, nowhere), None);
        assert!(!has_target(nowhere));
    }
}
