//! Reading and writing packetdrill scripts, as far as the adaptation needs it.
//!
//! Every line keeps its number, so the tool's messages name lines of the original script.

/// A script, without comments and without code for a kernel's `TCP_INFO`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    pub lines: Vec<Line>,
    /// Shell commands with the number of their line, from 0.
    pub commands: Vec<(usize, String)>,
    /// Assertions about `TCP_INFO` that were removed.
    pub assertions: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Packet(Packet),
    /// A call, an ICMP message, an option of the tool, or an empty line.
    Other(String),
}

/// A TCP segment that the tool injects or expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The time at which the packet is sent, in the script's notation.
    pub when: String,
    /// Whether the stack sends the segment.
    pub sent: bool,
    /// The fields of the IP header that the script names, with their brackets.
    mark: String,
    pub flags: String,
    /// Sequence numbers, as `SEQ:END(LENGTH)`.
    pub sequence: String,
    pub ack: Option<String>,
    pub window: Option<String>,
    urgent: Option<String>,
    pub options: Option<String>,
}

impl Script {
    /// Reads a script. `defined` are the names for which `#ifdef` is true.
    pub fn parse(text: &str, defined: &[&str]) -> Script {
        let text = without_comments(text);
        let text = preprocessed(&text, defined);
        let (text, code) = cut(&text, "%{", "}%");
        let (text, commands) = cut(&text, "`", "`");
        Script {
            lines: text.lines().map(Line::parse).collect(),
            commands,
            assertions: code.len(),
        }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            match line {
                Line::Packet(packet) => text.push_str(&packet.text()),
                Line::Other(words) => text.push_str(words),
            }
            text.push('\n');
        }
        text
    }

    pub fn packets(&mut self) -> impl Iterator<Item = &mut Packet> {
        self.lines.iter_mut().filter_map(|line| match line {
            Line::Packet(packet) => Some(packet),
            Line::Other(_) => None,
        })
    }

    /// Returns the number of the first line that has `words`, from 0.
    pub fn line_with(&self, words: &str) -> Option<usize> {
        let has = |line: &Line| matches!(line, Line::Other(text) if text.contains(words));
        self.lines.iter().position(has)
    }
}

impl Line {
    fn parse(text: &str) -> Line {
        match Packet::parse(text) {
            Some(packet) => Line::Packet(packet),
            None => Line::Other(text.trim_end().to_owned()),
        }
    }
}

impl Packet {
    fn parse(text: &str) -> Option<Packet> {
        let (when, rest) = text.trim().split_once(char::is_whitespace)?;
        let rest = rest.trim_start();
        let sent = match rest.chars().next()? {
            '>' => true,
            '<' => false,
            _ => return None,
        };
        let mut rest = rest[1..].trim_start();
        let mut mark = String::new();
        for (open, close) in [('[', ']'), ('(', ')')] {
            if rest.starts_with(open) {
                let end = rest.find(close)?;
                mark = rest[..=end].to_owned();
                rest = rest[end + 1..].trim_start();
            }
        }
        let (rest, options) = match rest.split_once('<') {
            Some((rest, options)) => (rest, Some(options.trim().strip_suffix('>')?.to_owned())),
            None => (rest, None),
        };
        let mut words = rest.split_whitespace();
        let flags = words.next().filter(|word| *word != "icmp")?.to_owned();
        let sequence = words.next()?.to_owned();
        let (mut ack, mut window, mut urgent) = (None, None, None);
        while let Some(word) = words.next() {
            let field = match word {
                "ack" => &mut ack,
                "win" => &mut window,
                "urg" => &mut urgent,
                _ => return None,
            };
            *field = Some(words.next()?.to_owned());
        }
        Some(Packet {
            when: when.to_owned(),
            sent,
            mark,
            flags,
            sequence,
            ack,
            window,
            urgent,
            options,
        })
    }

