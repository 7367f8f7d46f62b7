//! The public interface of the published crates and of the simulator, as lists in `docs/api`. The
//! lists are made from rustdoc's JSON, whose format changes with releases of Rust. With a toolchain
//! of another format the check is skipped.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::clib::install::target_dir;
use crate::report::{self, Failure, Outcome};
use crate::workspace::{self, Workspace};
use crate::{publish, source};

/// The format of rustdoc's JSON that the crate `public-api` reads, in the version in `Cargo.toml`.
const FORMAT: u64 = 57;

/// An unpublished crate that is listed with its default features: other crates build upon it.
const SIM: &str = "redpoll-sim";

/// Crates, each with the maximum number of items in its public interface.
const LIMITS: [(&str, usize); 5] = [
    ("redpoll-stack", 250),
    ("redpoll-socket", 120),
    ("redpoll-tcp", 220),
    ("redpoll-mac", 120),
    (SIM, 150),
];

const COUNTED: &str = "\
items: types, traits, functions, methods, constants, statics, macros and re-exports;
modules, fields, variants and implementations of traits are not counted";

/// The advice to accept a difference.
const ACCEPT: &str = "accept: `cargo xtask api --accept`, and commit docs/api";

/// The kinds of rustdoc's JSON that are listed and not counted.
const UNCOUNTED: [&str; 4] = ["module", "struct_field", "variant", "impl"];

/// Compares the lists with the sources. Returns the reason if the toolchain cannot make them.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let listings = match listings(workspace)? {
        Ok(listings) => listings,
        Err(reason) => return Ok(Some(reason)),
    };
    print(&listings);
    Failure::unless_empty("api: too many public items:", exceeded(&listings))?;
    let mut findings = Vec::new();
    for listing in &listings {
        let file = listing.file(workspace);
        let known = if file.is_file() {
            source::read(&file)?
        } else {
            String::new()
        };
        let differences = differences(known.lines(), listing.lines.iter().map(String::as_str));
        if !differences.is_empty() {
            findings.push(format!("{}", workspace.relative(&file).display()));
            findings.extend(differences);
        }
    }
    findings.extend(left_over(workspace, &listings)?);
    if !findings.is_empty() {
        findings.push(ACCEPT.to_owned());
    }
    Failure::unless_empty("api: the public interface differs from docs/api:", findings)?;
    Ok(None)
}

/// Writes the lists.
pub fn accept(workspace: &Workspace) -> Outcome {
    let listings = listings(workspace)?.map_err(|reason| Failure::new(format!("api: {reason}")))?;
    print(&listings);
    let folder = folder(workspace);
    let failed = |e| Failure::new(format!("cannot write {}: {e}", folder.display()));
    if folder.is_dir() {
        std::fs::remove_dir_all(&folder).map_err(failed)?;
    }
    std::fs::create_dir_all(&folder).map_err(failed)?;
    for listing in &listings {
        let text = listing.lines.join("\n") + "\n";
        std::fs::write(listing.file(workspace), text).map_err(failed)?;
    }
    println!("api: docs/api is written");
    Failure::unless_empty("api: too many public items:", exceeded(&listings))
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root.join("docs/api")
}

struct Listing {
    package: String,
    lines: Vec<String>,
    /// Number of lines that are items, see [`COUNTED`].
    items: usize,
}

impl Listing {
    fn file(&self, workspace: &Workspace) -> PathBuf {
        let name = self.package.trim_start_matches("redpoll-");
        folder(workspace).join(format!("{name}.txt"))
    }
}

fn limit(package: &str) -> Option<usize> {
    let limit = LIMITS.iter().find(|(name, _)| *name == package);
    limit.map(|(_, most)| *most)
}

/// Returns a line for each crate with more items than its limit.
fn exceeded(listings: &[Listing]) -> Vec<String> {
    let above = listings.iter().filter_map(|it| {
        let most = limit(&it.package).filter(|most| it.items > *most)?;
        let (package, items) = (&it.package, it.items);
        Some(format!(
            "{package}: {items} items, the limit is {most}: remove items, or combine them"
        ))
    });
    above.collect()
}

