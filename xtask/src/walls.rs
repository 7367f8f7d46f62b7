//! Checks the separation of the layers in the device crates. A packet passes through the four
//! layers in [`ROOMS`]. A file of the conductor, which connects the layers, may use all of them and
//! must stay small; any other file may use at most two.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::Item;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::Workspace;

/// The layers, each with the identifiers by which code names it.
const ROOMS: [(&str, [&str; 2]); 4] = [
    ("mac", ["mac", "redpoll_mac"]),
    ("lowpan", ["lowpan", "redpoll_lowpan"]),
    ("routing", ["routing", "Routing"]),
    ("tcp", ["tcp", "redpoll_tcp"]),
];
const ROOMS_LIMIT: usize = 2;

/// Folder of the conductor; `NAMES` is the file that re-exports the names of its crate.
const CONDUCTOR: &str = "crates/stack/src/node";
const NAMES: &str = "crates/stack/src/lib.rs";
/// Maximum lines of a file of the conductor; `FIELDS_LIMIT`: maximum fields of its struct.
const LINES_LIMIT: usize = 300;
const FIELDS_LIMIT: usize = 9;

pub fn run(workspace: &Workspace) -> Outcome {
    let mut findings = Vec::new();
    for name in workspace.device_crates()? {
        let folder = workspace.root.join("crates").join(name).join("src");
        for path in source::rust_files(&folder)? {
            let (text, path) = (source::read(&path)?, workspace.relative(&path));
            if source::is_test_file(path) {
                continue;
            }
            findings.extend(check(path, &text)?);
        }
    }
    Failure::unless_empty(
        "walls: files of the device crates that use too many layers; pass what they need through a \
         conductor (docs/adr/0011-three-conductors.md)",
        findings,
    )
}

fn check(path: &Path, text: &str) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let shown = path.display();
    let tokens = source::without_docs_and_tests(source::tokens(path, text)?);
    if path.starts_with(CONDUCTOR) {
        let lines = text.lines().count();
        if lines > LINES_LIMIT {
            findings.push(format!(
                "{shown}: {lines} lines, the limit is {LINES_LIMIT}"
            ));
        }
        if let Some(fields) = fields_of_node(tokens).filter(|fields| *fields > FIELDS_LIMIT) {
            findings.push(format!(
                "{shown}: Node has {fields} fields, the limit is {FIELDS_LIMIT}"
            ));
        }
    } else if path != Path::new(NAMES) {
        let rooms = rooms(tokens);
        if rooms.len() > ROOMS_LIMIT {
            let rooms: Vec<&str> = rooms.into_iter().collect();
            findings.push(format!("{shown}: names {}", rooms.join(", ")));
        }
    }
    Ok(findings)
}

fn rooms(tokens: TokenStream) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    source::flatten(tokens, &mut |token| {
        if let TokenTree::Ident(ident) = token {
            let named = ROOMS
                .iter()
                .filter(|(_, names)| names.iter().any(|n| ident == n));
            found.extend(named.map(|(room, _)| *room));
        }
    });
    found
}

/// Returns the number of fields of the struct `Node`, if `tokens` contain it.
fn fields_of_node(tokens: TokenStream) -> Option<usize> {
    let file: syn::File = syn::parse2(tokens).ok()?;
    file.items.into_iter().find_map(|item| match item {
        Item::Struct(item) if item.ident == "Node" => Some(item.fields.len()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(Path::new(path), text).unwrap()
    }

    #[test]
    fn a_file_that_names_three_rooms_is_named() {
        let two = "use redpoll_mac::Mac; use redpoll_lowpan::Lowpan; // tcp\n";
        assert!(found("crates/stack/src/link/mod.rs", two).is_empty());
        let three = format!("{two} fn f(node: &Node) {{ node.tcp.poll() }}");
        assert_eq!(
            found("crates/stack/src/link/mod.rs", &three),
            ["crates/stack/src/link/mod.rs: names lowpan, mac, tcp"]
        );
        assert!(found("crates/stack/src/node/radio.rs", &three).is_empty());
        assert!(found("crates/stack/src/lib.rs", &three).is_empty());
    }

    #[test]
    fn a_conductor_that_grows_is_named() {
        let long = "// why\n".repeat(301);
        assert_eq!(found("crates/stack/src/node/tcp.rs", &long).len(), 1);
        assert!(found("crates/stack/src/net/mod.rs", &long).is_empty());
        let fields: String = ('a'..='j').map(|field| format!("{field}: u8,")).collect();
        let node = format!("pub struct Node {{ {fields} }}");
        assert_eq!(
            found("crates/stack/src/node/mod.rs", &node),
            ["crates/stack/src/node/mod.rs: Node has 10 fields, the limit is 9"]
        );
    }
}
