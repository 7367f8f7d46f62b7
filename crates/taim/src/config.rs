//! The configuration file: TOML with the names of the options. An error names file, line, column,
//! key, found and allowed values, as errors of scenarios do.

use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use redpoll_program::log::LogLevel;
use redpoll_program::output::unreadable;

use super::args::{ConfigArgs, Options, PolicyArg};
use super::rules::interface;
use redpoll_program::{Failure, USAGE};

/// The file that is read without `--config`, if it exists.
const DEFAULT: &str = "/etc/redpoll/taim.toml";

const KEYS: [&str; 15] = [
    "queue",
    "interface",
    "policy",
    "always",
    "delay",
    "min_delay",
    "max_wait",
    "period",
    "flows",
    "packets",
    "margin",
    "metrics",
    "json",
    "every",
    "log_level",
];

const UNITS: [(&str, f64); 4] = [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("min", 60e6)];

const HOUR_US: f64 = 3_600e6;

/// A configuration file that may be read again.
#[derive(Clone, Debug)]
pub(super) struct ConfigFile {
    path: PathBuf,
    /// Whether `--config` names the file, which must then exist.
    is_named: bool,
}

impl ConfigFile {
    pub(super) fn of(args: &ConfigArgs) -> ConfigFile {
        let path = args.config.clone().unwrap_or(PathBuf::from(DEFAULT));
        ConfigFile {
            // Makes the path absolute, because the program may change its working directory.
            path: std::path::absolute(&path).unwrap_or(path),
            is_named: args.config.is_some(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file's settings; `None` if the file does not exist and need not exist.
    pub(super) fn read(&self) -> Result<Option<Options>, Failure> {
        let name = self.path.display().to_string();
        let text = match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_named => {
                return Ok(None);
            }
            Err(error) => {
                let remedy = if self.is_named {
                    "correct --config, or leave it out"
                } else {
                    "replace it by a file of text, or remove it"
                };
                return Err((USAGE, unreadable(&self.path, &error, remedy)));
            }
            Ok(text) => text,
        };
        parse(&name, &text).map(Some).map_err(|line| (USAGE, line))
    }
}

fn parse(file: &str, text: &str) -> Result<Options, String> {
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
    let mut options = Options::default();
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        if !KEYS.contains(&name) {
            return Err(format!(
                "{}: got the unknown key \"{name}\"; allowed: {}",
                place(key.span().start),
                KEYS.join(", ")
            ));
        }
        set(&mut options, name, value.get_ref()).map_err(|allowed| {
            format!(
                "{}: {name}: got {}; allowed: {allowed}",
                place(value.span().start),
                shown(value.get_ref())
            )
        })?;
    }
    Ok(options)
}

fn set(options: &mut Options, name: &str, value: &DeValue<'_>) -> Result<(), String> {
    match name {
        "queue" => options.queue = Some(integer(value, 0..=65_535)? as u16),
        "interface" => {
            let told = "the name of an interface, such as \"wpan0\"";
            let name = text(value, told)?;
            options.interface = Some(interface(name).map_err(|_| told.to_owned())?);
        }
        "policy" => options.policy = Some(choice::<PolicyArg>(value)?),
        "log_level" => options.log_level = Some(choice::<LogLevel>(value)?),
        "always" => {
            let DeValue::Boolean(value) = value else {
                return Err("true, false".to_owned());
            };
            options.always = Some(*value);
        }
        "delay" => options.delay = Some(time(value, 0.0..=HOUR_US)? / 1e3),
        "min_delay" => options.min_delay = Some(time(value, 0.0..=HOUR_US)? / 1e3),
        "max_wait" => options.max_wait = Some(time(value, 0.0..=HOUR_US)? / 1e3),
        "period" => options.period = Some(seconds(value, 1..=3_600)?),
        "every" => options.every = Some(seconds(value, 1..=86_400)?),
        "flows" => options.flows = Some(integer(value, 4..=1_048_576)? as u32),
        "packets" => options.packets = Some(integer(value, 1..=1_048_576)? as u32),
        "margin" => options.margin = Some(integer(value, 16..=65_536)? as u32),
        "metrics" => {
            let told = "an address with a port, such as \"127.0.0.1:9633\"";
            let address = text(value, told)?.parse::<SocketAddr>();
            options.metrics = Some(address.map_err(|_| told.to_owned())?);
        }
        "json" => options.json = Some(PathBuf::from(text(value, "the path of a file")?)),
        _ => {}
    }
    Ok(())
}

fn text<'v>(value: &'v DeValue<'_>, allowed: &str) -> Result<&'v str, String> {
    match value {
        DeValue::String(text) => Ok(text),
        _ => Err(allowed.to_owned()),
    }
}

fn integer(value: &DeValue<'_>, range: RangeInclusive<i64>) -> Result<i64, String> {
    let number = match value {
        DeValue::Integer(it) => i64::from_str_radix(it.as_str(), it.radix()).ok(),
        _ => None,
    };
    number
        .filter(|it| range.contains(it))
        .ok_or_else(|| format!("an integer from {} to {}", range.start(), range.end()))
}

fn choice<T: clap::ValueEnum>(value: &DeValue<'_>) -> Result<T, String> {
    let names = T::value_variants().iter();
    let names = names.filter_map(|it| it.to_possible_value());
    let names: Vec<String> = names.map(|it| format!("\"{}\"", it.get_name())).collect();
    let allowed = names.join(", ");
    let text = text(value, &allowed)?;
    T::from_str(text, false).map_err(|_| allowed)
}

fn time(value: &DeValue<'_>, range: RangeInclusive<f64>) -> Result<f64, String> {
    let allowed = "a time of at most an hour with a unit (us, ms, s, min), such as \"50 ms\"";
    let text = text(value, allowed)?;
    let at = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let number = number.trim().parse::<f64>().ok();
    let unit = UNITS.iter().find(|(name, _)| *name == unit.trim());
    let us = number.zip(unit).map(|(number, (_, us))| number * us);
    us.filter(|us| range.contains(us))
        .ok_or_else(|| allowed.to_owned())
}

fn seconds(value: &DeValue<'_>, range: RangeInclusive<u64>) -> Result<u64, String> {
    let (least, most) = (*range.start(), *range.end());
    let allowed = || format!("whole seconds from \"{least} s\" to \"{most} s\"");
    let us = time(value, 0.0..=most as f64 * 1e6).map_err(|_| allowed())?;
    let seconds = us / 1e6;
    let is_whole = seconds.fract() == 0.0 && range.contains(&(seconds as u64));
    is_whole.then_some(seconds as u64).ok_or_else(allowed)
}

fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read() {
        let text = r#"
            queue = 7
            interface = "wpan1"
            policy = "lead"
            always = true
            delay = "0.5 ms"
            min_delay = "50us"
            max_wait = "2 s"
            period = "1 min"
            flows = 100
            packets = 200
            margin = 300
            metrics = "[::1]:9633"
            json = "/tmp/flows"
            every = "5 s"
            log_level = "debug"
        "#;
        let options = parse("f", text).unwrap();
        assert_eq!(options.queue, Some(7));
        assert_eq!(options.interface.as_deref(), Some("wpan1"));
        assert_eq!(options.policy, Some(PolicyArg::Lead));
        assert_eq!(options.always, Some(true));
        let delays = [options.delay, options.min_delay, options.max_wait];
        assert_eq!(delays, [Some(0.5), Some(0.05), Some(2_000.0)]);
        assert_eq!((options.period, options.every), (Some(60), Some(5)));
        let counts = [options.flows, options.packets, options.margin];
        assert_eq!(counts, [Some(100), Some(200), Some(300)]);
        assert_eq!(options.metrics.map(|it| it.port()), Some(9_633));
        assert_eq!(options.log_level, Some(LogLevel::Debug));
        for key in KEYS {
            assert!(text.contains(&format!(" {key} = ")), "{key}");
        }
        assert_eq!(parse("f", "").unwrap(), Options::default());
    }

