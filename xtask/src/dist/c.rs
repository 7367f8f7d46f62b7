//! Redpoll for C: for microcontrollers, one archive with the header and a static library for each
//! kind of processor; for Linux, one archive for each architecture, with the files that
//! `make install-c` installs.

use super::{Arch, GLIBC, Release, create, create_empty, programs};
use crate::clib;
use crate::report::Outcome;
use crate::workspace;

pub fn build(release: &Release<'_>) -> Outcome {
    let top = format!("redpoll-{}-c-microcontrollers", release.version);
    let folder = release.stage.join(&top);
    create(&folder)?;
    let cargo = || release.command("cargo");
    let target = release.target.join("c-libs");
    clib::archives_of_release(release.workspace, cargo, &target, &folder)?;
    pack(release, &top)?;
    for arch in release.options.archs() {
        for_linux(release, arch)?;
    }
    Ok(())
}

/// Builds the archive for Linux on `arch`. If it is this computer's architecture, also builds and
/// runs the first program of the documents with its files.
fn for_linux(release: &Release<'_>, arch: &Arch) -> Outcome {
    let top = format!("redpoll-{}-c-{}-linux", release.version, arch.name);
    let folder = release.stage.join(&top);
    create_empty(&folder)?;
    let built = release.target.join(arch.target).join("release");
    clib::install_release(
        release.workspace,
        release.command("cargo-zigbuild"),
        (arch.target, GLIBC),
        &built,
        &folder,
    )?;
    let libraries = [
        "libredpoll.a".to_owned(),
        format!("libredpoll.so.{}", release.version),
    ];
    for library in libraries {
        let library = folder.join("lib").join(library);
        workspace::run(programs::objcopy()?.arg("--strip-debug").arg(&library))?;
    }
    pack(release, &top)?;
    if arch.name == std::env::consts::ARCH {
        let sources = release.stage.join("c-first");
        create_empty(&sources)?;
        if let Some(reason) = clib::check_in(release.workspace, &folder, &sources)? {
            println!("dist: skipped the first program in C: {reason}");
        }
    }
    Ok(())
}

/// Packs the folder `top` of the staging folder.
fn pack(release: &Release<'_>, top: &str) -> Outcome {
    let file = release.out.join(format!("{top}.tar.xz"));
    let mut tar = release.tar(&file);
    workspace::run(tar.arg("-C").arg(&release.stage).arg(top))
}