    pub fn text(&self) -> String {
        let direction = if self.sent { ">" } else { "<" };
        let mut words = vec![self.when.as_str(), direction];
        if !self.mark.is_empty() {
            words.push(&self.mark);
        }
        words.extend([self.flags.as_str(), &self.sequence]);
        for (name, value) in [
            ("ack", &self.ack),
            ("win", &self.window),
            ("urg", &self.urgent),
        ] {
            if let Some(value) = value {
                words.extend([name, value]);
            }
        }
        let options = self.options.as_ref().map(|options| format!("<{options}>"));
        words.extend(options.as_deref());
        words.join(" ")
    }

    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    pub fn first(&self) -> Option<u32> {
        self.sequence.split(':').next()?.parse().ok()
    }

    /// Returns the sequence number after the data, if the script gives a number.
    pub fn last(&self) -> Option<u32> {
        Some(self.first()?.wrapping_add(self.length()?))
    }

    pub fn length(&self) -> Option<u32> {
        let (_, length) = self.sequence.split_once('(')?;
        length.strip_suffix(')')?.parse().ok()
    }

    pub fn move_to(&mut self, first: u32) {
        if let Some(length) = self.length() {
            let end = first.wrapping_add(length);
            self.sequence = format!("{first}:{end}({length})");
        }
    }

    pub fn option_list(&self) -> Vec<&str> {
        let options = self.options.as_deref().unwrap_or_default();
        options.split(',').map(str::trim).collect()
    }
}

fn without_comments(text: &str) -> String {
    let (text, _) = cut(text, "/*", "*/");
    let lines = text.lines().map(|line| match line.find("//") {
        Some(at) => &line[..at],
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Empties the lines that `#ifdef` excludes, and the directives.
fn preprocessed(text: &str, defined: &[&str]) -> String {
    let mut kept = Vec::new();
    let mut included = true;
    for line in text.lines() {
        match line.trim().split_once(' ') {
            Some(("#ifdef", name)) => included = defined.contains(&name.trim()),
            Some(("#ifndef", name)) => included = !defined.contains(&name.trim()),
            _ if line.trim() == "#else" => included = !included,
            _ if line.trim() == "#endif" => included = true,
            _ if included => {
                kept.push(line);
                continue;
            }
            _ => {}
        }
        kept.push("");
    }
    kept.join("\n")
}

/// Removes all texts between `open` and `close`, and returns them with their first line numbers. A
/// time before such a text, other than `+0`, stays as an empty command.
fn cut(text: &str, open: &str, close: &str) -> (String, Vec<(usize, String)>) {
    let mut kept = String::new();
    let mut removed = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((inside, after)) = after.split_once(close) else {
            break;
        };
        kept.push_str(before);
        removed.push((kept.matches('\n').count(), inside.to_owned()));
        let begin = kept.rfind('\n').map_or(0, |at| at + 1);
        let time = kept[begin..].trim().to_owned();
        let passes = time.chars().any(|c| ('1'..='9').contains(&c));
        if passes && time.starts_with(['+', '.', '0', '1', '2', '3']) {
            kept.push_str("`true`")
        } else {
            kept.truncate(begin)
        }
        kept.push_str(&"\n".repeat(inside.matches('\n').count()));
        rest = after;
    }
    kept.push_str(rest);
    (kept, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers() {
        let script =
            "/* a\n b */\n+.1 `x\n y`\n+0 %{ assert a }%\n#ifdef A\n+0 close(3) = 0\n#endif";
        let script = Script::parse(script, &[]);
        assert_eq!(script.text(), "\n\n+.1 `true`\n\n\n\n\n");
        assert_eq!(script.commands, vec![(2, "x\n y".to_owned())]);
        assert_eq!(script.assertions, 1);
    }

    #[test]
    fn packets_are_written_as_they_were_read() {
        for line in [
            "+0.10 < [ect0] S. 0:0(0) ack 1 win 65535 <mss 1440,sackOK>",
            "+.2~+.4 > P. 1:101(100) ack 1",
        ] {
            let script = Script::parse(line, &[]);
            assert!(matches!(script.lines[..], [Line::Packet(_)]), "{line}");
            assert_eq!(script.text().trim_end(), line);
        }
        let other = Script::parse("+0 < icmp unreachable port_unreachable [1:1(0)]", &[]);
        assert!(matches!(other.lines[..], [Line::Other(_)]));
    }
}
