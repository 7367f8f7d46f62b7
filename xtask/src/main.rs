//! The repository's checks, as a program: `cargo xtask CHECK`.
//!
//! CI runs the same command as a developer: `cargo xtask ci`. Exit codes: 0 success, 1 a check
//! found something, 2 the command line is wrong.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod api;
mod arrows;
mod beside;
mod boards;
mod book;
mod ci;
mod circles;
mod clib;
mod deny;
mod dissect;
mod dist;
mod docs;
mod features;
mod figures;
mod firmware;
mod fuzz;
mod hosts;
mod lanes;
mod left_out;
mod lines;
mod names;
mod options;
mod packetdrill;
mod prose;
mod publish;
mod purity;
mod python;
mod reference;
mod release;
mod report;
mod rfc;
mod size;
mod source;
mod thread;
mod tutorials;
mod walls;
mod wasm;
mod web;
mod workflows;
mod workspace;

use std::process::ExitCode;

use report::Outcome;
use workspace::Workspace;

const HELP: &str = "\
The checks of this repository.

Usage: cargo xtask CHECK

  ci        runs every check below that can fail, and fmt, clippy, doc and test;
            stops at the first failure
              --keep-going      run the other steps nevertheless
  arrows    fails if a dependency between crates is not in the architecture, if a
            file of a device crate uses too many layers, or if modules import one
            another in a circle
  lines     lists files over 500 lines of code and functions over 80; fails if one
            is in a device crate
  names     fails if two types of a device crate have the same name, or if a
            comment does not name its subject
  prose     fails if more blocks of the documents, interface texts or comments than
            xtask/prose.toml allows have an unclear turn of phrase
              --list [PLACE]    print each finding
              --accept          lower the limits to the present numbers
              --sample N        print N random blocks with their findings
  tests     fails if a test file of a crate belongs to no test program
  workflows fails if a workflow of .github runs something other than an existing make
            target, or if actionlint finds a fault (needs it: scripts/setup.sh test)
  release   makes a release from a clean main that has passed the checks: sets the
            version, takes the notes from CHANGELOG.md, commits and tags
              VERSION           such as 0.2.0
              --dry-run         with VERSION: print what would change
              --check           instead: fail if a version differs from Cargo.toml's
              --publish         instead: publish the tagged commit on GitHub (needs gh)
  purity    builds the device crates for thumbv6m-none-eabi; fails if one uses
            alloc, float or unsafe code
              --with rustup     build with a toolchain that has the target
              --with build-std  build core from Debian's rust-web-src
                                (default: the first of the two that is installed)
  api       fails if the public interface of a crate differs from docs/api or has
            more items than its limit, and prints the number of its items
              --accept          write docs/api
  features  builds the published crates without features, with each feature alone,
            with the default features and with all; builds the crates of each image (leaf,
            router, border router) together; builds the crates with all features
            for every target of the toolchain; fails if a crate has too many features
  hosts     compiles redpoll and redpoll-taim for each Linux board of docs/radios.md
            whose standard library the toolchain has
  deny      checks the licences and sources of dependencies against deny.toml
            (needs cargo-deny: scripts/setup.sh test)
  publish   packs the published crates, builds the packages with the oldest
            supported Rust, and compares their interface with REDPOLL_BASELINE, by
            default the last release
  c-install installs the library for C: header, static and shared library, and
            the packages of pkg-config and CMake
              --prefix DIR      below this absolute path (default: /usr/local)
              --destdir DIR     in this folder instead of /, for packages
              --libdir DIR      folder of the libraries (default: lib)
              --target TRIPLE   for another machine
              --debug           without optimisation
  c-libs    DIR                 writes static libraries for microcontrollers to DIR
              --size            prints flash and memory of linked images, which run
                                on emulators
              --size --write    also writes the table of docs/c.md
              --size --check    fails if the table differs
  c-check   installs the library for C into an empty folder, and builds and runs the
            first program of docs/c.md with pkg-config and with CMake
  boards    builds the examples for boards for their targets
  packetdrill  runs two public suites of packetdrill scripts against the library;
            fails if a script fails without a listed cause, or passes with one
              --tool PATH       the packetdrill program
              --freebsd DIR     freebsd-net/tcp-testsuite
              --linux DIR       google/packetdrill, or its gtests/net/tcp
              --only SUBSTRING  scripts whose name contains this
              --keep DIR        keep the adapted scripts and the tool's messages
              --json FILE       write the outcome of every script
              --write           write the tables of docs/packetdrill.md
  rfc       prints how far each RFC is met according to docs/rfc, and where the
            sources cite it; fails if a reference is broken
              --open            list the requirements that are not met, and why
  figures   prints the figures that the project requires, expected and measured;
            fails if one is missed (a few minutes)
              --sensitivity     print only how single settings change goodput over 1 to
                                4 hops
  docs      measures the numbers of the documents, as docs/measured declares them
              --write           write them into the documents
              --check           fails if a document has other numbers
              --short           with --check: only quick measurements
              --only NAME       this block; may be repeated
              --program FILE    measure with this program instead of building it
              --loose           instead: list lines with numbers outside of blocks
  book      checks the links, sizes and first paragraphs of the documents, builds
            docs/ as a book into target/book, and checks the links of its pages
            (needs mdBook: make book)
              --pictures        instead: make the pictures of the book again, from runs
              --program FILE    with --pictures: from runs of this program
              --preprocess      for mdBook, which calls this command
  reference fails if docs/reference differs from the comments of redpoll.h or from
            the docstrings of the Python package
              --write           write these pages, and the page of the commands
  tutorials runs the tutorials of the book as printed, and compares their output
              --only NAME       pages whose path contains this; may be repeated
              --program FILE    with this program instead of a debug build
  dissect-check  fails if `redpoll dissect` and tshark find different fields in the
            same frames, except for the differences in docs/dissect-check.md
              --short           several thousand frames (default: more than 50,000)
              --write           also writes the figures of docs/dissect-check.md
              --program FILE    with this program instead of a debug build
  python    builds the Python package, runs its tests and its notebook, and checks
            its types (needs Python 3.11 and packages: scripts/setup.sh test)
  dist      builds the files of a release in target/dist (needs cargo-zigbuild,
            cargo-deb, maturin, cargo-cyclonedx: scripts/setup.sh dist)
              --arch NAME       x86_64, aarch64 or armv7; may be repeated
              --program NAME    redpoll or redpoll-taim; may be repeated
              --only PART       programs, packages, python, c or bill; may be repeated
              --twice           build twice, and fail if a file differs
              --short           instead: check the package of redpoll-taim, made of the
                                debug program
  dist-test tests the packages of target/dist in Debian 11, 12 and 13 (needs root,
            debootstrap and qemu-user-static: scripts/setup.sh dist)
              --only TEXT       systems whose name contains this
              --wheel           instead: install the wheel in an empty environment; print
                                and check the time of the installation and the time
                                until the first result
  vm-test   runs the packages of target/dist for amd64 in a virtual machine with Debian 12,
            systemd and real firewalls (needs root, debootstrap and QEMU: scripts/setup.sh
            vm)
  fuzz      feeds random bytes to every fuzz target (needs nightly and cargo-fuzz)
              --seconds N       for each target (default: 60)
  firmware  tests the leaf on emulated microcontrollers, with simulated nodes
              --long            with 10,000 requests in 24 simulated hours, lost frames, and
                                frames of random bytes
  size      prints flash, sizes of types and instructions on a Cortex-M0
              --json FILE       write an object to FILE (-: standard output) instead of tables
              --check           fail if a size differs from firmware/size.txt, if one
                                exceeds its limit, or if an image may panic
              --accept          write firmware/size.txt
              --profile         print the instructions of each function
              --inline TEXT     only measure what each `#[inline(never)]` saves, in paths
                                and functions with TEXT, and write it to docs/inline.md
              --with rustup     as for `purity`
              --with build-std

