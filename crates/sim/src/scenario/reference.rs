//! Makes the reference of all keys for `docs/scenario.md`.

use std::fmt::Write as _;

use super::keys;
use super::schema::{Key, Presence};

/// Returns a Markdown table of each table's keys with allowed values, defaults and meaning.
pub fn reference() -> String {
    let mut text = String::new();
    let mut section = None;
    for key in keys::all() {
        let (table, _) = split(key);
        if section != Some(table) {
            section = Some(table);
            let title = match table {
                "" => "At the top".to_owned(),
                table => format!("`[{}]`", table.replace('*', "NAME")),
            };
            let _ = write!(
                text,
                "\n### {title}\n\n| key | allowed | default | meaning |\n| --- | --- | --- | --- |\n"
            );
        }
        text.push_str(&row(key));
    }
    text
}

fn row(key: &Key) -> String {
    let default = match key.presence {
        Presence::Required => "required".to_owned(),
        Presence::Default(value) => format!("`{value}`"),
        Presence::Optional(without) => without.to_owned(),
    };
    let only = match key.only {
        Some((selector, words)) => format!(" Only with `{selector}` {}.", words.join(", ")),
        None => String::new(),
    };
    let (_, last) = split(key);
    format!(
        "| `{last}` | {} | {default} | {}{only} |\n",
        key.kind.allowed(),
        key.doc
    )
}

fn split(key: &Key) -> (&'static str, &'static str) {
    key.path.rsplit_once('.').unwrap_or(("", key.path))
}