fn print(listings: &[Listing]) {
    let mut rows = vec![
        ["crate", "items", "limit", "lines"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for listing in listings {
        let limit = limit(&listing.package);
        rows.push(vec![
            listing.package.clone(),
            listing.items.to_string(),
            limit.map_or(String::new(), |most| format!("<= {most}")),
            listing.lines.len().to_string(),
        ]);
    }
    report::print_table(&rows);
    println!("{COUNTED}");
}

/// Returns the files of `docs/api` that belong to no listed crate.
fn left_over(workspace: &Workspace, listings: &[Listing]) -> Result<Vec<String>, Failure> {
    let folder = folder(workspace);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = |e| Failure::new(format!("cannot read {}: {e}", folder.display()));
    let mut findings = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if !listings.iter().any(|it| it.file(workspace) == path) {
            let path = workspace.relative(&path);
            findings.push(format!(
                "{} belongs to no checked crate; delete the file",
                path.display()
            ));
        }
    }
    Ok(findings)
}

/// Returns the lines that only one of two lists has. The order of the lines is not compared.
fn differences<'a>(
    known: impl Iterator<Item = &'a str>,
    found: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
    known.for_each(|line| *counts.entry(line).or_default() -= 1);
    found.for_each(|line| *counts.entry(line).or_default() += 1);
    let differs = counts.into_iter().filter(|(_, count)| *count != 0);
    let shown = differs.flat_map(|(line, count)| {
        let sign = if count < 0 { '-' } else { '+' };
        let times = usize::try_from(count.unsigned_abs()).unwrap_or(1);
        std::iter::repeat_n(format!("{sign} {line}"), times)
    });
    shown.collect()
}

/// Returns the interfaces of all listed crates, or the reason why this toolchain cannot list them.
fn listings(workspace: &Workspace) -> Result<Result<Vec<Listing>, String>, Failure> {
    let target = target_dir(workspace);
    let format = format(&target.join("api"))?;
    if format != FORMAT {
        return Ok(Err(format!(
            "rustdoc of this toolchain writes JSON of format {format}, and the check reads \
             format {FORMAT} (`cargo +1.95 xtask api`)"
        )));
    }
    let mut packages = publish::published(workspace)?;
    let features = features(workspace, &packages)?;
    packages.push(SIM.to_owned());
    // Uses the build folder of the documentation, so that cargo checks most dependencies only once
    // for the documentation and for the lists.
    let mut cargo = workspace.cargo();
    cargo.args(["doc", "--quiet", "--no-deps", "--lib"]);
    cargo.args(["--features", &features.join(",")]);
    cargo.env("RUSTDOC", rustdoc(&target.join("api"))?);
    cargo.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
    for package in &packages {
        cargo.args(["--package", package]);
    }
    workspace::run(&mut cargo)?;
    packages.sort();
    let listings = packages.into_iter().map(|package| {
        let file = format!("doc/{}.json", package.replace('-', "_"));
        listing(package, &target.join(file))
    });
    listings.collect::<Result<Vec<_>, _>>().map(Ok)
}

/// Writes a script that runs rustdoc with `RUSTC_BOOTSTRAP`, as [`unstable`] does, and returns the
/// script's path. If cargo itself had this variable, it would build again the dependencies whose
/// build scripts read the variable.
fn rustdoc(folder: &Path) -> Result<PathBuf, Failure> {
    let script = folder.join("rustdoc");
    let text = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    std::fs::write(&script, text)
        .and_then(|()| std::fs::set_permissions(&script, Permissions::from_mode(0o755)))
        .map_err(|e| Failure::new(format!("cannot write {}: {e}", script.display())))?;
    Ok(script)
}

/// Allows a stable toolchain to write JSON: the option itself is unstable, and its output is the
/// same for all users of one release.
fn unstable(command: &mut Command) -> &mut Command {
    command.env("RUSTC_BOOTSTRAP", "1")
}

