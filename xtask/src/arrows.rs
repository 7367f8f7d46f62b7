//! Checks that only allowed dependencies exist: between crates, and, by [`walls`], between the
//! layers of a device crate.
//!
//! An allowed dependency includes everything that its target may depend on. Tests may also use
//! `testkit` and `samples`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};
use crate::{circles, walls};

/// Each folder of `crates/` and its allowed dependencies.
const ARROWS: [(&str, &[&str]); 42] = [
    ("base", &[]),
    ("wire", &["base"]),
    ("tcp", &["base", "wire"]),
    ("mac", &["base", "wire"]),
    ("lowpan", &["base", "wire"]),
    ("stack", &["base", "tcp", "wire", "mac", "lowpan"]),
    ("socket", &["stack"]),
    // `assist` depends on `stack` only with the feature `node`, which no image enables.
    ("assist", &["base", "wire", "stack"]),
    ("border", &["stack", "assist"]),
    ("coap", &["base"]),
    ("ota", &[]),
    ("apps", &["base"]),
    ("replay", &["stack"]),
    ("rivals", &["stack"]),
    ("uart", &["base", "mac", "wire"]),
    ("transceiver", &["base", "mac", "wire"]),
    ("leaf", &["stack", "uart"]),
    ("radiotest", &["base", "mac", "wire"]),
    (
        "sim",
        &[
            "stack", "socket", "border", "assist", "coap", "ota", "replay", "rivals", "uart",
        ],
    ),
    ("dissect", &["base", "mac", "wire"]),
    ("experiments", &["sim"]),
    ("results", &["experiments"]),
    ("sweep", &["results"]),
    ("chaos", &["sim"]),
    ("studies", &["experiments"]),
    ("linux", &["border"]),
    // `cli` uses `peers` only with the feature `bench`, and `modules` only with the feature
    // `modules`; both features are off by default.
    (
        "cli",
        &[
            "sim", "studies", "results", "sweep", "chaos", "linux", "wire", "web", "dissect",
            "taim", "peers", "modules",
        ],
    ),
    ("page", &[]),
    ("program", &["linux"]),
    ("taim", &["assist", "linux", "page", "program"]),
    ("web", &["sim", "dissect", "page"]),
    // `wasm` uses `web` without the feature `server`.
    ("wasm", &["sim", "web"]),
    ("modules", &["sim"]),
    ("capi", &["socket", "assist"]),
    // `python` uses `studies` only with its feature `studies`.
    ("python", &["sweep", "studies"]),
    ("samples", &["apps"]),
    ("testkit", &["base", "tcp", "wire"]),
    ("fuzz", &["sim", "linux", "web", "dissect", "testkit"]),
    ("proofs", &["stack", "assist"]),
    ("packetdrill", &["socket"]),
    ("peers", &["base", "tcp", "testkit"]),
    ("xtask", &[]),
];

/// Additional crates for tests.
const TEST_CRATES: [&str; 2] = ["testkit", "samples"];
/// Additional crates for the tests of one crate: other TCPs and sockets that run against a kernel,
/// programs for microcontrollers that run with simulated nodes, and studies whose nodes run
/// OpenThread.
const TEST_ARROWS: [(&str, &str); 7] = [
    ("linux", "rivals"),
    ("linux", "socket"),
    ("modules", "experiments"),
    ("modules", "studies"),
    ("sim", "leaf"),
    ("sim", "radiotest"),
    ("sim", "transceiver"),
];

/// A dependency of one package of this repository on another.
#[derive(Debug, PartialEq, Eq)]
struct Arrow {
    from: String,
    to: String,
    dev: bool,
}

pub fn run(workspace: &Workspace) -> Outcome {
    let mut cargo = workspace.cargo();
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    let json = workspace::output(&mut cargo)?;
    let metadata: Value = serde_json::from_str(&json)
        .map_err(|e| Failure::new(format!("`cargo metadata` wrote unreadable JSON: {e}")))?;
    let (arrows, mut findings) = read(&metadata);
    findings.extend(arrows.iter().filter_map(judge));
    Failure::unless_empty(
        "arrows: dependencies that the architecture does not allow; \
         remove them, or change the allowed dependencies with a decision record in docs/adr \
         and the table in xtask/src/arrows.rs",
        findings,
    )?;
    walls::run(workspace)?;
    circles::run(workspace)?;
    println!("arrows: {} dependencies, all allowed", arrows.len());
    Ok(())
}

/// Returns all crates on which `from` may depend, directly or indirectly.
fn visible(from: &str) -> Option<BTreeSet<&'static str>> {
    let (_, direct) = ARROWS.iter().find(|(name, _)| *name == from)?;
    let mut seen = BTreeSet::new();
    for target in *direct {
        seen.insert(*target);
        seen.extend(visible(target)?);
    }
    Some(seen)
}

