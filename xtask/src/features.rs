//! Checks the published crates. Each has few features, which only add items. Builds each crate
//! without features, with each feature alone, with the default ones and with all. The tests are
//! built without features. Also builds products of several crates, and all crates for their
//! targets.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

/// Maximum number of features of a crate in addition to `default`.
const MOST: usize = 6;

/// The processors of products: Cortex-M0 and M0+, M4 without and with a floating-point unit, and
/// the RISC-V of ESP32-C6 and H2.
const TARGETS: [&str; 4] = [
    "thumbv6m-none-eabi",
    "thumbv7em-none-eabi",
    "thumbv7em-none-eabihf",
    "riscv32imac-unknown-none-elf",
];

/// Products that use features of several crates: the product's name and its features, which
/// determine its packages.
const PRODUCTS: [(&str, &[&str]); 3] = [
    (
        "leaf",
        &[
            "redpoll-tcp/gentle-recovery",
            "redpoll-stack/security",
            "redpoll-socket/async",
        ],
    ),
    (
        "router",
        &[
            "redpoll-tcp/stats",
            "redpoll-lowpan/forwarding",
            "redpoll-stack/rpl-hosts",
            "redpoll-stack/security",
            "redpoll-socket/edge",
            "redpoll-assist/node",
        ],
    ),
    (
        "border router",
        &[
            "redpoll-tcp/stats",
            "redpoll-tcp/more-options",
            "redpoll-tcp/large-windows",
            "redpoll-lowpan/recovery",
            "redpoll-stack/rpl-root",
            "redpoll-stack/rpl-storing",
            "redpoll-stack/rpl-hosts",
            "redpoll-socket/embassy",
            "redpoll-assist/node",
        ],
    ),
];

/// A published crate and its features in addition to `default`.
struct Published {
    name: String,
    features: BTreeSet<String>,
    default: bool,
}

/// The targets of the short check: the smallest processor and the other architecture. The other two
/// targets differ from the first in atomics and floating point, which no source mentions. Each
/// target costs another build of all dependencies.
const SHORT: [&str; 2] = [TARGETS[0], TARGETS[3]];

/// Checks the features of each crate, and builds the crates for two targets; returns the targets
/// that are not installed. `make publish-check` builds for all targets.
pub fn short(workspace: &Workspace) -> Result<Option<String>, Failure> {
    run(workspace, &SHORT)
}

fn run(workspace: &Workspace, for_targets: &[&str]) -> Result<Option<String>, Failure> {
    let crates = published(workspace)?;
    let mut findings = Vec::new();
    for it in &crates {
        if it.features.len() > MOST {
            let (name, count) = (&it.name, it.features.len());
            findings.push(format!("{name}: {count} features, the limit is {MOST}"));
        }
    }
    for it in &crates {
        findings.extend(wrong_licences(workspace, &it.name)?);
    }
    Failure::unless_empty("features:", findings)?;
    let mut built = 0;
    for it in &crates {
        let all: Vec<&str> = it.features.iter().map(String::as_str).collect();
        let alone = all.iter().map(|feature| (*feature).to_owned());
        let sets = std::iter::once(String::new())
            .chain(alone)
            .chain(it.default.then(|| "default".to_owned()))
            .chain((all.len() > 1).then(|| all.join(",")));
        for set in sets {
            let package = format!("--package=redpoll-{}", it.name);
            let mut cargo = workspace.cargo();
            cargo.args(["check", "--quiet", "--lib", &package]);
            cargo.args(set.is_empty().then_some("--tests"));
            cargo.args(["--no-default-features", "--features", &set]);
            workspace::run(&mut cargo)?;
            built += 1;
        }
    }
    println!(
        "features: {} crates, {built} sets of features build",
        crates.len()
    );
    products(workspace)?;
    targets(workspace, &crates, for_targets)
}

/// Builds each product's crates together, so that features of different crates are combined.
fn products(workspace: &Workspace) -> Outcome {
    for (product, features) in PRODUCTS {
        let packages = features.iter().filter_map(|it| it.split_once('/'));
        let packages: BTreeSet<&str> = packages.map(|(package, _)| package).collect();
        let mut cargo = workspace.cargo();
        cargo.args(["check", "--quiet", "--lib", "--no-default-features"]);
        cargo.args(["--features", &features.join(",")]);
        cargo.args(packages.iter().map(|it| format!("--package={it}")));
        workspace::run(&mut cargo)?;
        println!("features: the crates of the product `{product}` build together");
    }
    Ok(())
}

/// Returns wrong licence files of a crate: a package must contain the repository's texts.
fn wrong_licences(workspace: &Workspace, name: &str) -> Result<Vec<String>, Failure> {
    let folder = workspace.root.join("crates").join(name);
    let mut findings = Vec::new();
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let ours = source::read(&workspace.root.join(file))?;
        if source::read(&folder.join(file))? != ours {
            findings.push(format!(
                "crates/{name}/{file} differs from the repository's {file}; copy the repository's \
                 file to the crate"
            ));
        }
    }
    Ok(findings)
}

/// Builds all crates for those of `targets` that the toolchain has.
fn targets(
    workspace: &Workspace,
    crates: &[Published],
    targets: &[&str],
) -> Result<Option<String>, Failure> {
    let sysroot = workspace::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
    let mut missing = Vec::new();
    for target in targets.iter().copied() {
        if !libraries.join(target).join("lib").is_dir() {
            missing.push(target);
            continue;
        }
        let mut cargo = workspace.cargo();
        cargo.args(["check", "--quiet", "--lib", "--all-features"]);
        cargo.args(["--target", target]);
        // The dependencies of `apps` need atomics; a product whose processor lacks them selects a
        // substitute.
        let lacks = |it: &&Published| target == TARGETS[0] && it.name == "apps";
        let crates = crates.iter().filter(|it| !lacks(it));
        cargo.args(crates.map(|it| format!("--package=redpoll-{}", it.name)));
        workspace::run(&mut cargo)?;
        println!("features: the crates with all their features build for {target}");
    }
    Ok((!missing.is_empty()).then(|| {
        let list = missing.join(" ");
        format!("the toolchain lacks targets: `rustup target add {list}`")
    }))
}

/// Returns the packages that may be published and build without the standard library.
fn published(workspace: &Workspace) -> Result<Vec<Published>, Failure> {
    let mut cargo = workspace.cargo();
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    let json = workspace::output(&mut cargo)?;
    let metadata: Value = serde_json::from_str(&json)
        .map_err(|e| Failure::new(format!("`cargo metadata` wrote unreadable JSON: {e}")))?;
    let names = workspace.device_crates()?;
    let packages = metadata["packages"].as_array().map_or(&[][..], |it| it);
    let mut crates = Vec::new();
    for name in names.into_iter().chain(["apps", "coap"]) {
        let package = format!("redpoll-{name}");
        let found = packages.iter().find(|it| it["name"] == package.as_str());
        let found = found.ok_or_else(|| Failure::new(format!("features: no {package}")))?;
        let keys = found["features"].as_object().into_iter().flatten();
        let mut features: BTreeSet<String> = keys.map(|(key, _)| key.clone()).collect();
        let default = features.remove("default");
        crates.push(Published {
            name: name.to_owned(),
            features,
            default,
        });
    }
    Ok(crates)
}

pub fn check(workspace: &Workspace) -> Outcome {
    if let Some(skipped) = run(workspace, &TARGETS)? {
        println!("features: skipped: {skipped}");
    }
    Ok(())
}
