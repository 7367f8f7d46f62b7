//! The check of the package for C: the first program of `docs/c.md`, built with pkg-config and with
//! CMake against an installation that was moved after it was made.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::install::{self, Options, target_dir};
use crate::report::Failure;
use crate::source;
use crate::workspace::{self, Workspace};

const DOCUMENT: &str = "docs/c.md";
/// Maximum number of lines of the first program, as the document promises.
const LINES_MAX: usize = 20;
/// The programs of the check, with the packages that have them.
const TOOLS: [(&str, &str); 3] = [
    ("cc", "gcc"),
    ("cmake", "cmake"),
    ("pkg-config", "pkg-config"),
];

/// Installs into an empty folder and checks the installation; returns why this was skipped.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    if let Some(reason) = missing_tool() {
        return Ok(Some(reason));
    }
    let folder = target_dir(workspace).join("c-check");
    let _ = std::fs::remove_dir_all(&folder);
    let prefix = installed(workspace, &folder)?;
    run_in(workspace, &prefix, &folder.join("first"))
}

/// Builds the first program in the new folder `sources` against the installation in `prefix`, and
/// compares its output with the document; returns why this was skipped.
pub fn run_in(
    workspace: &Workspace,
    prefix: &Path,
    sources: &Path,
) -> Result<Option<String>, Failure> {
    if let Some(reason) = missing_tool() {
        return Ok(Some(reason));
    }
    let text = source::read(&workspace.root.join(DOCUMENT))?;
    let (program, lists) = (file(&text, "first.c")?, file(&text, "CMakeLists.txt")?);
    let expected = file(&text, "first")?;
    let lines = program.lines().count();
    if lines > LINES_MAX {
        return Err(Failure::new(format!(
            "{DOCUMENT}: first.c has {lines} lines; allowed: {LINES_MAX}"
        )));
    }
    std::fs::create_dir_all(sources)
        .and_then(|()| std::fs::write(sources.join("first.c"), &program))
        .and_then(|()| std::fs::write(sources.join("CMakeLists.txt"), &lists))
        .map_err(|e| Failure::new(format!("cannot write {}: {e}", sources.display())))?;
    for (how, built) in [
        ("pkg-config", with_pkg_config(sources, prefix, false)?),
        (
            "pkg-config, static",
            with_pkg_config(sources, prefix, true)?,
        ),
        ("CMake", with_cmake(sources, prefix)?),
    ] {
        let mut run = Command::new(&built);
        if !how.contains("static") {
            run.env("LD_LIBRARY_PATH", prefix.join("lib"));
        }
        let told = workspace::output(&mut run)?;
        if told != expected {
            return Err(Failure::new(format!(
                "c-check: {how}: the program printed {told:?}, not {expected:?} as {DOCUMENT} shows"
            )));
        }
    }
    println!("c-check: {lines} lines of C build with pkg-config and CMake, and run");
    Ok(None)
}

/// Returns the tool of the check that is missing, with its package.
fn missing_tool() -> Option<String> {
    let is_missing = |tool: &&str| workspace::output(Command::new(tool).arg("--version")).is_err();
    let (tool, package) = TOOLS.into_iter().find(|(tool, _)| is_missing(tool))?;
    Some(format!("{tool} is missing (the package {package})"))
}

/// Returns the block of the document that follows a paragraph which ends with `name`.
fn file(text: &str, name: &str) -> Result<String, Failure> {
    let mark = format!("`{name}`:\n\n```");
    let block = text.split_once(&mark).and_then(|(_, rest)| {
        let (_, rest) = rest.split_once('\n')?;
        rest.split_once("```\n").map(|(block, _)| block.to_owned())
    });
    block.ok_or_else(|| Failure::new(format!("{DOCUMENT}: no block after `{name}`:")))
}

/// Installs into a staging folder and moves the prefix away; returns its new path.
fn installed(workspace: &Workspace, folder: &Path) -> Result<PathBuf, Failure> {
    let options = Options {
        prefix: PathBuf::from("/opt/redpoll"),
        destdir: Some(folder.join("staging")),
        libdir: PathBuf::from("lib"),
        target: None,
        is_debug: true,
    };
    install::run(workspace, &options)?;
    let moved = folder.join("moved");
    let from = folder.join("staging/opt/redpoll");
    std::fs::rename(&from, &moved)
        .map_err(|e| Failure::new(format!("cannot move {}: {e}", from.display())))?;
    Ok(moved)
}

fn with_pkg_config(sources: &Path, prefix: &Path, is_static: bool) -> Result<PathBuf, Failure> {
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    pkg_config.args(["--cflags", "--libs"]);
    pkg_config
        .args(is_static.then_some("--static"))
        .arg("redpoll");
    let flags = workspace::output(&mut pkg_config)?;
    let program = sources.join(if is_static {
        "first-static"
    } else {
        "first-shared"
    });
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"]);
    compiler.arg(&program).arg(sources.join("first.c"));
    // For a static program, names the library's file: by `-lredpoll`, the linker would find the
    // shared library first.
    for flag in flags.split_whitespace() {
        match flag {
            "-lredpoll" if is_static => compiler.arg("-l:libredpoll.a"),
            flag => compiler.arg(flag),
        };
    }
    workspace::output(&mut compiler)?;
    Ok(program)
}

fn with_cmake(sources: &Path, prefix: &Path) -> Result<PathBuf, Failure> {
    let build = sources.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(sources).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    workspace::output(&mut configure)?;
    workspace::output(Command::new("cmake").arg("--build").arg(&build))?;
    Ok(build.join("first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_follows_its_name() {
        let text = "Create `a.c`:\n\n```c\nint a;\n```\n\nand `b`:\n\n```\nx\n```\n";
        assert_eq!(file(text, "a.c").unwrap(), "int a;\n");
        assert_eq!(file(text, "b").unwrap(), "x\n");
        assert!(file(text, "c").is_err());
    }
}
