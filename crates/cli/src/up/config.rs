//! The file of `redpoll up --config`: TOML whose keys are names of options. These options are put
//! in front of those of the command line. An error names file, line, column, key, found and allowed
//! values.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;
use redpoll_linux::radio::spec::RadioSpec;
use redpoll_program::output::unreadable;
use toml::de::{DeTable, DeValue};

use super::args::UpArgs;

/// Parser of the command line of `redpoll up`, with which file and command line are checked.
#[derive(Debug, Parser)]
#[command(name = "redpoll", max_term_width = 100)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Up(UpArgs),
}

/// Keys that have a single value.
const SINGLE: [&str; 10] = [
    "scenario",
    "radio",
    "channel",
    "state",
    "join",
    "name",
    "prefix",
    "hosts",
    "user",
    "log_level",
];
/// Keys that have a list of values.
const LISTS: [&str; 3] = ["set", "forward", "expose"];
/// Keys that apply without a restart.
const AT_ONCE: [&str; 2] = ["expose", "log_level"];

/// Returns the option that a key names.
fn option(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

/// A key of the file, with the words that it adds to the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    key: String,
    words: Vec<OsString>,
}

/// Returns the words of a command line, with options from FILE for `redpoll up --config FILE`.
/// Fails with a message if FILE cannot be used.
pub fn expand(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let own = words.get(2..).unwrap_or_default();
    let end = own.iter().position(|word| word == "--");
    let own = &own[..end.unwrap_or(own.len())];
    let path = match words.get(1) {
        Some(command) if command == "up" => value_of(own, "--config"),
        _ => None,
    };
    let Some(path) = path else {
        return Ok(words);
    };
    let mut before: Vec<OsString> = words[..2].to_vec();
    let mut scenario = None;
    for entry in read(Path::new(&path))? {
        let option = option(&entry.key);
        if entry.key == "scenario" {
            scenario = entry.words.into_iter().next();
        } else if LISTS.contains(&entry.key.as_str()) || value_of(own, &option).is_none() {
            before.extend(entry.words);
        }
    }
    let plain = [&before[..], &words[2..]].concat();
    // The scenario of the file is used only if the command line has none.
    let lacks_scenario = Line::try_parse_from(&plain)
        .is_err_and(|error| error.kind() == ErrorKind::MissingRequiredArgument);
    if !lacks_scenario {
        return Ok(plain);
    }
    before.splice(2..2, scenario);
    Ok([&before[..], &words[2..]].concat())
}

/// Returns the value of the last option of this name, as `--option VALUE` or `--option=VALUE`.
fn value_of(words: &[OsString], option: &str) -> Option<OsString> {
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        let text = word.to_string_lossy();
        match text.strip_prefix(option) {
            Some("") => found = Some(words.get(at + 1).cloned().unwrap_or_default()),
            Some(rest) => {
                let value = rest.strip_prefix('=');
                found = value.map(OsString::from).or(found);
            }
            None => {}
        }
    }
    found
}

fn read(path: &Path) -> Result<Vec<Entry>, String> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("--config: {}", unreadable(path, &error, "correct the path")))?;
    parse(&name, &text)
}

fn parse(file: &str, text: &str) -> Result<Vec<Entry>, String> {
    let place = |offset: usize| {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[begin..].chars().count() + 1;
        format!("{file}:{line}:{column}")
    };
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let lines: Vec<&str> = error.message().lines().map(str::trim).collect();
        format!("{}: {}", place(span.start), lines.join(", "))
    })?;
    let mut entries = Vec::new();
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        let Some(values) = values(name, value.get_ref()) else {
            return Err(if SINGLE.contains(&name) || LISTS.contains(&name) {
                let form = if LISTS.contains(&name) {
                    "a list of strings"
                } else {
                    "a string or an integer"
                };
                format!("{}: {name}: allowed: {form}", place(value.span().start))
            } else {
                let known = SINGLE.iter().chain(&LISTS).copied();
                let known: Vec<&str> = known.collect();
                format!(
                    "{}: got the unknown key \"{name}\"; allowed: {}",
                    place(key.span().start),
                    known.join(", ")
                )
            });
        };
        let mut words = Vec::new();
        for value in values {
            if name != "scenario" {
                words.push(OsString::from(option(name)));
            }
            words.push(OsString::from(value));
        }
        let entry = Entry {
            key: name.to_owned(),
            words,
        };
        check(&entry).map_err(|what| format!("{}: {name}: {what}", place(value.span().start)))?;
        entries.push(entry);
    }
    Ok(entries)
}

