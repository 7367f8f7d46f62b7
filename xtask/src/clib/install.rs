//! Installing the library for C below a prefix.
//!
//! All files are first written next to their places and then renamed. If one cannot be written, the
//! previous installation stays as it was. The packages of pkg-config and CMake find the prefix from
//! their own place, so the folder can be moved.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::Version;
use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

/// Options of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Absolute path below which the files will be used.
    pub prefix: PathBuf,
    /// Folder below which the prefix is created, for the makers of packages.
    pub destdir: Option<PathBuf>,
    /// Folder of the libraries below the prefix.
    pub libdir: PathBuf,
    /// Target other than this machine.
    pub target: Option<String>,
    /// Whether to build without optimisation.
    pub is_debug: bool,
}

impl Options {
    /// Reads the command line. An error is a sentence about a wrong argument.
    pub fn parse(args: &[&str]) -> Result<Options, String> {
        let mut options = Options {
            prefix: PathBuf::from("/usr/local"),
            destdir: None,
            libdir: PathBuf::from("lib"),
            target: None,
            is_debug: false,
        };
        let mut rest = args;
        loop {
            rest = match rest {
                [] => break,
                ["--debug", rest @ ..] => {
                    options.is_debug = true;
                    rest
                }
                ["--prefix", path, rest @ ..] => {
                    options.prefix = PathBuf::from(path);
                    rest
                }
                // `make` passes an empty variable as an empty word.
                ["--destdir", path, rest @ ..] => {
                    options.destdir = (!path.is_empty()).then(|| PathBuf::from(path));
                    rest
                }
                ["--libdir", path, rest @ ..] => {
                    options.libdir = PathBuf::from(path);
                    rest
                }
                ["--target", target, rest @ ..] => {
                    options.target = Some((*target).to_owned());
                    rest
                }
                [unknown, ..] => return Err(format!("`c-install` does not take `{unknown}`")),
            };
        }
        options.libdir = match options.libdir.strip_prefix(&options.prefix) {
            Ok(below) => below.to_path_buf(),
            Err(_) => options.libdir,
        };
        let is_below = (options.libdir.components()).all(|it| matches!(it, Component::Normal(_)));
        if !options.prefix.is_absolute() {
            let found = options.prefix.display();
            return Err(format!(
                "--prefix `{found}` is not an absolute path; use DESTDIR or --destdir for a staging folder"
            ));
        }
        if !is_below || options.libdir.as_os_str().is_empty() {
            let (found, prefix) = (options.libdir.display(), options.prefix.display());
            return Err(format!(
                "--libdir `{found}` is not below the prefix `{prefix}`; allowed: a path such as `lib`"
            ));
        }
        Ok(options)
    }

    /// Returns the folder into which the prefix's files are written now: below `destdir`, if given.
    fn root(&self) -> PathBuf {
        match &self.destdir {
            None => self.prefix.clone(),
            Some(destdir) => destdir.join(self.prefix.strip_prefix("/").unwrap_or(&self.prefix)),
        }
    }
}

/// Content of a file to install.
enum Content {
    Copy(PathBuf),
    Text(String),
    Link(String),
}

/// A file to install, with its place below the prefix.
struct File {
    place: PathBuf,
    content: Content,
    mode: u32,
}

/// Builds and installs the library.
pub fn run(workspace: &Workspace, options: &Options) -> Outcome {
    let version = Version::of(workspace)?;
    let built = build(workspace, options, &version)?;
    let files = files(workspace, options, &version, &built)?;
    let root = options.root();
    place(&root, &files)?;
    for file in &files {
        println!("{}", root.join(&file.place).display());
    }
    Ok(())
}

