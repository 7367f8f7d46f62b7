//! Finds the patterns of `tells.txt` in a text.

/// The patterns, each with an example and a counter-example. The text begins with their syntax.
const TELLS: &str = include_str!("tells.txt");

/// A turn of phrase to avoid, with its alternative in [`TELLS`].
pub struct Tell {
    pub name: &'static str,
    pub instead: &'static str,
    patterns: Vec<Vec<Part>>,
    #[cfg_attr(not(test), allow(dead_code))]
    examples: Vec<(bool, &'static str)>,
}

/// A word of a pattern.
enum Part {
    /// `...`: any number of words.
    Gap,
    Word {
        forbidden: bool,
        /// Whether one of the choices is the start of a sentence.
        start: bool,
        choices: Vec<Choice>,
    },
}

/// One of the words that a [`Part`] allows or forbids.
enum Choice {
    Any,
    Begins(&'static str),
    Ends(&'static str),
    Is(&'static str),
}

impl Part {
    fn read(text: &'static str) -> Part {
        if text == "..." {
            return Part::Gap;
        }
        let choices = text.trim_start_matches('!');
        Part::Word {
            forbidden: text.starts_with('!'),
            start: choices.split('|').any(|it| it == "^"),
            choices: choices.split('|').map(Choice::read).collect(),
        }
    }
}

impl Choice {
    fn read(text: &'static str) -> Choice {
        match (text.strip_prefix('*'), text.strip_suffix('*')) {
            (Some(""), _) => Choice::Any,
            (Some(end), _) => Choice::Ends(end),
            (None, Some(beginning)) => Choice::Begins(beginning),
            (None, None) => Choice::Is(text),
        }
    }

    fn fits(&self, word: &str) -> bool {
        match self {
            Choice::Any => word.chars().any(char::is_alphanumeric) || word == "`",
            Choice::Ends(end) => word.ends_with(end),
            Choice::Begins(beginning) => word.starts_with(beginning),
            Choice::Is(other) => *other == word,
        }
    }
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
                Some(("  ", pattern)) => {
                    tell.patterns
                        .push(pattern.split(' ').map(Part::read).collect());
                }
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
            // Marks of headings and cells count as words, because these may begin with "What".
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
fn matched(pattern: &[Part], words: &[String], at: usize) -> Option<usize> {
    let Some((first, rest)) = pattern.split_first() else {
        return Some(at);
    };
    let Part::Word {
        forbidden,
        start,
        choices,
    } = first
    else {
        let stop = (at..words.len()).find(|i| ends_sentence(&words[*i]));
        return (at..=stop?).find_map(|next| matched(rest, words, next));
    };
    if *start && starts_sentence(words, at) {
        return matched(rest, words, at);
    }
    // `!a` stands for a word other than `a`. A pattern that begins with `!a` also matches at
    // the start of a text, without such a word.
    if at == 0
        && *forbidden
        && let Some(end) = matched(rest, words, at)
    {
        return Some(end);
    }
    let word = words.get(at)?;
    let fits = choices.iter().any(|choice| choice.fits(word));
    (fits != *forbidden).then(|| matched(rest, words, at + 1))?
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