/// Returns the version of rustdoc's JSON format, determined with an empty crate.
fn format(folder: &Path) -> Result<u64, Failure> {
    let folder = folder.join("format");
    let failed = |e| Failure::new(format!("cannot write {}: {e}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let empty = folder.join("empty.rs");
    std::fs::write(&empty, "").map_err(failed)?;
    let mut rustdoc = Command::new("rustdoc");
    rustdoc.args(["-Z", "unstable-options", "--output-format", "json", "-o"]);
    rustdoc.arg(&folder).arg(&empty);
    workspace::output(unstable(&mut rustdoc))?;
    let json = parsed(&source::read(&folder.join("empty.json"))?)?;
    let format = json["format_version"].as_u64();
    format.ok_or_else(|| Failure::new("api: rustdoc's JSON names no format"))
}

fn parsed(json: &str) -> Result<Value, Failure> {
    serde_json::from_str(json)
        .map_err(|e| Failure::new(format!("api: rustdoc wrote unreadable JSON: {e}")))
}

fn features(workspace: &Workspace, packages: &[String]) -> Result<Vec<String>, Failure> {
    let mut cargo = workspace.cargo();
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata = parsed(&workspace::output(&mut cargo)?)?;
    let all = metadata["packages"].as_array().into_iter().flatten();
    let listed = all.filter(|it| packages.iter().any(|name| it["name"] == name.as_str()));
    let features = listed.flat_map(|it| {
        let names = it["features"].as_object().into_iter().flatten();
        names.filter_map(|(name, _)| Some(format!("{}/{name}", it["name"].as_str()?)))
    });
    Ok(features.collect())
}

/// Reads the interface of a crate from rustdoc's JSON. An implementation of a trait is one line,
/// because its methods are those of the trait.
fn listing(package: String, file: &Path) -> Result<Listing, Failure> {
    let index = parsed(&source::read(file)?)?;
    let inner = |id: u32| &index["index"][id.to_string()]["inner"];
    let api = public_api::Builder::from_rustdoc_json(file)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .map_err(|e| Failure::new(format!("api: {package}: {e}")))?;
    let mut listing = Listing {
        package,
        lines: Vec::new(),
        items: 0,
    };
    for item in api.items() {
        let of_trait = |id: u32| inner(id)["impl"]["trait"].is_object();
        if item.parent_id().is_some_and(|id| of_trait(id.0)) {
            continue;
        }
        let line = item.to_string();
        // `derive(PartialEq)` also implements this trait, but only for the compiler.
        if line.contains("core::marker::StructuralPartialEq") {
            continue;
        }
        let kinds = inner(item.id().0).as_object();
        let kind = kinds.and_then(|it| it.keys().next()).map(String::as_str);
        listing.items += usize::from(kind.is_some_and(|it| !UNCOUNTED.contains(&it)));
        listing.lines.push(line);
    }
    Ok(listing)
}

/// Runs the check, and prints the result for people.
pub fn check(workspace: &Workspace) -> Outcome {
    if let Some(skipped) = run(workspace)? {
        println!("api: skipped: {skipped}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_above_its_limit_is_named() {
        let with = |package: &str, items: usize| Listing {
            package: package.to_owned(),
            lines: Vec::new(),
            items,
        };
        let listings = [
            with(SIM, 150),
            with("redpoll-mac", 121),
            with("redpoll-coap", 900),
        ];
        let [found] = &exceeded(&listings)[..] else {
            panic!("one crate is above its limit");
        };
        assert!(
            found.starts_with("redpoll-mac: 121 items, the limit is 120"),
            "{found}"
        );
    }

    #[test]
    fn added_and_removed_lines_are_shown() {
        let known = ["pub fn a()", "pub fn b()", "pub fn b()"];
        let found = ["pub fn b()", "pub fn a()", "pub fn c()"];
        let shown = differences(known.into_iter(), found.into_iter());
        assert_eq!(shown, ["- pub fn b()", "+ pub fn c()"]);
        assert!(differences(known.into_iter(), known.into_iter()).is_empty());
    }
}
