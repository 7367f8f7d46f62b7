//! Programs for each architecture, linked with an old C library so that they run on old systems.
//! zig is the linker and the C compiler for every architecture.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Arch, GLIBC, PROGRAMS, Program, Release, SOURCES, cannot, create, shown};
use crate::report::{Failure, Outcome};
use crate::workspace;

/// Builds the programs for each architecture. The stripped programs are in one archive for each
/// architecture, the debug files in another.
pub fn build(release: &Release<'_>) -> Outcome {
    for arch in release.options.archs() {
        let folder = release.stripped(arch);
        create(&folder)?;
        for program in release.options.programs() {
            let built = compile(release, arch, program)?;
            split(&built, &folder, program, &release.workspace.root)?;
            let path = folder.join(program.name);
            let bytes = path
                .metadata()
                .map_err(|error| cannot("read", &path, &error))?;
            let bytes = bytes.len();
            println!("dist: {} for {}: {bytes} bytes", program.name, arch.name);
            if let Some(max) = program.max_bytes.filter(|max| bytes > *max) {
                let line = format!(
                    "dist: {} for {} has {bytes} bytes; at most {max} are allowed",
                    program.name, arch.name
                );
                return Err(Failure::new(line));
            }
        }
        archive(release, arch, "", |name| name.to_owned())?;
        archive(release, arch, "-debug", |name| format!("{name}.debug"))?;
    }
    Ok(())
}

/// Returns the built program, which contains its debug information.
fn compile(release: &Release<'_>, arch: &Arch, program: &Program) -> Result<PathBuf, Failure> {
    let mut cargo = release.command("cargo");
    cargo.args([
        "zigbuild",
        "--locked",
        "--release",
        "--package",
        program.name,
    ]);
    cargo.args(["--target", &format!("{}.{GLIBC}", arch.target)]);
    workspace::run(&mut cargo)?;
    let folder = release.target.join(arch.target).join("release");
    Ok(folder.join(program.name))
}

/// Writes the program without symbols, and its debug information, to `folder`.
fn split(built: &Path, folder: &Path, program: &Program, root: &Path) -> Outcome {
    let stripped = folder.join(program.name);
    let debug = folder.join(format!("{}.debug", program.name));
    let call = |args: &[&str], from: &Path, to: &Path| {
        let mut command = objcopy()?;
        // Runs in the folder, so that the link to the debug file contains its name and no path.
        command.current_dir(folder).args(args).arg(from).arg(to);
        workspace::run(&mut command)
    };
    call(&["--only-keep-debug"], built, &debug)?;
    rename_sources(&debug, root)?;
    let link = format!("--add-gnu-debuglink={}", shown(&debug));
    call(&["--strip-all", &link], built, &stripped)
}

/// Replaces the folder of the sources in the debug information of zig's own C files. zig compiles them
/// when it links, with the working folder and without our options.
fn rename_sources(debug: &Path, root: &Path) -> Outcome {
    let mut bytes = std::fs::read(debug).map_err(|error| cannot("read", debug, &error))?;
    rename_all(&mut bytes, shown(root).as_bytes());
    std::fs::write(debug, bytes).map_err(|error| cannot("write", debug, &error))
}

/// Replaces the folder `from`, alone or in a path, by [`SOURCES`], cut or continued with slashes to the
/// same length, because DWARF has offsets.
fn rename_all(bytes: &mut [u8], from: &[u8]) {
    let slashes = std::iter::repeat(b'/');
    let to: Vec<u8> = SOURCES.bytes().chain(slashes).take(from.len()).collect();
    let mut at = 0;
    while at + from.len() < bytes.len() {
        let end = at + from.len();
        if bytes[at..end] == *from && matches!(bytes[end], 0 | b'/') {
            bytes[at..end].copy_from_slice(&to);
            at = end;
        } else {
            at += 1;
        }
    }
}

/// Returns an objcopy that knows all architectures: that of Rust's toolchain, or LLVM's.
pub(super) fn objcopy() -> Result<Command, Failure> {
    let sysroot = workspace::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let version = workspace::output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let libraries = Path::new(sysroot.trim()).join("lib");
    let own = libraries.join("rustlib").join(host.unwrap_or_default());
    let own = own.join("bin/rust-objcopy");
    for program in [own, PathBuf::from("llvm-objcopy")] {
        let make = || {
            let mut command = Command::new(&program);
            // The toolchain's objcopy finds its libraries in this folder.
            command.env("LD_LIBRARY_PATH", &libraries);
            command
        };
        if workspace::output(make().arg("--version")).is_ok() {
            return Ok(make());
        }
    }
    Err(Failure::new(
        "dist: no objcopy for all architectures: sudo apt-get install llvm",
    ))
}

/// Packs the existing files that `name` selects into one archive.
fn archive(
    release: &Release<'_>,
    arch: &Arch,
    suffix: &str,
    name: impl Fn(&str) -> String,
) -> Outcome {
    let folder = release.stripped(arch);
    let names = PROGRAMS.iter().map(|program| name(program.name));
    let names: Vec<String> = names.filter(|it| folder.join(it).is_file()).collect();
    let top = format!("redpoll-{}-{}-linux{suffix}", release.version, arch.name);
    let file = release.out.join(format!("{top}.tar.xz"));
    let mut tar = release.tar(&file);
    tar.arg(format!("--transform=s,^,{top}/,"));
    tar.args(["LICENSE-APACHE", "LICENSE-MIT", "-C"])
        .arg(folder);
    workspace::run(tar.args(names))
}

#[cfg(test)]
mod tests {
    use super::rename_all;

    #[test]
    fn a_folder_is_replaced_and_no_offset_changes() {
        let renamed = |text: &str, from: &str| {
            let mut bytes = text.as_bytes().to_vec();
            rename_all(&mut bytes, from.as_bytes());
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(renamed("a\0/tmp/dist\0b", "/tmp/dist"), "a\0/usr/src/\0b");
        let long = "/home/somebody/redpoll";
        assert_eq!(
            renamed(&format!("{long}\0{long}\0"), long),
            "/usr/src/redpoll//////\0/usr/src/redpoll//////\0"
        );
        assert_eq!(renamed("/tmp/dist/x\0", "/tmp/dist"), "/usr/src//x\0");
        assert_eq!(renamed("/tmp/distx\0", "/tmp/dist"), "/tmp/distx\0");
        assert_eq!(renamed("/tmp/dist", "/tmp/dist"), "/tmp/dist");
    }
}
