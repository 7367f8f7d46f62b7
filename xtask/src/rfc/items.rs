//! The items and the tests of a Rust file that a ledger may name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Fields, ImplItem, Item, TraitItem, Type};

/// Finds items in files, reading each file once.
pub struct Items {
    root: PathBuf,
    files: BTreeMap<String, Option<File>>,
}

struct File {
    items: BTreeSet<String>,
    tests: BTreeSet<String>,
}

impl Items {
    pub fn new(root: &Path) -> Self {
        Items {
            root: root.to_path_buf(),
            files: BTreeMap::new(),
        }
    }

    /// Returns the error of a place such as `crates/tcp/src/rtt.rs:RttEstimator::on_ack`, if any.
    pub fn wrong_place(&mut self, place: &str) -> Option<String> {
        let Some((path, item)) = place.split_once(":") else {
            return Some(format!("`{place}` is not a place; allowed: file.rs:item"));
        };
        match self.file(path) {
            None => Some(format!("there is no Rust file `{path}`")),
            Some(file) if file.items.contains(item) => None,
            Some(_) => Some(format!("`{path}` has no item `{item}`")),
        }
    }

    /// Returns the error of a test such as `crates/tcp/tests/rfc6298.rs::karn`, or of a packetdrill
    /// script such as `crates/packetdrill/scripts/close.pkt`, if any.
    pub fn wrong_test(&mut self, test: &str) -> Option<String> {
        if test.ends_with(".pkt") {
            let exists = self.root.join(test).is_file();
            return (!exists).then(|| format!("there is no script `{test}`"));
        }
        let Some((path, name)) = test.split_once("::") else {
            return Some(format!("`{test}` is not a test; allowed: file.rs::name"));
        };
        match self.file(path) {
            None => Some(format!("there is no Rust file `{path}`")),
            Some(file) if file.tests.contains(name) => None,
            Some(_) => Some(format!("`{path}` has no test `{name}`")),
        }
    }

    fn file(&mut self, path: &str) -> Option<&File> {
        let root = &self.root;
        let read = || {
            let text = std::fs::read_to_string(root.join(path)).ok()?;
            File::parse(&text)
        };
        self.files
            .entry(path.to_owned())
            .or_insert_with(read)
            .as_ref()
    }
}

impl File {
    fn parse(text: &str) -> Option<File> {
        let mut file = File {
            items: BTreeSet::new(),
            tests: BTreeSet::new(),
        };
        collect_items(&syn::parse_file(text).ok()?.items, &mut file.items);
        collect_tests(text.parse().ok()?, &mut file.tests);
        Some(file)
    }
}

fn collect_items(items: &[Item], names: &mut BTreeSet<String>) {
    for item in items {
        match item {
            Item::Const(item) => _ = names.insert(item.ident.to_string()),
            Item::Fn(item) => _ = names.insert(item.sig.ident.to_string()),
            Item::Static(item) => _ = names.insert(item.ident.to_string()),
            Item::Type(item) => _ = names.insert(item.ident.to_string()),
            Item::Struct(item) => {
                let owner = item.ident.to_string();
                fields(&owner, &item.fields, names);
                names.insert(owner);
            }
            Item::Enum(item) => {
                let owner = item.ident.to_string();
                let variants = item.variants.iter();
                names.extend(variants.map(|v| format!("{owner}::{}", v.ident)));
                names.insert(owner);
            }
            Item::Trait(item) => {
                let owner = item.ident.to_string();
                let methods = item.items.iter().filter_map(|item| match item {
                    TraitItem::Fn(method) => Some(&method.sig.ident),
                    _ => None,
                });
                names.extend(methods.map(|method| format!("{owner}::{method}")));
                names.insert(owner);
            }
            Item::Impl(item) => {
                let Type::Path(owner) = &*item.self_ty else {
                    continue;
                };
                let Some(owner) = owner.path.segments.last() else {
                    continue;
                };
                let members = item.items.iter().filter_map(|member| match member {
                    ImplItem::Fn(method) => Some(&method.sig.ident),
                    ImplItem::Const(item) => Some(&item.ident),
                    _ => None,
                });
                names.extend(members.map(|member| format!("{}::{member}", owner.ident)));
            }
            Item::Mod(item) => {
                if let Some((_, inner)) = &item.content {
                    collect_items(inner, names);
                }
            }
            _ => {}
        }
    }
}

fn fields(owner: &str, fields: &Fields, names: &mut BTreeSet<String>) {
    let fields = fields.iter().filter_map(|field| field.ident.as_ref());
    names.extend(fields.map(|field| format!("{owner}::{field}")));
}

/// Collects the functions with `#[test]`, including those in `proptest!` and other macros, except
/// ignored functions.
fn collect_tests(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let (mut test, mut ignored) = (false, false);
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                if let Some(TokenTree::Group(attribute)) = tokens.next_if(is_attribute) {
                    let attribute = attribute.stream().to_string();
                    test |= attribute == "test";
                    ignored |= attribute.starts_with("ignore");
                }
            }
            TokenTree::Ident(word) if word == "fn" => {
                if let (true, Some(TokenTree::Ident(name))) = (test && !ignored, tokens.peek()) {
                    names.insert(name.to_string());
                }
                (test, ignored) = (false, false);
            }
            TokenTree::Group(group) => collect_tests(group.stream(), names),
            _ => {}
        }
    }
}

fn is_attribute(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_tests_of_every_kind() {
        let file = File::parse(
            "const A: u8 = 0; struct S { f: u8 } enum E { V } trait T { fn t(&self); }
             impl<B: Bytes> S<B> { const C: u8 = 1; fn m(&self) {} }
             fn free() {}
             #[cfg(test)] mod tests {
                 #[test] fn one() {}
                 #[test] #[ignore = \"slow\"] fn two() {}
                 fn helper() {}
                 proptest! { /// Text.
                     #[test] fn three(x in 0..9u8) { assert!(x < 9); } }
             }",
        )
        .unwrap();
        for item in ["A", "S", "S::f", "E::V", "T::t", "S::m", "S::C", "free"] {
            assert!(file.items.contains(item), "{item}");
        }
        assert!(!file.items.contains("m"));
        let tests: Vec<_> = file.tests.iter().collect();
        assert_eq!(tests, ["one", "three"]);
    }

    #[test]
    fn broken_references_are_reported() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut items = Items::new(here);
        assert_eq!(items.wrong_place("src/rfc/items.rs:Items::file"), None);
        let this = "src/rfc/items.rs::broken_references_are_reported";
        assert_eq!(items.wrong_test(this), None);
        for place in ["src/rfc/items.rs", "src/none.rs:x", "src/rfc/items.rs:x"] {
            assert!(items.wrong_place(place).is_some(), "{place}");
        }
        for test in [
            "src/rfc/items.rs",
            "src/none.rs::x",
            "src/rfc/items.rs::file",
            "none.pkt",
        ] {
            assert!(items.wrong_test(test).is_some(), "{test}");
        }
    }
}
