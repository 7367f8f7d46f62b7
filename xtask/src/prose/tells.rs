//! Finds the patterns of `tells.txt` in a text.

/// Describes the syntax, and has an example and a counter-example of each pattern.
const TELLS: &str = include_str!("tells.txt");

/// A turn of phrase to avoid, with its alternative in [`TELLS`].
pub struct Tell {
    pub name: &'static str,
    pub instead: &'static str,
    patterns: Vec<Vec<&'static str>>,
    #[cfg_attr(not(test), allow(dead_code))]
    examples: Vec<(bool, &'static str)>,
}

pub fn all() -> Vec<Tell> {
    let mut tells: Vec<Tell> = Vec::new();
    for line in TELLS.lines() {
        let head = line.strip_prefix('[').and_then(|it| it.split_once("] "));
        if let Some((name, instead)) = head {
            let (patterns, examples) = (Vec::new(), Vec::new());
            tells.push(Tell {
                name,
                instead,
                patterns,
                examples,
            });
        } else if let Some(tell) = tells.last_mut() {
            match line.split_at_checked(2) {
                Some(("  ", pattern)) => tell.patterns.push(pattern.split(' ').collect()),
                Some(("+ ", example)) => tell.examples.push((true, example)),
                Some(("- ", example)) => tell.examples.push((false, example)),
                _ => {}
            }
        }
    }
    tells
}

impl Tell {
    pub fn find(&self, words: &[String]) -> Option<String> {
        const SHOWN: usize = 8;
        self.patterns.iter().find_map(|pattern| {
            let mut places =
                (0..words.len()).filter_map(|at| Some((at, matched(pattern, words, at)?)));
            let (from, to) = places.next()?;
            Some(words[from..to.min(from + SHOWN)].join(" "))
        })
    }
}

/// Splits a block of text into lower-case words and punctuation. Code in back quotes becomes the
/// word `` ` ``. Long quotations are omitted.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let own = without_quotations(text);
    for (index, part) in own.split('`').enumerate() {
        if index % 2 == 1 {
            words.push("`".to_owned());
            continue;
        }
        for word in part.split_whitespace() {
            let ends = |c: char| matches!(c, '.' | ',' | ';' | ':' | '?' | '!' | ')');
            let bare = word.trim_end_matches(|c: char| ends(c) || "*_\"'".contains(c));
            let tail = &word[bare.len()..];
            let bare = bare.trim_start_matches(|c: char| "(*_\"'[".contains(c));
            let bare = bare.split("](").next().unwrap_or_default();
            // A heading or a cell of a table may begin with "What".
            if bare.chars().any(char::is_alphanumeric) || matches!(bare, "#" | "##" | "###" | "|") {
                words.push(bare.to_lowercase());
            }
            let marks = tail.chars().filter(|c| ",;.:?!".contains(*c));
            words.extend(marks.map(|c| c.to_string()));
        }
    }
    words.push(".".to_owned());
    words
}

/// Returns the text without quotations of four words or more.
fn without_quotations(text: &str) -> String {
    let parts: Vec<&str> = text.split('"').collect();
    let is_quotation = |index: usize| {
        index % 2 == 1 && index + 1 < parts.len() && parts[index].split_whitespace().count() >= 4
    };
    let parts = parts.iter().enumerate();
    let own = parts.filter(|(index, _)| !is_quotation(*index));
    own.map(|(_, part)| *part).collect::<Vec<_>>().join("\"")
}

/// Returns the end of the words that `pattern` matches from `at` on.
fn matched(pattern: &[&str], words: &[String], at: usize) -> Option<usize> {
    let Some((first, rest)) = pattern.split_first() else {
        return Some(at);
    };
    let choices = || first.trim_start_matches('!').split('|');
    if choices().any(|it| it == "^") && starts_sentence(words, at) {
        return matched(rest, words, at);
    }
    if *first == "..." {
        let stop = (at..words.len()).find(|i| ends_sentence(&words[*i]));
        return (at..=stop?).find_map(|next| matched(rest, words, next));
    }
    // If the pattern begins with a forbidden word, the text may begin with the next word.
    if at == 0
        && first.starts_with('!')
        && let Some(end) = matched(rest, words, at)
    {
        return Some(end);
    }
    let word = words.get(at)?;
    let fits = choices().any(|choice| match (choice, word.as_str()) {
        ("*", word) => word.chars().any(char::is_alphanumeric) || word == "`",
        (choice, word) if choice.starts_with('*') => word.ends_with(&choice[1..]),
        (choice, word) if choice.ends_with('*') => word.starts_with(choice.trim_end_matches('*')),
        (choice, word) => choice == word,
    });
    (fits != first.starts_with('!')).then(|| matched(rest, words, at + 1))?
}

fn starts_sentence(words: &[String], at: usize) -> bool {
    at == 0 || ends_sentence(&words[at - 1])
}

fn ends_sentence(word: &str) -> bool {
    matches!(word, "." | "?" | "!")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tell_finds_its_example_and_passes_its_counter_example() {
        for tell in all() {
            let has = |wanted| tell.examples.iter().any(|(has_it, _)| *has_it == wanted);
            assert!(
                has(true) && has(false),
                "{}: an example is missing",
                tell.name
            );
            for (has_it, example) in &tell.examples {
                let found = tell.find(&words(example));
                assert_eq!(
                    found.is_some(),
                    *has_it,
                    "{}: {example}: {found:?}",
                    tell.name
                );
            }
        }
    }

    #[test]
    fn code_quotations_and_headings_are_left_out() {
        assert_eq!(
            words("Uses `nobody`, (once)."),
            ["uses", "`", ",", "once", ".", "."]
        );
        let found = |text: &str| all().iter().any(|it| it.find(&words(text)).is_some());
        assert!(!found("RFC 1122: \"nobody may send this segment again\"."));
        assert!(!found("## What it costs"));
        assert!(found("What it costs."));
    }
}
