//! Self-contained pictures: they contain their style, in the light colours of the pages.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use redpoll_experiments::page::STYLE;

/// Makes a page's picture a self-contained file on a white background. Its labels are stored as
/// text, which the viewer shows in a font of its own.
pub fn self_contained(svg: &str) -> String {
    dressed(svg, "text")
}

/// Adds the style to a picture, whose letters have the selector `letters`.
pub(super) fn dressed(svg: &str, letters: &str) -> String {
    let (palette, rules) = style(letters);
    let mut out = svg.to_owned();
    let inside = out.find('>').map_or(0, |end| end + 1);
    out.insert_str(
        inside,
        &format!(
            "<style>{rules}</style><rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>"
        ),
    );
    out.insert_str("<svg".len(), " xmlns=\"http://www.w3.org/2000/svg\"");
    for (name, value) in palette {
        out = out.replace(&format!("var(--{name})"), &value);
    }
    out
}

/// Returns the light colours of the pages' style by name, and its rules for pictures.
fn style(letters: &str) -> (BTreeMap<String, String>, String) {
    let mut palette = BTreeMap::new();
    let mut rules = String::from("svg { font: 12px system-ui, sans-serif } ");
    for rule in STYLE.split('}') {
        let Some((selector, body)) = rule.split_once('{') else {
            continue;
        };
        let selector = selector.trim();
        if selector == ":root" && palette.is_empty() {
            let entries = body.split(';').filter_map(|entry| entry.split_once(':'));
            palette = entries
                .filter_map(|(name, value)| {
                    let name = name.trim().strip_prefix("--")?;
                    Some((name.to_owned(), value.trim().to_owned()))
                })
                .collect();
        } else if selector.starts_with("svg") && selector != "svg" {
            let selector = selector.replace(" text", &format!(" {letters}"));
            let _ = write!(rules, "{selector} {{{body}}} ");
        }
    }
    (palette, rules)
}

#[cfg(test)]
mod tests {
    use super::self_contained;

    #[test]
    fn a_self_contained_picture_has_its_colours_and_its_texts() {
        let svg = self_contained("<svg width=\"9\"><text fill=\"var(--ink)\">a</text></svg>");
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\"><style>"));
        assert!(!svg.contains("var("), "{svg}");
        assert!(
            svg.contains("svg text {") && svg.contains(">a</text>"),
            "{svg}"
        );
    }
}
