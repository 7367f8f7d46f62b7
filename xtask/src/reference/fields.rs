//! The tables of `docs/report.md`: the fields of the report's structs, with their doc comments.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, Item, Lit, Meta, Token, Type, Visibility};

use crate::report::Failure;
use crate::source;
use crate::workspace::Workspace;

pub const PAGE: &str = "docs/report.md";
/// Starts a line above a table; the file and the struct follow.
const BEGIN: &str = "<!-- fields: begin ";
/// The line below a table.
const END: &str = "<!-- fields: end -->";

/// A field: its name in the JSON object, and its meaning.
#[derive(Debug, PartialEq, Eq)]
struct Field {
    name: String,
    meaning: String,
}

/// Returns the page with new tables. The other lines are those of the page.
pub fn page(workspace: &Workspace) -> Result<String, Failure> {
    let old = super::read(workspace, PAGE)?;
    let mut new = String::new();
    let mut lines = old.lines();
    while let Some(line) = lines.next() {
        new += line;
        new.push('\n');
        let Some(place) = line.strip_prefix(BEGIN) else {
            continue;
        };
        let place = place.trim_end_matches(" -->");
        let (file, name) = place.split_once(' ').ok_or_else(|| {
            Failure::new(format!("{PAGE}: `{line}` must name a file and a struct"))
        })?;
        if !lines.any(|line| line == END) {
            return Err(Failure::new(format!("{PAGE}: no `{END}` after `{line}`")));
        }
        new += &table(&fields(workspace, file, name)?);
        new += END;
        new.push('\n');
    }
    Ok(new)
}

fn table(fields: &[Field]) -> String {
    let mut table = "| field | meaning |\n| --- | --- |\n".to_owned();
    for field in fields {
        let meaning = field.meaning.replace('|', "\\|");
        table += &format!("| `{}` | {meaning} |\n", field.name);
    }
    table
}

fn fields(workspace: &Workspace, file: &str, name: &str) -> Result<Vec<Field>, Failure> {
    let text = source::read(&workspace.root.join(file))?;
    fields_in(&text, name).map_err(|reason| Failure::new(format!("{file}: {reason}")))
}

/// Returns the fields of a struct that a Rust file declares directly or by the macro `figures!`.
fn fields_in(text: &str, name: &str) -> Result<Vec<Field>, String> {
    let file = syn::parse_file(text).map_err(|e| e.to_string())?;
    for item in file.items {
        match item {
            Item::Struct(item) if item.ident == name => {
                let fields = item.fields.into_iter();
                let public = fields.filter(|it| matches!(it.vis, Visibility::Public(_)));
                let named = public.filter_map(|it| Some((it.ident?, it.attrs)));
                return described(name, named);
            }
            Item::Macro(item) if item.mac.path.is_ident("figures") => {
                let figures: Figures = item.mac.parse_body().map_err(|e| e.to_string())?;
                if figures.name == name {
                    let fields = figures.fields.into_iter();
                    return described(name, fields.map(|it| (it.name, it.attributes)));
                }
            }
            _ => {}
        }
    }
    Err(format!("no struct `{name}`"))
}

/// Returns the fields that are members of the JSON object, with their doc comments.
fn described(
    of: &str,
    fields: impl Iterator<Item = (Ident, Vec<Attribute>)>,
) -> Result<Vec<Field>, String> {
    let fields = fields.filter(|(_, attributes)| !is_omitted(attributes));
    let fields = fields.map(|(name, attributes)| {
        let meaning = doc(&attributes);
        if meaning.is_empty() {
            return Err(format!("`{of}::{name}` has no doc comment"));
        }
        let name = name.to_string();
        Ok(Field { name, meaning })
    });
    fields.collect()
}

/// Returns whether serde leaves the field out, or puts its members into the object that contains it.
fn is_omitted(attributes: &[Attribute]) -> bool {
    let mut is_omitted = false;
    for attribute in attributes.iter().filter(|it| it.path().is_ident("serde")) {
        // Other arguments have values, which end this loop early; none of them omits a field.
        let _ = attribute.parse_nested_meta(|meta| {
            is_omitted |= meta.path.is_ident("skip") || meta.path.is_ident("flatten");
            Ok(())
        });
    }
    is_omitted
}

/// Returns a doc comment as one line.
fn doc(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(value) = &pair.value
            && let Lit::Str(line) = &value.lit
        {
            lines.push(line.value().trim().to_owned());
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.join(" ")
}

/// The body of `figures!`.
struct Figures {
    name: Ident,
    fields: Punctuated<Figure, Token![,]>,
}

struct Figure {
    attributes: Vec<Attribute>,
    name: Ident,
}

impl Parse for Figures {
    fn parse(input: ParseStream<'_>) -> syn::Result<Figures> {
        input.call(Attribute::parse_outer)?;
        let name: Ident = input.parse()?;
        let of: Ident = input.parse()?;
        if of != "of" {
            return Err(syn::Error::new(of.span(), "`of` is missing"));
        }
        let content;
        syn::parenthesized!(content in input);
        content.parse::<proc_macro2::TokenStream>()?;
        let content;
        syn::braced!(content in input);
        let fields = content.parse_terminated(Figure::parse, Token![,])?;
        Ok(Figures { name, fields })
    }
}

impl Parse for Figure {
    fn parse(input: ParseStream<'_>) -> syn::Result<Figure> {
        let attributes = input.call(Attribute::parse_outer)?;
        let name = input.parse()?;
        if input.parse::<Option<Token![:]>>()?.is_some() {
            input.parse::<Type>()?;
        }
        if input.parse::<Option<Token![=]>>()?.is_some() {
            input.parse::<Expr>()?;
        }
        Ok(Figure { attributes, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_comments_of_structs_and_of_the_macro() {
        let text = "pub struct A {\n/// One\n/// two.\n#[serde(skip_serializing_if = \"f\")]\n\
                    pub a: u8,\n#[serde(skip)]\npub b: u8,\n#[serde(flatten)]\npub c: C,\nd: u8,\n}\n\
                    figures! {\n/// B.\n#[derive(Clone)]\nB of(it: &C, x: u64) {\n/// Three.\ne,\n\
                    /// Four.\nf: Option<f64> = x + it.f(),\n}\n}\n";
        let field = |name: &str, meaning: &str| Field {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
        };
        assert_eq!(fields_in(text, "A"), Ok(vec![field("a", "One two.")]));
        let figures = vec![field("e", "Three."), field("f", "Four.")];
        assert_eq!(fields_in(text, "B"), Ok(figures));
        assert_eq!(fields_in(text, "C"), Err("no struct `C`".to_owned()));
        let bare = "pub struct A { pub a: u8 }";
        let error = "`A::a` has no doc comment".to_owned();
        assert_eq!(fields_in(bare, "A"), Err(error));
    }
}