    #[test]
    fn an_error_has_place_found_and_allowed() {
        let errors = [
            (
                "queue = 65536",
                "f:1:9: queue: got 65536; allowed: an integer from 0 to 65535",
            ),
            (
                "\n  delay = 50",
                "f:2:11: delay: got 50; allowed: a time of",
            ),
            (
                "delay = \"50\"",
                "f:1:9: delay: got \"50\"; allowed: a time of",
            ),
            (
                "delay = \"2 h\"",
                "f:1:9: delay: got \"2 h\"; allowed: a time of",
            ),
            (
                "max_wait = \"-1 s\"",
                "f:1:12: max_wait: got \"-1 s\"; allowed: a time of",
            ),
            (
                "period = \"1.5 s\"",
                "f:1:10: period: got \"1.5 s\"; allowed: whole seconds from",
            ),
            (
                "flows = 3",
                "f:1:9: flows: got 3; allowed: an integer from 4 to 1048576",
            ),
            (
                "policy = \"x\"",
                "f:1:10: policy: got \"x\"; allowed: \"taim\", \"lead\"",
            ),
            ("always = 1", "f:1:10: always: got 1; allowed: true, false"),
            (
                "metrics = \"9633\"",
                "f:1:11: metrics: got \"9633\"; allowed: an address with",
            ),
            (
                "interface = \"a b\"",
                "f:1:13: interface: got \"a b\"; allowed: the name of",
            ),
            (
                "# one\nqeue = 1",
                "f:2:1: got the unknown key \"qeue\"; allowed: queue, interface",
            ),
            (
                "[taim]\nqueue = 1",
                "f:1:2: got the unknown key \"taim\"; allowed: ",
            ),
            ("queue = 1\nqueue = 2", "f:2:1: "),
            ("queue = ", "f:1:9: "),
        ];
        for (text, expected) in errors {
            let line = parse("f", text).expect_err(text);
            assert!(line.starts_with(expected), "{text}: {line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