/// Builds both libraries with `cargo`, a command of cargo-zigbuild, and writes the files of an
/// installation to the folder `root`, which can be moved. The libraries need glibc `glibc` or later.
/// `built` is the folder of the libraries that cargo builds.
pub fn release(
    workspace: &Workspace,
    mut cargo: Command,
    (target, glibc): (&str, &str),
    built: &Path,
    root: &Path,
) -> Outcome {
    let version = Version::of(workspace)?;
    cargo.args(["rustc", "--locked", "--release"]);
    cargo.args(["--target", &format!("{target}.{glibc}")]);
    workspace::run(with_libraries(&mut cargo, &version))?;
    let options = Options {
        prefix: PathBuf::from("/"),
        destdir: Some(root.to_owned()),
        libdir: PathBuf::from("lib"),
        target: Some(target.to_owned()),
        is_debug: false,
    };
    place(root, &files(workspace, &options, &version, built)?)
}

/// Adds the arguments of `cargo rustc` that select both libraries.
fn with_libraries<'c>(cargo: &'c mut Command, version: &Version) -> &'c mut Command {
    let soname = format!("link-arg=-Wl,-soname,{}", version.soname());
    cargo.args(["--quiet", "--package", "redpoll-capi", "--lib"]);
    cargo.args(["--crate-type", "staticlib,cdylib", "--", "-C", &soname])
}

/// Builds both libraries; returns their folder.
fn build(workspace: &Workspace, options: &Options, version: &Version) -> Result<PathBuf, Failure> {
    let mut cargo = workspace.cargo();
    cargo.arg("rustc");
    let mut folder = target_dir(workspace);
    if let Some(target) = &options.target {
        cargo.args(["--target", target]);
        folder.push(target);
    }
    if options.is_debug {
        folder.push("debug");
    } else {
        cargo.arg("--release");
        folder.push("release");
    }
    workspace::run(with_libraries(&mut cargo, version))?;
    Ok(folder)
}

/// Returns the folder of cargo's builds.
pub fn target_dir(workspace: &Workspace) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace.root.join("target"), PathBuf::from)
}

/// Returns `..` for each component of a path.
fn up(path: &Path) -> String {
    vec![".."; path.components().count()].join("/")
}

fn files(
    workspace: &Workspace,
    options: &Options,
    version: &Version,
    built: &Path,
) -> Result<Vec<File>, Failure> {
    let capi = workspace.root.join("crates/capi");
    let lib = &options.libdir;
    let (pc, cmake) = (lib.join("pkgconfig"), lib.join("cmake/Redpoll"));
    let pointer = match options.target.as_deref() {
        Some(target) if !target.contains("64") => "4",
        _ => "8",
    };
    let values = [
        ("@VERSION@", version.full.clone()),
        ("@COMPATIBLE@", version.compatible.clone()),
        (
            "@COMPATIBLE_PATTERN@",
            version.compatible.replace('.', "[.]"),
        ),
        ("@SONAME@", version.soname()),
        ("@LIBDIR@", lib.display().to_string()),
        ("@UP_FROM_PC@", up(&pc)),
        ("@UP_FROM_CMAKE@", up(&cmake)),
        ("@POINTER@", pointer.to_owned()),
        ("@URL@", env!("CARGO_PKG_REPOSITORY").to_owned()),
    ];
    let filled = |name: &str| {
        let mut text = source::read(&capi.join("install").join(format!("{name}.in")))?;
        for (mark, value) in &values {
            text = text.replace(mark, value);
        }
        Ok::<_, Failure>(Content::Text(text))
    };
    let file = |place: PathBuf, content, mode| File {
        place,
        content,
        mode,
    };
    let shared = format!("libredpoll.so.{}", version.full);
    let link = |name: &str, to: &str| file(lib.join(name), Content::Link(to.to_owned()), 0o777);
    let copy = |place: PathBuf, from: PathBuf, mode| file(place, Content::Copy(from), mode);
    let licence = |name: &str| {
        let place = Path::new("share/licenses/redpoll").join(name);
        copy(place, workspace.root.join(name), 0o644)
    };
    Ok(vec![
        copy(
            PathBuf::from("include/redpoll.h"),
            capi.join("include/redpoll.h"),
            0o644,
        ),
        copy(
            PathBuf::from("include/redpoll_tcp.h"),
            capi.join("include/redpoll_tcp.h"),
            0o644,
        ),
        copy(
            lib.join("libredpoll.a"),
            built.join("libredpoll_capi.a"),
            0o644,
        ),
        copy(lib.join(&shared), built.join("libredpoll_capi.so"), 0o755),
        link(&version.soname(), &shared),
        link("libredpoll.so", &version.soname()),
        file(pc.join("redpoll.pc"), filled("redpoll.pc")?, 0o644),
        file(
            cmake.join("RedpollConfig.cmake"),
            filled("RedpollConfig.cmake")?,
            0o644,
        ),
        file(
            cmake.join("RedpollConfigVersion.cmake"),
            filled("RedpollConfigVersion.cmake")?,
            0o644,
        ),
        licence("LICENSE-APACHE"),
        licence("LICENSE-MIT"),
    ])
}

