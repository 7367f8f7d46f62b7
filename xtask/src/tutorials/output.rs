//! Comparison of the output of a command with the output that a page shows.
//!
//! A line `…` stands for any lines, and `…` in a line for any text. Other text is compared exactly,
//! except for the ends of lines, and for numbers if a comment of the page allows differences.

/// Method by which the numbers of a block are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Numbers {
    #[default]
    Exact,
    /// A number matches any number, and a run of blanks matches any run of blanks.
    Any,
    /// As `Any`, but a number may differ from the shown number by at most this percentage.
    Within(f64),
}

/// The output that a page shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The number of the output's first line in the page.
    line: usize,
    lines: Vec<String>,
    numbers: Numbers,
}

/// The first line of an output that differs from the page.
#[derive(Debug, PartialEq)]
pub struct Difference {
    /// Line of the page that shows the expected output.
    pub line: usize,
    pub expected: String,
    pub got: String,
}

impl Expected {
    pub fn new(line: usize, lines: Vec<String>, numbers: Numbers) -> Expected {
        Expected {
            line,
            lines,
            numbers,
        }
    }

    /// Compares the complete output.
    pub fn compare(&self, got: &str) -> Result<(), Difference> {
        let got: Vec<&str> = got.lines().map(str::trim_end).collect();
        let mut furthest = (0, 0);
        if self.fits(0, &got, 0, &mut furthest) {
            return Ok(());
        }
        let (shown, there) = furthest;
        let or_end = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
        Err(Difference {
            line: self.line + shown,
            expected: or_end(self.lines.get(shown).map(String::as_str)),
            got: or_end(got.get(there).copied()),
        })
    }

    /// Returns whether the shown lines from `at` on match the lines of `got` from `from` on.
    fn fits(&self, at: usize, got: &[&str], from: usize, furthest: &mut (usize, usize)) -> bool {
        if at > furthest.0 {
            *furthest = (at, from);
        }
        let Some(shown) = self.lines.get(at) else {
            return from == got.len();
        };
        if shown.trim() == "…" {
            return (from..=got.len()).any(|next| self.fits(at + 1, got, next, furthest));
        }
        got.get(from)
            .is_some_and(|line| self.line_fits(shown, line))
            && self.fits(at + 1, got, from + 1, furthest)
    }

    fn line_fits(&self, shown: &str, got: &str) -> bool {
        let is_exact = self.numbers == Numbers::Exact;
        let shown = tokens(shown.trim_end(), is_exact);
        tokens_fit(&shown, &tokens(got, is_exact), self.numbers)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Gap,
    Number(f64),
    Blanks,
    Other(char),
}

/// Returns a line as characters; if numbers may differ, each number and each run of blanks is one
/// token.
fn tokens(line: &str, is_exact: bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let len = match c {
            '…' => {
                tokens.push(Token::Gap);
                c.len_utf8()
            }
            _ if is_exact => {
                tokens.push(Token::Other(c));
                c.len_utf8()
            }
            '0'..='9' => {
                let number = rest.split(|c| !digits(c)).next().unwrap_or_default();
                // A dot after the number belongs to the sentence.
                let number = number.trim_end_matches(['.', ',']);
                let value = number.replace(',', "").parse();
                tokens.push(value.map_or(Token::Other(c), Token::Number));
                if value_is_number(tokens.last()) {
                    number.len()
                } else {
                    1
                }
            }
            ' ' => {
                tokens.push(Token::Blanks);
                rest.len() - rest.trim_start_matches(' ').len()
            }
            _ => {
                tokens.push(Token::Other(c));
                c.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    tokens
}

fn value_is_number(token: Option<&Token>) -> bool {
    matches!(token, Some(Token::Number(_)))
}

fn tokens_fit(shown: &[Token], got: &[Token], numbers: Numbers) -> bool {
    match (shown, got) {
        ([], []) => true,
        ([Token::Gap, shown @ ..], _) => {
            (0..=got.len()).any(|at| tokens_fit(shown, &got[at..], numbers))
        }
        ([Token::Number(a), shown @ ..], [Token::Number(b), got @ ..]) => {
            let is_near = match numbers {
                Numbers::Within(percent) => (a - b).abs() <= a.abs() * percent / 100.0,
                Numbers::Any | Numbers::Exact => true,
            };
            is_near && tokens_fit(shown, got, numbers)
        }
        ([a, shown @ ..], [b, got @ ..]) => a == b && tokens_fit(shown, got, numbers),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(shown: &str, got: &str, numbers: Numbers) -> bool {
        let lines = shown.lines().map(str::to_owned).collect();
        Expected::new(1, lines, numbers).compare(got).is_ok()
    }

    #[test]
    fn lines_are_compared_exactly_but_for_gaps() {
        for (shown, got, expected) in [
            ("a\nb", "a\nb\n", true),
            ("a\nb", "a  \nb", true),
            ("a b", "a  b", false),
            ("a", "a\nb", false),
            ("a\n…", "a", true),
            ("a\n…\nc", "a\nb\nb\nc", true),
            ("a\n…\nc", "a\nb\nb\nd", false),
            ("…\nb\n…\nb", "b\nb\nb", true),
            ("at … ms", "at 17 ms", true),
            ("at … ms", "at 17 s", false),
            ("…x…", "yxy", true),
        ] {
            assert_eq!(
                fits(shown, got, Numbers::Exact),
                expected,
                "{shown:?} {got:?}"
            );
        }
    }

    #[test]
    fn numbers_are_near() {
        for (shown, got, numbers, expected) in [
            ("t  1.5 s.", "t 27 s.", Numbers::Any, true),
            ("t 1.5 s", "t x s", Numbers::Any, false),
            ("v1.2.3 a", "v9.9.9 a", Numbers::Any, false),
            ("1,000 B", "1200 B", Numbers::Within(20.0), true),
            ("1,000 B", "1201 B", Numbers::Within(20.0), false),
            ("0 lost", "1 lost", Numbers::Within(50.0), false),
        ] {
            assert_eq!(fits(shown, got, numbers), expected, "{shown:?} {got:?}");
        }
    }

    #[test]
    fn the_difference_names_its_line() {
        let expected = Expected::new(10, vec!["a".into(), "…".into(), "c".into()], Numbers::Exact);
        let difference = expected.compare("a\nb").unwrap_err();
        assert_eq!((difference.line, difference.expected.as_str()), (12, "c"));
        let difference = expected.compare("x").unwrap_err();
        assert_eq!((difference.line, difference.got.as_str()), (10, "x"));
    }
}
