//! Documents with marked blocks: `<!-- measured: NAME -->` … `<!-- end -->`,
//! around a table, or around some words of a sentence.

use std::ops::Range;

const OPEN: &str = "<!-- measured: ";
const CLOSE: &str = " -->";
const END: &str = "<!-- end -->";

#[derive(Debug, PartialEq, Eq)]
pub struct Mark {
    pub name: String,
    /// Line at which the mark begins, counted from 1.
    pub line: usize,
    /// Range in bytes of the text between the marks.
    pub inside: Range<usize>,
}

/// The expected text between marks. `None`: a cell that was not measured.
#[derive(Debug, PartialEq, Eq)]
pub enum Expected {
    Inline(Option<String>),
    Table {
        head: Vec<String>,
        rows: Vec<Vec<Option<String>>>,
        /// The line below the table, if it has one.
        caption: Option<String>,
    },
}

pub fn marks(text: &str) -> Result<Vec<Mark>, String> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(OPEN) {
        let begin = from + at;
        let line = 1 + text[..begin].matches('\n').count();
        let after = &text[begin + OPEN.len()..];
        let wrong = |what: &str| format!("{line}: {what}");
        let (name, rest) = after
            .split_once(CLOSE)
            .ok_or(wrong("a mark of a value has no `<!-- end -->`"))?;
        let length = rest
            .find(END)
            .ok_or(wrong("the block has no `<!-- end -->`"))?;
        if rest[..length].contains(OPEN) {
            return Err(wrong(
                "another block begins before the `<!-- end -->` of this one",
            ));
        }
        let start = begin + OPEN.len() + name.len() + CLOSE.len();
        // Markdown ends the paragraph before a line that begins with a comment.
        let begins_line = begin == 0 || text[..begin].ends_with('\n');
        if begins_line && !text[start..].starts_with('\n') {
            return Err(wrong(
                "the mark of a value begins a line, which starts a paragraph in the page; \
                 put a word before it",
            ));
        }
        found.push(Mark {
            name: name.to_owned(),
            line,
            inside: start..start + length,
        });
        from = start + length + END.len();
    }
    Ok(found)
}

impl Expected {
    /// Returns the text between the marks; `None` if any value was not measured.
    pub fn text(&self) -> Option<String> {
        match self {
            Expected::Inline(value) => value.clone(),
            Expected::Table {
                head,
                rows,
                caption,
            } => {
                let rule = vec!["---".to_owned(); head.len()];
                let mut text = format!("\n{}\n{}\n", line(head), line(&rule));
                for row in rows {
                    let cells: Option<Vec<String>> = row.iter().cloned().collect();
                    text.push_str(&line(&cells?));
                    text.push('\n');
                }
                if let Some(caption) = caption {
                    text.push_str(&format!("\n{caption}\n"));
                }
                Some(text)
            }
        }
    }

    /// Returns a line for each difference between this text and `inside`, the text between the
    /// marks.
    pub fn differences(&self, inside: &str) -> Vec<String> {
        let (head, rows, caption) = match self {
            Expected::Inline(None) => return Vec::new(),
            Expected::Inline(Some(value)) if value == inside => return Vec::new(),
            Expected::Inline(Some(value)) => return vec![differs("", inside, value)],
            Expected::Table {
                head,
                rows,
                caption,
            } => (head, rows, caption),
        };
        let lines: Vec<&str> = inside
            .lines()
            .filter(|line| line.starts_with('|'))
            .collect();
        let [first, _, others @ ..] = lines.as_slice() else {
            return vec!["the block has no table".to_owned()];
        };
        let mut found = Vec::new();
        if cells(first) != *head {
            found.push(differs("its head: ", first, &line(head)));
        }
        if others.len() != rows.len() {
            found.push(format!(
                "the table has {} rows; expected: {}",
                others.len(),
                rows.len()
            ));
        }
        for (old, new) in others.iter().zip(rows) {
            let old = cells(old);
            if old.len() != new.len() {
                found.push(format!(
                    "row \"{}\": the number of cells differs from that of the measured row",
                    old.join(" | ")
                ));
            }
            let name = old.first().cloned().unwrap_or_default();
            for ((column, old), new) in head.iter().zip(&old).zip(new) {
                if let Some(new) = new.as_ref().filter(|new| *new != old) {
                    found.push(differs(&format!("\"{name}\", \"{column}\": "), old, new));
                }
            }
        }
        if let Some(caption) = caption
            && !inside.lines().any(|line| line == caption)
        {
            found.push(format!("the command of the block is not `{caption}`"));
        }
        found
    }
}