Exit codes: 0 success, 1 a check failed, 2 wrong command line.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["-h" | "--help" | "help"] = args.as_slice() {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match command(&Workspace::here(), &args) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
        Err(line) => usage(&line),
    }
}

/// Runs the command of a command line. An error is a sentence about a wrong command line.
fn command(workspace: &Workspace, args: &[&str]) -> Result<Outcome, String> {
    let outcome = match args {
        ["ci"] => Some(ci::run(workspace, false)),
        ["ci", "--keep-going"] => Some(ci::run(workspace, true)),
        ["ci-beside"] => Some(ci::run_beside(workspace)),
        ["ci-waiting"] => Some(ci::run_waiting(workspace)),
        ["ci-using"] => Some(ci::run_using(workspace)),
        _ => None,
    };
    if let Some(outcome) = outcome {
        return Ok(outcome);
    }
    if let Some(command) = clib::Command::parse(args) {
        return command.map(|command| command.run(workspace));
    }
    for check in [check_sources, check_programs, check_documents] {
        if let Some(outcome) = check(workspace, args)? {
            return Ok(outcome);
        }
    }
    Err(wrong(args))
}

/// Runs a check of sources, public interfaces and dependencies. `None` if `args` name none of
/// these. An error is a sentence about an option that the check does not take.
fn check_sources(workspace: &Workspace, args: &[&str]) -> Result<Option<Outcome>, String> {
    let outcome = match args {
        ["arrows"] => arrows::run(workspace),
        ["lines"] => lines::run(workspace),
        ["names"] => names::run(workspace),
        ["prose", options @ ..] => match prose::command(workspace, options) {
            Some(outcome) => outcome,
            None => return Err(format!("`prose` does not take `{}`", options.join(" "))),
        },
        ["tests"] => left_out::run(workspace),
        ["workflows"] => workflows::check(workspace),
        ["release", "--check"] => release::check(workspace).map(told),
        ["release", "--publish"] => release::publish(workspace),
        ["release", version] => release::run(workspace, version.parse()?, false),
        ["release", version, "--dry-run"] => release::run(workspace, version.parse()?, true),
        ["api"] => api::check(workspace),
        ["api", "--accept"] => api::accept(workspace),
        ["deny"] => deny::check(workspace),
        ["rfc"] => rfc::run(workspace, false),
        ["rfc", "--open"] => rfc::run(workspace, true),
        _ => return Ok(None),
    };
    Ok(Some(outcome))
}

