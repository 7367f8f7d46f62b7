//! Packages for Debian. cargo-deb reads their contents from the manifests of the programs.

use std::path::Path;

use super::{Arch, Program, Release, create, create_empty, shown};
use crate::report::{Failure, Outcome};
use crate::workspace;

/// Builds the package of each program for each architecture.
pub fn build(release: &Release<'_>) -> Outcome {
    describe(release)?;
    for arch in release.options.archs() {
        for program in release.options.programs() {
            pack(release, arch, program)?;
        }
    }
    Ok(())
}

/// Writes man pages and completions to the folder in which the manifests look for them.
fn describe(release: &Release<'_>) -> Outcome {
    let folder = release.stage.join("share");
    // An earlier build may have left man pages of removed commands.
    create_empty(&folder)?;
    for program in release.options.programs() {
        if program.name == "redpoll-taim" {
            create(&folder.join("man-taim"))?;
            let mut cargo = release.workspace.cargo();
            // The command names no package. Cargo therefore selects the features of dependencies as
            // for the tests, so that these dependencies are built once.
            cargo.args(["run", "--quiet", "--example", "describe"]);
            workspace::run(cargo.arg(&folder))?;
        } else {
            whole(release, &folder)?;
        }
    }
    Ok(())
}

/// Lets the program for this computer write its man pages and completions.
fn whole(release: &Release<'_>, folder: &Path) -> Outcome {
    let native = super::ARCHS
        .iter()
        .find(|arch| arch.name == std::env::consts::ARCH)
        .map(|arch| release.stripped(arch).join("redpoll"))
        .filter(|program| program.is_file());
    let native = native.ok_or_else(|| {
        Failure::new(format!(
            "dist: the man pages of redpoll need the program for this computer: --arch {}",
            std::env::consts::ARCH
        ))
    })?;
    create(&folder.join("man"))?;
    let mut man = release.command(&native);
    workspace::run(man.args(["man", "--folder"]).arg(folder.join("man")))?;
    for (shell, file) in [
        ("bash", "redpoll.bash"),
        ("fish", "redpoll.fish"),
        ("zsh", "_redpoll"),
    ] {
        let text = workspace::output(release.command(&native).args(["completions", shell]))?;
        super::write(&folder.join(file), &text)?;
    }
    Ok(())
}

fn pack(release: &Release<'_>, arch: &Arch, program: &Program) -> Outcome {
    let manifest = release.workspace.root.join(program.folder);
    let mut deb = release.command("cargo");
    deb.args(["deb", "--quiet", "--no-build", "--no-strip"]);
    deb.args(["--package", program.name, "--target", arch.target]);
    deb.args(["--manifest-path", &shown(&manifest.join("Cargo.toml"))]);
    deb.arg("--output").arg(&release.out);
    // The folder with the stripped programs.
    deb.env("CARGO_TARGET_DIR", &release.stage);
    workspace::run(&mut deb)
}