fn differs(place: &str, old: &str, new: &str) -> String {
    format!("{place}the document has `{old}`, measured: `{new}`")
}

fn line(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| match cell.as_str() {
        "" => " |".to_owned(),
        text => format!(" {text} |"),
    });
    format!("|{}", cells.collect::<String>())
}

fn cells(line: &str) -> Vec<String> {
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.trim_end().strip_suffix('|').unwrap_or(line);
    line.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// Returns the lines outside of blocks that contain a quantity with a unit, and their line numbers.
pub fn loose(text: &str) -> Vec<(usize, String)> {
    let marks = marks(text).unwrap_or_default();
    let mut outside = String::new();
    let mut from = 0;
    for mark in marks {
        outside.push_str(&text[from..mark.inside.start]);
        let breaks = text[mark.inside.clone()].matches('\n').count();
        outside.push_str(&"\n".repeat(breaks));
        from = mark.inside.end;
    }
    outside.push_str(&text[from..]);
    let lines = outside.lines().enumerate();
    lines
        .filter(|(_, line)| has_quantity(line))
        .map(|(i, line)| (i + 1, line.to_owned()))
        .collect()
}

fn has_quantity(line: &str) -> bool {
    let units = ["kb/s", "%", "ms", "s", "times", "µs", "mJ", "days"];
    let word = |text: &str| {
        text.trim_matches(|letter: char| ",.;:()|".contains(letter))
            .to_owned()
    };
    let words: Vec<String> = line.split_whitespace().map(word).collect();
    words.windows(2).any(|pair| {
        pair[0].starts_with(|first: char| first.is_ascii_digit()) && units.contains(&&*pair[1])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Words.\n<!-- measured: a -->\n| x | y |\n| --- | --- |\n| 1 | 2 |\n\n\
        how\n<!-- end -->\nIt is <!-- measured: b -->3.1 kb/s<!-- end --> here and 5 % there.\n";

    fn table(cell: Option<&str>) -> Expected {
        Expected::Table {
            head: ["x", "y"].map(String::from).to_vec(),
            rows: vec![vec![Some("1".to_owned()), cell.map(String::from)]],
            caption: Some("how".to_owned()),
        }
    }

    fn inside(i: usize) -> &'static str {
        &TEXT[marks(TEXT).unwrap()[i].inside.clone()]
    }

    #[test]
    fn blocks_are_found_with_their_lines() {
        let marks = marks(TEXT).unwrap();
        let shown: Vec<(&str, usize)> = marks.iter().map(|m| (&*m.name, m.line)).collect();
        assert_eq!(shown, [("a", 2), ("b", 9)]);
        assert_eq!(inside(1), "3.1 kb/s");
        for bad in [
            "<!-- measured: a -->",
            "<!-- measured: a",
            "<!-- measured: a --><!-- measured: b --><!-- end -->",
            "It is\n<!-- measured: a -->3 kb/s<!-- end --> here.",
        ] {
            assert!(super::marks(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_written_table_equals_itself() {
        assert_eq!(table(Some("2")).text().as_deref(), Some(inside(0)));
        assert!(table(Some("2")).differences(inside(0)).is_empty());
        assert!(table(None).differences(inside(0)).is_empty());
        assert_eq!(table(None).text(), None);
    }

    #[test]
    fn a_table_may_have_no_line_below() {
        let mut plain = table(Some("2"));
        if let Expected::Table { caption, .. } = &mut plain {
            *caption = None;
        }
        let text = plain.text().unwrap();
        assert_eq!(text, "\n| x | y |\n| --- | --- |\n| 1 | 2 |\n");
        assert!(plain.differences(&text).is_empty());
    }

    #[test]
    fn a_difference_names_its_line() {
        let found = table(Some("2.5")).differences(inside(0));
        assert_eq!(
            found,
            ["\"1\", \"y\": the document has `2`, measured: `2.5`"]
        );
        let found = Expected::Inline(Some("3 kb/s".to_owned())).differences(inside(1));
        assert_eq!(found.len(), 1);
        let other = inside(0).replace("how", "so").replace("| x", "| z") + "| 1 | 2 |\n";
        assert_eq!(table(None).differences(&other).len(), 3);
        assert_eq!(table(None).differences("nothing").len(), 1);
    }

    #[test]
    fn numbers_outside_of_blocks_are_listed() {
        let found = loose(TEXT);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 9);
        assert!(loose("127 bytes, RFC 8931, section 4\n").is_empty());
    }
}
