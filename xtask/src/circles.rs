//! Checks that modules of a crate do not import one another in a circle, because a circle can only
//! be understood as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::Workspace;

/// Crates that are checked in addition to the device crates.
const OTHERS: [&str; 23] = [
    "apps",
    "capi",
    "cli",
    "coap",
    "experiments",
    "linux",
    "modules",
    "packetdrill",
    "page",
    "peers",
    "program",
    "python",
    "radiotest",
    "results",
    "replay",
    "rivals",
    "samples",
    "sim",
    "studies",
    "sweep",
    "taim",
    "testkit",
    "web",
];

/// The modules that each module directly below the root of a crate imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

pub fn run(workspace: &Workspace) -> Outcome {
    let mut findings = Vec::new();
    for name in workspace.device_crates()?.into_iter().chain(OTHERS) {
        let folder = workspace.root.join("crates").join(name).join("src");
        let mut imports = Imports::new();
        for path in source::rust_files(&folder)? {
            let inner = path.strip_prefix(&folder).unwrap_or(&path);
            // The crate's root file names all modules, so the check leaves it out.
            if source::is_test_file(inner)
                || [Path::new("lib.rs"), Path::new("main.rs")].contains(&inner)
            {
                continue;
            }
            let tokens = source::tokens(&path, &source::read(&path)?)?;
            let found = imported(source::without_docs_and_tests(tokens));
            imports.entry(module(inner)).or_default().extend(found);
        }
        let circle = circle(&imports).map(|names| format!("{name}: {}", names.join(" > ")));
        findings.extend(circle);
    }
    Failure::unless_empty("circles: modules that import one another", findings)
}

/// Returns the module directly below the root to which a file belongs.
fn module(inner: &Path) -> String {
    let first = inner.components().next().map(|part| part.as_os_str());
    let first = first.unwrap_or_default().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Returns the names that follow each `crate::`, also in braces.
fn imported(tokens: TokenStream) -> BTreeSet<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = BTreeSet::new();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => found.extend(imported(group.stream())),
            // `crate`, two colons, and the name after them.
            TokenTree::Ident(ident) if ident == "crate" => {
                match tokens.get(index.saturating_add(3)) {
                    Some(TokenTree::Ident(name)) => drop(found.insert(name.to_string())),
                    Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                        found.extend(firsts(group.stream()));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the first name of each path in the braces of a `use`.
fn firsts(tokens: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_first = true;
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => is_first = true,
            TokenTree::Ident(name) if is_first => {
                names.push(name.to_string());
                is_first = false;
            }
            _ => {}
        }
    }
    names
}

/// Returns the modules of a circle, with the first also at the end.
fn circle(imports: &Imports) -> Option<Vec<String>> {
    imports.keys().find_map(|start| {
        let mut way = vec![start.clone()];
        leads_back(imports, start, &mut way, &mut BTreeSet::new()).then_some(way)
    })
}

/// Extends `way` to its start if the modules lead there; returns whether they do.
fn leads_back(
    imports: &Imports,
    start: &str,
    way: &mut Vec<String>,
    seen: &mut BTreeSet<String>,
) -> bool {
    let here = way.last().cloned().unwrap_or_default();
    for next in imports.get(&here).into_iter().flatten() {
        // A module may name itself. Types that the root re-exports are not modules.
        if *next == here || !imports.contains_key(next) {
            continue;
        }
        way.push(next.clone());
        if next == start || (seen.insert(next.clone()) && leads_back(imports, start, way, seen)) {
            return true;
        }
        way.pop();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(of: &[(&str, &str)]) -> Imports {
        let one =
            |(name, text): &(&str, &str)| ((*name).to_owned(), imported(text.parse().unwrap()));
        of.iter().map(one).collect()
    }

    #[test]
    fn a_circle_is_found_over_any_number_of_modules() {
        let line = [
            ("a", "use crate::{Config, b::{self, c}, d::E};"),
            ("b", "fn f() { crate::c::g() }"),
            ("c", "use crate::c::h; use crate::Config;"),
            ("d", ""),
        ];
        assert_eq!(circle(&imports(&line)), None);
        let mut round = line;
        round[2].1 = "use crate::d; use crate::a::E;";
        let expected = ["a", "b", "c", "a"].map(str::to_owned);
        assert_eq!(circle(&imports(&round)), Some(expected.to_vec()));
    }

    #[test]
    fn a_file_belongs_to_the_module_below_the_root() {
        for path in ["recovery.rs", "recovery/rack.rs", "recovery/mod.rs"] {
            assert_eq!(module(Path::new(path)), "recovery");
        }
    }
}