/// Runs a check that builds programs or runs them. `None` if `args` name none of these. An error is
/// a sentence about an option that the check does not take.
fn check_programs(workspace: &Workspace, args: &[&str]) -> Result<Option<Outcome>, String> {
    let outcome = match args {
        ["purity"] => purity::run(workspace, None),
        ["purity", "--with", "rustup"] => purity::run(workspace, Some(purity::Way::Installed)),
        ["purity", "--with", "build-std"] => purity::run(workspace, Some(purity::Way::BuildStd)),
        ["python"] => python::run(workspace).map(told),
        ["dissect-check", options @ ..] => match dissect::Options::parse(options) {
            Ok(options) => dissect::run(workspace, &options).map(told),
            Err(words) => return Err(format!("`dissect-check` does not take `{words}`")),
        },
        ["dist", "--short"] => dist::short(workspace).map(told),
        ["dist", options @ ..] => match dist::Options::parse(options) {
            Ok(options) => dist::run(workspace, &options),
            Err(words) => return Err(format!("`dist` does not take `{words}`")),
        },
        ["dist-test"] => dist::test(workspace, None),
        ["dist-test", "--wheel"] => dist::wheel(workspace),
        ["dist-test", "--only", text] => dist::test(workspace, Some(text)),
        ["vm-test"] => dist::vm(workspace),
        ["features"] => features::check(workspace),
        ["hosts"] => hosts::check(workspace),
        ["c-check"] => clib::check(workspace).map(told),
        ["boards"] => boards::check(workspace),
        ["publish"] => publish::run(workspace).map(told),
        ["firmware"] => firmware::run(workspace, false).map(told),
        ["firmware", "--long"] => firmware::run(workspace, true).map(told),
        ["fuzz"] => fuzz::run(workspace, None),
        ["fuzz", "--seconds", seconds] => match seconds.parse() {
            Ok(seconds) => fuzz::run(workspace, Some(seconds)),
            Err(_) => return Err(format!("`{seconds}` is not a number of seconds")),
        },
        ["packetdrill", options @ ..] => match packetdrill::Options::parse(options) {
            Ok(options) => packetdrill::run(workspace, &options),
            Err(words) => return Err(format!("`packetdrill` does not take `{words}`")),
        },
        ["size", options @ ..] => match size::Options::parse(options) {
            Ok(options) => size::run(workspace, &options),
            Err(words) => return Err(format!("`size` does not take `{words}`")),
        },
        _ => return Ok(None),
    };
    Ok(Some(outcome))
}

/// Runs a check of documents and of the figures in them. `None` if `args` name none of these. Fails
/// with a sentence about an option that the check does not take.
fn check_documents(workspace: &Workspace, args: &[&str]) -> Result<Option<Outcome>, String> {
    let outcome = match args {
        ["figures"] => figures::run(workspace),
        ["figures", "--sensitivity"] => figures::sensitivity(workspace),
        ["book"] => book::build(workspace),
        ["book", "--pictures"] => book::pictures(workspace, None),
        ["book", "--pictures", "--program", file] => book::pictures(workspace, Some(file)),
        ["book", "--preprocess"] => book::preprocess(),
        // mdBook asks whether the preprocessor supports a kind of output. It supports all kinds.
        ["book", "--preprocess", "supports", _] => Ok(()),
        ["docs", options @ ..] => match docs::Options::parse(options) {
            Ok(options) => docs::run(workspace, &options),
            Err(words) => return Err(format!("`docs` does not take `{words}`")),
        },
        ["reference"] => reference::check(workspace),
        ["reference", "--write"] => reference::write(workspace),
        ["tutorials", options @ ..] => match tutorials::Options::parse(options) {
            Ok(options) => tutorials::run(workspace, &options).map(told),
            Err(words) => return Err(format!("`tutorials` does not take `{words}`")),
        },
        _ => return Ok(None),
    };
    Ok(Some(outcome))
}

/// Returns the error of a command line that no command accepts.
fn wrong(args: &[&str]) -> String {
    match args {
        [
            known @ ("ci" | "api" | "arrows" | "lines" | "names" | "tests" | "purity" | "features"
            | "hosts" | "deny" | "boards" | "publish" | "rfc" | "figures" | "firmware"
            | "fuzz" | "book" | "workflows" | "release" | "c-check"),
            rest @ ..,
        ] => format!("`{known}` does not take `{}`", rest.join(" ")),
        [unknown, ..] => format!("there is no check `{unknown}`"),
        [] => "which check?".to_owned(),
    }
}

fn told(skipped: Option<String>) {
    if let Some(reason) = skipped {
        println!("skipped: {reason}");
    }
}

fn usage(what: &str) -> ExitCode {
    eprint!("xtask: {what}\n\n{HELP}");
    ExitCode::from(2)
}
