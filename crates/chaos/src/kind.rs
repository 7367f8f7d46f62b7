//! The kind of a failure: its text without names and numbers.

use std::fmt;

use serde::Serialize;

/// Failures of one kind probably have one cause.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Kind(String);

impl Kind {
    /// Returns the kind of the failure that `line` describes: `line` without words that contain a
    /// digit and without the `names` of the scenario.
    pub fn of(line: &str, names: &[String]) -> Kind {
        let is_plain = |word: &&str| {
            let bare = word.trim_matches(|it: char| !it.is_alphanumeric() && it != '_');
            !word.contains(|it: char| it.is_ascii_digit())
                && !bare.is_empty()
                && !names.iter().any(|name| name == bare)
        };
        let words: Vec<&str> = line.split_whitespace().filter(is_plain).collect();
        Kind(words.join(" "))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_do_not_distinguish_failures() {
        let names = ["n2".to_owned(), "root".to_owned(), "c0".to_owned()];
        let a = Kind::of("12.5 s: flow c0: byte 17 is wrong", &names);
        let b = Kind::of("9.000001 s: flow c3: byte 4 is wrong", &names);
        assert_eq!(a, b);
        let c = Kind::of(
            "12.5 s: flow c0: the stream ended with 4 bytes missing",
            &names,
        );
        assert_ne!(a, c);
        let d = Kind::of("9 s: root: at least 1 connections are in use", &names);
        let e = Kind::of("8 s: n2: at least 2 connections are in use", &names);
        assert_eq!(d, e);
    }
}