fn judge(arrow: &Arrow) -> Option<String> {
    let Arrow { from, to, dev } = arrow;
    let Some(allowed) = visible(from) else {
        return Some(format!(
            "{from}: not a crate of the architecture's tree; add it to the table in \
             xtask/src/arrows.rs with its allowed dependencies"
        ));
    };
    let in_tests =
        TEST_CRATES.contains(&to.as_str()) || TEST_ARROWS.contains(&(from.as_str(), to.as_str()));
    if allowed.contains(to.as_str()) || *dev && in_tests {
        return None;
    }
    let list: Vec<&str> = allowed.into_iter().collect();
    let kind = if *dev { "dev-dependency" } else { "dependency" };
    Some(format!(
        "{from} -> {to}: a {kind} that is not allowed; {from} may use {}",
        if list.is_empty() {
            "none of this repository's crates".to_owned()
        } else {
            list.join(", ")
        }
    ))
}

/// Returns the dependencies between packages of this repository, and the packages that are not
/// named after their folder.
fn read(metadata: &Value) -> (Vec<Arrow>, Vec<String>) {
    let mut arrows = Vec::new();
    let mut findings = Vec::new();
    for package in array(&metadata["packages"]) {
        let folder = folder_of(text(&package["manifest_path"]).trim_end_matches("/Cargo.toml"));
        let expected = match folder {
            "cli" => "redpoll".to_owned(),
            "xtask" => "xtask".to_owned(),
            other => format!("redpoll-{other}"),
        };
        let name = text(&package["name"]);
        if name != expected {
            findings.push(format!(
                "{name}: the package in the folder `{folder}` must be named `{expected}`"
            ));
        }
        if visible(folder).is_none() {
            findings.push(format!(
                "{folder}: not a crate of the architecture's tree; add it to the table in \
                 xtask/src/arrows.rs with its allowed dependencies"
            ));
            continue;
        }
        for dependency in array(&package["dependencies"]) {
            // External crates come from a registry and have no path.
            let Some(path) = dependency["path"].as_str() else {
                continue;
            };
            let to = folder_of(path).to_owned();
            // A package's tests may name the package itself.
            if to != folder {
                arrows.push(Arrow {
                    from: folder.to_owned(),
                    to,
                    dev: dependency["kind"] == "dev",
                });
            }
        }
    }
    (arrows, findings)
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn folder_of(path: &str) -> &str {
    path.trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arrow(from: &str, to: &str, dev: bool) -> Arrow {
        Arrow {
            from: from.into(),
            to: to.into(),
            dev,
        }
    }

    #[test]
    fn an_arrow_includes_the_arrows_of_its_target() {
        for (from, to) in [
            ("tcp", "base"),
            ("border", "tcp"),
            ("sim", "mac"),
            ("cli", "wire"),
            ("studies", "border"),
        ] {
            assert_eq!(judge(&arrow(from, to, false)), None, "{from} -> {to}");
        }
    }

    #[test]
    fn no_other_arrow_is_legal() {
        for (from, to) in [
            ("tcp", "mac"),
            ("mac", "tcp"),
            ("base", "wire"),
            ("wire", "testkit"),
            ("sim", "linux"),
            ("sim", "cli"),
            ("experiments", "studies"),
            ("results", "studies"),
            ("sweep", "studies"),
        ] {
            let finding = judge(&arrow(from, to, false)).expect("it is forbidden");
            assert!(
                finding.starts_with(&format!("{from} -> {to}:")),
                "{finding}"
            );
        }
        assert!(judge(&arrow("novelty", "base", false)).is_some());
    }

    #[test]
    fn tests_may_use_only_testkit() {
        assert_eq!(judge(&arrow("tcp", "testkit", true)), None);
        assert!(judge(&arrow("tcp", "testkit", false)).is_some());
        assert!(judge(&arrow("tcp", "mac", true)).is_some());
    }

    #[test]
    fn the_table_is_closed_and_has_no_circle() {
        for (name, _) in ARROWS {
            // A crate outside the table gives `None`; in a circle, the recursion does not end.
            let seen = visible(name).expect(name);
            assert!(!seen.contains(name), "{name} depends on itself");
        }
    }

    #[test]
    fn reads_the_output_of_cargo() {
        let metadata = json!({ "packages": [
            {
                "name": "redpoll-tcp",
                "manifest_path": "/src/crates/tcp/Cargo.toml",
                "dependencies": [
                    { "name": "redpoll-base", "kind": null, "path": "/src/crates/base" },
                    { "name": "redpoll-testkit", "kind": "dev", "path": "/src/crates/testkit" },
                    { "name": "redpoll-tcp", "kind": "dev", "path": "/src/crates/tcp" },
                    { "name": "proptest", "kind": "dev" },
                ],
            },
            { "name": "redpoll", "manifest_path": "/src/crates/cli/Cargo.toml", "dependencies": [] },
            { "name": "mac", "manifest_path": "/src/crates/mac/Cargo.toml", "dependencies": [] },
        ] });
        let (arrows, findings) = read(&metadata);
        assert_eq!(
            arrows,
            [arrow("tcp", "base", false), arrow("tcp", "testkit", true)]
        );
        assert_eq!(
            findings,
            ["mac: the package in the folder `mac` must be named `redpoll-mac`"]
        );
    }

    #[test]
    fn this_repository_is_in_order() {
        run(&Workspace::here()).unwrap();
    }
}
