//! The short form of the tests of packages, for CI: the package of the daemon for this computer is built from the debug
//! program, unpacked, and checked. `make dist-test` installs and purges packages.

use std::path::Path;
use std::process::Command;

use super::{ARCHS, Options, PROGRAMS, Release, create, list, packages, shown, version};
use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

/// Files that the package must contain.
const WANTED: [&str; 8] = [
    "etc/redpoll/taim.toml",
    "usr/bin/redpoll-taim",
    "usr/share/bash-completion/completions/redpoll-taim",
    "usr/share/doc/redpoll-taim/copyright",
    "usr/share/fish/vendor_completions.d/redpoll-taim.fish",
    "usr/share/man/man8/redpoll-taim-check.8.gz",
    "usr/share/man/man8/redpoll-taim.8.gz",
    "usr/share/zsh/vendor-completions/_redpoll-taim",
];

/// Runs the check; returns why it was skipped.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let works = |tool: &str| workspace::output(Command::new(tool).arg("--version")).is_ok();
    let own = workspace.root.join("target/tools/bin/cargo-deb");
    if !own.is_file() {
        return Ok(Some("cargo-deb is missing (scripts/setup.sh test)".into()));
    }
    if !works("dpkg-deb") {
        return Ok(Some("dpkg is missing".into()));
    }
    let Some(arch) = ARCHS.iter().find(|it| it.name == std::env::consts::ARCH) else {
        return Ok(Some(
            "make dist builds no packages for this computer's architecture".into(),
        ));
    };
    let options = Options {
        archs: vec![arch.name.to_owned()],
        programs: vec![PROGRAMS[0].name.to_owned()],
        ..Options::default()
    };
    let folder = workspace.root.join("target/dist-short");
    let release = Release {
        workspace,
        options: &options,
        out: folder.clone(),
        stage: workspace.root.join("target/dist-stage"),
        target: workspace.root.join("target"),
        version: version(workspace)?,
        epoch: "1".to_owned(),
    };
    create(&folder)?;
    stage(&release)?;
    packages::build(&release)?;
    let name = format!("redpoll-taim_{}", release.version);
    let packages = list(&folder)?;
    let package = packages.iter().find(|it| shown(it).contains(&name));
    let package = package.ok_or_else(|| Failure::new("dist: cargo-deb wrote no package"))?;
    let listing = workspace::output(Command::new("dpkg-deb").arg("-c").arg(package))?;
    contents(&listing)?;
    beside_the_whole(&release, &listing)?;
    unpacked(&folder, package)?;
    maintained(workspace, package)?;
    println!("dist: the package of redpoll-taim is complete");
    Ok(None)
}

/// Builds the debug programs, and puts the daemon where the stripped one would be.
fn stage(release: &Release<'_>) -> Outcome {
    let mut cargo = release.workspace.cargo();
    // Selects the packages of the tests' build, because a build of this package alone would select
    // other features of its dependencies and compile all of them again.
    cargo.args(["build", "--quiet", "--workspace", "--tests"]);
    cargo.args(["--bin", "redpoll-taim", "--bin", "redpoll"]);
    workspace::run(&mut cargo)?;
    let built = release.workspace.root.join("target/debug/redpoll-taim");
    for arch in release.options.archs() {
        let folder = release.stripped(arch);
        create(&folder)?;
        let to = folder.join("redpoll-taim");
        std::fs::copy(&built, &to).map_err(|error| super::cannot("copy", &built, &error))?;
    }
    Ok(())
}

/// Checks that the package contains the wanted files, and that all its files belong to root.
fn contents(listing: &str) -> Outcome {
    let mut missing: Vec<String> = WANTED
        .iter()
        .filter(|wanted| {
            !listing
                .lines()
                .any(|line| line.ends_with(&format!("./{wanted}")))
        })
        .map(|it| (*it).to_owned())
        .collect();
    let unit = "systemd/system/redpoll-taim.service";
    if !listing.contains(unit) {
        missing.push(unit.to_owned());
    }
    let foreign = listing
        .lines()
        .filter(|line| !line.contains(" root/root ") && !line.contains(" 0/0 "));
    missing.extend(foreign.map(|line| {
        format!(
            "a file in the package does not belong to root: \
        {line}"
        )
    }));
    Failure::unless_empty(
        "dist: missing or wrong in the package of redpoll-taim:",
        missing,
    )
}

/// Checks that no man page of the whole program has the path of a man page of the daemon, because
/// dpkg would refuse to install both packages.
fn beside_the_whole(release: &Release<'_>, listing: &str) -> Outcome {
    let pages = release.out.join("pages");
    create(&pages)?;
    let program = release.target.join("debug/redpoll");
    workspace::run(Command::new(program).args(["man", "--folder"]).arg(&pages))?;
    let mut places = Vec::new();
    for page in list(&pages)? {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        places.push(format!("./usr/share/man/man1/{name}.gz"));
    }
    places.retain(|place| listing.lines().any(|line| line.ends_with(place)));
    Failure::unless_empty("dist: these files are in both packages:", places)
}

/// Checks that the package names the maintainer and the home page of Cargo.toml.
fn maintained(workspace: &Workspace, package: &Path) -> Outcome {
    let manifest = source::read(&workspace.root.join("Cargo.toml"))?;
    for field in ["Maintainer", "Homepage"] {
        let mut dpkg = Command::new("dpkg-deb");
        let value = workspace::output(dpkg.arg("-f").arg(package).arg(field))?;
        let value = value.trim();
        if value.is_empty() || !manifest.contains(&format!("\"{value}\"")) {
            let line =
                format!("dist: {field} of the package is `{value}`, which is not in Cargo.toml");
            return Err(Failure::new(line));
        }
    }
    Ok(())
}

/// Unpacks the package, and checks that the program accepts the configuration, that dpkg treats it
/// as a configuration file, and that dpkg's scripts handle the unit and are valid for the shell.
fn unpacked(folder: &Path, package: &Path) -> Outcome {
    let root = folder.join("root");
    if root.exists() {
        std::fs::remove_dir_all(&root).map_err(|error| super::cannot("remove", &root, &error))?;
    }
    workspace::run(Command::new("dpkg-deb").arg("-R").args([package, &root]))?;
    let program = root.join("usr/bin/redpoll-taim");
    let config = root.join("etc/redpoll/taim.toml");
    workspace::run(
        Command::new(program)
            .args(["--check-config", "--config"])
            .arg(config),
    )?;
    let control = root.join("DEBIAN");
    let listed = source::read(&control.join("conffiles"))?;
    if listed.trim() != "/etc/redpoll/taim.toml" {
        return Err(Failure::new(format!(
            "dist: the package names the configuration files {listed}; required: \
             /etc/redpoll/taim.toml"
        )));
    }
    for script in ["postinst", "prerm", "postrm"] {
        let text = source::read(&control.join(script))?;
        if text.contains("#DEBHELPER#") || !text.contains("systemd") {
            let line = format!("dist: {script} has no lines of cargo-deb for the systemd unit");
            return Err(Failure::new(line));
        }
        workspace::run(Command::new("sh").arg("-n").arg(control.join(script)))?;
    }
    Ok(())
}
