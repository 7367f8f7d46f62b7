//! Reads a tutorial: its fenced blocks, and the words before them that determine their meaning.
//!
//! | block | meaning |
//! | --- | --- |
//! | `sh` | commands, run in order |
//! | `text` | output of the commands before it, standard error included |
//! | `console` | lines after `$ ` are typed into a shell; the others are its output |
//! | any other language | a file, whose name is the last code of the paragraph before it |
//!
//! After a paragraph that mentions the second terminal, blocks run there, until the page returns to
//! the first terminal or mentions Ctrl-C. Earlier commands continue to run in the first terminal.

use super::output::{Expected, Numbers};

/// The mark of a hint to these checks, which readers do not see.
const HINT: &str = "<!-- tutorial:";

#[derive(Debug, PartialEq)]
pub struct Page {
    /// Path relative to the root of the repository.
    pub name: String,
    /// `root`, `network`, or programs. If one is missing, the page is skipped.
    pub needs: Vec<String>,
    pub steps: Vec<Step>,
}

#[derive(Debug, PartialEq)]
pub enum Step {
    File(File),
    Run(Block),
    /// Presses Ctrl-C in the first terminal.
    Interrupt {
        line: usize,
    },
}

/// A file that the reader creates.
#[derive(Debug, PartialEq)]
pub struct File {
    pub line: usize,
    pub name: String,
    pub text: String,
}

/// Commands of one fenced block.
#[derive(Debug, PartialEq)]
pub struct Block {
    /// The line of the first command.
    pub line: usize,
    pub text: String,
    /// 0 is the first terminal, 1 the second.
    pub terminal: usize,
    /// Whether the last command runs until Ctrl-C.
    pub stays: bool,
    /// Whether the text is typed into a shell.
    pub is_typed: bool,
    pub expected: Option<Expected>,
}

/// Returns the targets of the summary's links under Tutorials.
pub fn listed(summary: &str) -> Vec<String> {
    let lines = summary.lines().skip_while(|line| *line != "# Tutorials");
    let lines = lines.skip(1).take_while(|line| !line.starts_with("# "));
    let target = |line: &str| {
        let (_, rest) = line.split_once("](")?;
        rest.split_once(')').map(|(target, _)| target.to_owned())
    };
    lines.filter_map(target).collect()
}

/// A fenced block, not yet interpreted.
struct Fence {
    line: usize,
    language: String,
    text: String,
}

impl Page {
    /// Reads a page; the error names the line.
    pub fn parse(name: &str, text: &str) -> Result<Page, String> {
        let mut reader = Reader::default();
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        while let Some((at, line)) = lines.next() {
            let Some(language) = line.strip_prefix("```") else {
                reader
                    .prose(at, line)
                    .map_err(|what| format!("{name}:{at}: {what}"))?;
                continue;
            };
            let mut fence = Fence {
                line: at + 1,
                language: language.trim().to_owned(),
                text: String::new(),
            };
            loop {
                match lines.next() {
                    Some((_, "```")) => break,
                    Some((_, line)) => {
                        fence.text += line;
                        fence.text.push('\n');
                    }
                    None => return Err(format!("{name}:{at}: the block does not end")),
                }
            }
            reader
                .fence(fence)
                .map_err(|what| format!("{name}:{at}: {what}"))?;
        }
        let steps = reader.steps;
        let compares = |step: &Step| matches!(step, Step::Run(block) if block.expected.is_some());
        if !steps.iter().any(compares) {
            return Err(format!(
                "{name}:1: at least one block must show the output of a command"
            ));
        }
        Ok(Page {
            name: name.to_owned(),
            needs: reader.needs,
            steps,
        })
    }
}

#[derive(Default)]
struct Reader {
    needs: Vec<String>,
    steps: Vec<Step>,
    /// The current or last paragraph.
    paragraph: String,
    is_open: bool,
    terminal: usize,
    numbers: Numbers,
    is_left_out: bool,
    /// Whether the last step is a block of commands that `text` may follow.
    awaits_text: bool,
}

impl Reader {
    fn prose(&mut self, at: usize, line: &str) -> Result<(), String> {
        if let Some(hint) = line.strip_prefix(HINT) {
            let hint = hint
                .strip_suffix("-->")
                .ok_or("a hint must end with `-->` on its own line")?;
            return self.hint(hint.trim());
        }
        if line.trim().is_empty() {
            self.is_open = false;
            return Ok(());
        }
        if !self.is_open {
            self.paragraph.clear();
            self.is_open = true;
        }
        self.paragraph += line;
        self.paragraph.push(' ');
        if line.contains("Ctrl-C") {
            self.interrupt(at)?;
        }
        Ok(())
    }

    fn hint(&mut self, hint: &str) -> Result<(), String> {
        if let Some(needs) = hint.strip_prefix("needs ") {
            self.needs.extend(needs.split(", ").map(str::to_owned));
        } else if hint == "numbers differ" {
            self.numbers = Numbers::Any;
        } else if let Some(percent) = hint
            .strip_prefix("numbers within ")
            .and_then(|it| it.strip_suffix(" %"))
        {
            let percent = percent
                .parse()
                .map_err(|e| format!("`{percent}` percent: {e}"))?;
            self.numbers = Numbers::Within(percent);
        } else if hint.starts_with("not run: ") {
            self.is_left_out = true;
        } else {
            return Err(format!("unknown hint `{hint}`"));
        }
        Ok(())
    }