/// Returns the values of a key; `None` if the key is unknown or has another type.
fn values(key: &str, value: &DeValue<'_>) -> Option<Vec<String>> {
    if LISTS.contains(&key) {
        let DeValue::Array(items) = value else {
            return None;
        };
        let texts = items.iter().map(|item| match item.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => None,
        });
        return texts.collect();
    }
    match value {
        DeValue::String(text) if SINGLE.contains(&key) => Some(vec![text.to_string()]),
        DeValue::Integer(number) if SINGLE.contains(&key) => Some(vec![number.as_str().to_owned()]),
        _ => None,
    }
}

/// Checks the values of a single key as values of its option.
fn check(entry: &Entry) -> Result<(), String> {
    if entry.key == "scenario" {
        return Ok(());
    }
    let before = ["redpoll", "up", "SCENARIO"].map(OsString::from);
    let words = before.into_iter().chain(entry.words.iter().cloned());
    if let Err(error) = Line::try_parse_from(words)
        && matches!(
            error.kind(),
            ErrorKind::ValueValidation | ErrorKind::InvalidValue
        )
    {
        let text = error.to_string();
        // Leave out clap's hints, which follow an empty line.
        let cause = text.split("\n\n").next().unwrap_or(&text);
        let words: Vec<&str> = cause.split_whitespace().skip(1).collect();
        return Err(words.join(" "));
    }
    if entry.key == "radio" {
        let url = entry.words.last().map(|it| it.to_string_lossy());
        let spec = url.unwrap_or_default().parse::<RadioSpec>();
        spec.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The settings of a running border router, which SIGHUP reads again.
pub(super) struct Reload {
    path: PathBuf,
    /// The settings with which the program started.
    entries: Vec<Entry>,
}

impl Reload {
    /// Returns the settings of `--config`; `None` without that option.
    pub(super) fn of(args: &UpArgs) -> Option<Reload> {
        let path = args.config.clone()?;
        let entries = read(&path).unwrap_or_default();
        Some(Reload { path, entries })
    }

    /// Reads the file again. Returns the arguments with which the program would start now, and the
    /// keys whose new values need a restart. Fails with a message if the file cannot be used.
    pub(super) fn again(&self) -> Result<(UpArgs, Vec<String>), String> {
        let entries = read(&self.path)?;
        let words = expand(std::env::args_os().collect())?;
        let args = Line::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().to_owned()
        })?;
        let Command::Up(args) = args.command;
        let differs = |key: &&&str| {
            let find = |all: &[Entry]| all.iter().find(|it| it.key == ***key).cloned();
            find(&entries) != find(&self.entries)
        };
        let keys = SINGLE
            .iter()
            .chain(&LISTS)
            .filter(|key| !AT_ONCE.contains(*key));
        let fixed = keys.filter(differs).map(|key| (*key).to_owned()).collect();
        Ok((args, fixed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_becomes_an_option() {
        let text = r#"
            scenario = "office"
            radio = "zep://127.0.0.1:17754"
            channel = 20
            state = "/tmp/state"
            join = "forward"
            name = "mesh0"
            prefix = "fd00::/64"
            hosts = "/tmp/hosts"
            user = "nobody"
            log_level = "warn"
            set = ["routing=rpl", "seed=2"]
            forward = ["8080:leaf-12:80"]
            expose = ["1883"]
        "#;
        let entries = parse("f", text).unwrap();
        assert_eq!(entries.len(), SINGLE.len() + LISTS.len());
        let set = entries.iter().find(|it| it.key == "set").unwrap();
        assert_eq!(set.words, ["--set", "routing=rpl", "--set", "seed=2"]);
        let example = include_str!("../../../../dist/border.toml");
        let uncommented: String = example
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|it| it.contains(" = ")))
            .zip(example.lines())
            .map(|(setting, line)| format!("{}\n", setting.unwrap_or(line)))
            .collect();
        let all = parse("example", &uncommented).unwrap();
        assert_eq!(all.len(), entries.len(), "each key is in the example");
        parse("example", example).unwrap();
    }

    #[test]
    fn an_error_has_place_found_and_allowed() {
        let errors = [
            (
                "chanel = 20",
                "f:1:1: got the unknown key \"chanel\"; allowed: scenario, radio, channel",
            ),
            (
                "channel = 27",
                "f:1:11: channel: invalid value '27' for '--channel <11..26>'",
            ),
            (
                "channel = true",
                "f:1:11: channel: allowed: a string or an integer",
            ),
            (
                "\n  set = \"a=b\"",
                "f:2:9: set: allowed: a list of strings",
            ),
            (
                "expose = [\"x\"]",
                "f:1:10: expose: invalid value 'x' for '--expose <SERVICE>'",
            ),
            (
                "join = \"usb\"",
                "f:1:8: join: invalid value 'usb' for '--join <JOIN>' [possible values: auto",
            ),
            ("radio = \"usb\"", "f:1:9: radio: "),
            ("name = \"a/b\"", "f:1:8: name: invalid value"),
            (
                "[border]\nradio = \"x\"",
                "f:1:2: got the unknown key \"border\"",
            ),
            ("radio = ", "f:1:9: "),
        ];
        for (text, expected) in errors {
            let line = parse("f", text).expect_err(text);
            assert!(line.starts_with(expected), "{text}: {line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }

    #[test]
    fn options_of_the_command_line_override_the_file() {
        let folder = std::env::temp_dir().join(format!("redpoll-border-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("border.toml");
        let text = "scenario = \"office\"\nradio = \"zep://127.0.0.1:1\"\nchannel = 20\nset = [\"routing=rpl\"]\n";
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let up = |more: &[&str]| {
            let words = [&["redpoll", "up", "--config", &file][..], more].concat();
            let words = expand(words.into_iter().map(OsString::from).collect()).unwrap();
            let Command::Up(args) = Line::try_parse_from(words).unwrap().command;
            (args.scenario.file, args.channel, args.scenario.set.len())
        };
        assert_eq!(up(&[]), ("office".to_owned(), 20, 1));
        assert_eq!(up(&["--channel", "15"]), ("office".to_owned(), 15, 1));
        assert_eq!(
            up(&["line-3", "--channel=16", "--set", "seed=1"]),
            ("line-3".to_owned(), 16, 2)
        );
        // A wrong option of the command line is reported, although the file has a scenario, too.
        let words = [
            "redpoll", "up", "line-3", "--config", &file, "--chanel", "15",
        ];
        let words = expand(words.map(OsString::from).into()).unwrap();
        let error = Line::try_parse_from(words).unwrap_err().to_string();
        assert!(error.contains("unexpected argument '--chanel'"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();

        let other: Vec<OsString> = ["redpoll", "run", "--config", "/x"]
            .map(OsString::from)
            .into();
        assert_eq!(expand(other.clone()), Ok(other));
        let behind: Vec<OsString> = ["redpoll", "up", "office", "--", "x", "--config", "/x"]
            .map(OsString::from)
            .into();
        assert_eq!(expand(behind.clone()), Ok(behind));
    }
}