/// Writes all files next to their places, and then renames them. If one cannot be written, none is
/// renamed.
fn place(root: &Path, files: &[File]) -> Outcome {
    let mut written = Vec::new();
    let outcome = files.iter().try_for_each(|file| {
        let temporary = temporary(&root.join(&file.place));
        written.push(temporary.clone());
        write(file, &temporary)
    });
    let outcome = outcome.and_then(|()| {
        files.iter().try_for_each(|file| {
            let place = root.join(&file.place);
            std::fs::rename(temporary(&place), &place).map_err(|e| refused(&place, &e))
        })
    });
    if outcome.is_err() {
        for path in &written {
            let _ = std::fs::remove_file(path);
        }
    }
    outcome
}

/// Returns the path at which a file is written first.
fn temporary(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.new"))
}

fn write(file: &File, path: &Path) -> Outcome {
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| match std::fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        })
        .and_then(|()| match &file.content {
            Content::Copy(from) => std::fs::copy(from, path).map(|_| ()),
            Content::Text(text) => std::fs::write(path, text),
            Content::Link(to) => symlink(to, path),
        })
        .and_then(|()| match &file.content {
            Content::Link(_) => Ok(()),
            _ => std::fs::set_permissions(path, PermissionsExt::from_mode(file.mode)),
        });
    written.map_err(|e| refused(path, &e))
}

/// Returns the error of a place that cannot be written.
fn refused(path: &Path, error: &std::io::Error) -> Failure {
    let remedy = match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            "; choose a PREFIX that you may write to, or become root"
        }
        _ => "",
    };
    Failure::new(format!(
        "c-install: cannot write {}: {error}{remedy}",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_outside_of_the_prefix_are_refused() {
        for args in [
            &["--prefix", "here"][..],
            &["--libdir", "../lib"],
            &["--libdir", "/lib"],
            &["--libdir", ""],
            &["--what"],
            &["--prefix"],
        ] {
            assert!(Options::parse(args).is_err(), "{args:?}");
        }
        let inside = Options::parse(&["--prefix", "/usr", "--libdir", "/usr/lib/x"]).unwrap();
        assert_eq!(inside.libdir, Path::new("lib/x"));
        assert_eq!(up(&inside.libdir), "../..");
        let staged = Options::parse(&["--destdir", "/tmp/x", "--prefix", "/usr"]).unwrap();
        assert_eq!(staged.root(), Path::new("/tmp/x/usr"));
        assert_eq!(
            Options::parse(&["--destdir", ""]).unwrap().root(),
            Path::new("/usr/local")
        );
    }

    #[test]
    fn an_error_leaves_nothing() {
        let root = std::env::temp_dir().join(format!("redpoll-c-install-{}", std::process::id()));
        let text = |place: &str| File {
            place: PathBuf::from(place),
            content: Content::Text("x".into()),
            mode: 0o644,
        };
        let missing = File {
            content: Content::Copy(root.join("nowhere")),
            ..text("b/two")
        };
        assert!(place(&root, &[text("a/one"), missing]).is_err());
        assert_eq!(std::fs::read_dir(root.join("a")).unwrap().count(), 0);
        place(&root, &[text("a/one")]).unwrap();
        place(&root, &[text("a/one")]).unwrap();
        assert_eq!(std::fs::read_dir(root.join("a")).unwrap().count(), 1);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