    /// Adds a step that ends the last commands in the first terminal by Ctrl-C. Fails if no
    /// commands precede it in that terminal since the previous Ctrl-C.
    fn interrupt(&mut self, line: usize) -> Result<(), String> {
        let is_over = |step: &Step| matches!(step, Step::Interrupt { .. });
        let last = self.steps.iter().rposition(is_over).map_or(0, |at| at + 1);
        let first = |step: &&mut Step| matches!(step, Step::Run(block) if block.terminal == 0);
        match self.steps[last..].iter_mut().rfind(first) {
            Some(Step::Run(block)) => block.stays = true,
            _ => return Err("Ctrl-C follows no running program".to_owned()),
        }
        self.steps.push(Step::Interrupt { line });
        self.terminal = 0;
        self.awaits_text = false;
        Ok(())
    }

    fn fence(&mut self, fence: Fence) -> Result<(), String> {
        self.is_open = false;
        let before = std::mem::take(&mut self.paragraph);
        let numbers = std::mem::take(&mut self.numbers);
        match fence.language.as_str() {
            "text" => return self.output(&fence, numbers),
            _ if numbers != Numbers::Exact => {
                return Err(
                    "a hint about numbers must be directly before a `text` block".to_owned(),
                );
            }
            _ if std::mem::take(&mut self.is_left_out) => self.awaits_text = false,
            "sh" => {
                self.move_to_terminal(&before);
                self.run(fence.line, fence.text, false, None);
            }
            "console" => {
                let is_typed = |line: &&str| line.starts_with("$ ");
                let (typed, shown): (Vec<&str>, Vec<&str>) = fence.text.lines().partition(is_typed);
                let lines: Vec<&str> = typed.iter().map(|line| &line[2..]).collect();
                let shown = shown.iter().map(|line| (*line).to_owned()).collect();
                let shown = Expected::new(fence.line, shown, Numbers::Exact);
                self.run(fence.line, lines.join("\n") + "\n", true, Some(shown));
            }
            "" => {
                return Err(
                    "a code block must name its language, such as `sh` or `text`".to_owned(),
                );
            }
            _ => {
                let name = before.split('`').nth_back(1);
                let is_file = |name: &&str| !name.contains(' ') && before.trim().ends_with(':');
                let name = name.filter(is_file).ok_or(
                    "the paragraph before the block of a file must end with `:`, and its last \
                     `code` must be the name of the file",
                )?;
                self.awaits_text = false;
                self.steps.push(Step::File(File {
                    line: fence.line,
                    name: name.to_owned(),
                    text: fence.text,
                }));
            }
        }
        Ok(())
    }

    fn move_to_terminal(&mut self, before: &str) {
        if before.contains("second terminal") {
            self.terminal = 1;
            let first = |step: &&mut Step| matches!(step, Step::Run(block) if block.terminal == 0);
            if let Some(Step::Run(block)) = self.steps.iter_mut().rfind(first) {
                block.stays = true;
            }
        } else if before.contains("first terminal") {
            self.terminal = 0;
        }
    }

    fn run(&mut self, line: usize, text: String, is_typed: bool, expected: Option<Expected>) {
        self.awaits_text = expected.is_none();
        self.steps.push(Step::Run(Block {
            line,
            text,
            terminal: self.terminal,
            stays: false,
            is_typed,
            expected,
        }));
    }

    fn output(&mut self, fence: &Fence, numbers: Numbers) -> Result<(), String> {
        match self.steps.last_mut() {
            Some(Step::Run(block)) if self.awaits_text => {
                let lines = fence.text.lines().map(str::to_owned).collect();
                block.expected = Some(Expected::new(fence.line, lines, numbers));
                self.awaits_text = false;
                Ok(())
            }
            _ => Err("a `text` block must follow the commands that print it".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tutorials_are_those_of_the_summary() {
        let summary =
            "# Summary\n[x](x.md)\n\n# Tutorials\n\n- [A](book/a.md)\n\n# Next\n[b](b.md)\n";
        assert_eq!(listed(summary), ["book/a.md"]);
    }

    #[test]
    fn a_page_is_read_as_steps() {
        let text = "<!-- tutorial: needs root, ip -->\n\nMake `x` and\n`f.toml`:\n\n```toml\na = 1\n```\n\n\
            ```sh\nserve\n```\n\nIn a second terminal:\n\n```sh\nls\n```\n\n```text\nf\n```\n\nCtrl-C, then:\n\n\
            ```sh\nend\n```\n";
        let page = Page::parse("p.md", text).unwrap();
        assert_eq!(page.needs, ["root", "ip"]);
        let kinds: Vec<String> = page
            .steps
            .iter()
            .map(|step| match step {
                Step::File(file) => file.name.clone(),
                Step::Run(it) => format!("{}{}{}", it.text.trim(), it.terminal, it.stays),
                Step::Interrupt { line } => line.to_string(),
            })
            .collect();
        assert_eq!(
            kinds,
            ["f.toml", "serve0true", "ls1false", "24", "end0false"]
        );
    }

    #[test]
    fn forbidden_parts_of_a_page_are_refused_with_their_lines() {
        let with =
            |text: &str| Page::parse("p.md", &format!("```sh\na\n```\n\n```text\n```\n{text}"));
        assert!(with("").is_ok());
        for wrong in [
            "Words\n\n```toml\nx\n```\n",
            "```\nx\n```\n",
            "```text\nx\n```\n",
            "<!-- tutorial: whatever -->\n",
            "<!-- tutorial: numbers differ -->\n\n```sh\nx\n```\n",
            "```sh\nx\n",
        ] {
            let said = with(wrong).unwrap_err();
            assert!(said.starts_with("p.md:"), "{said}");
        }
        assert!(
            Page::parse("p.md", "```sh\na\n```\n").is_err(),
            "it compares nothing"
        );
    }
}
