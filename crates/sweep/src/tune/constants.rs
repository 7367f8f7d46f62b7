//! Constants of the best values, for programs in Rust and in C.

use std::fmt::Write as _;

use redpoll_base::Duration;
use redpoll_sim::{Scenario, parse_time};

use super::goal::Goal;
use super::verdict::Judged;
use crate::draw::split;

/// Beginning of the comment in the first line of the Rust module and of the C header. A file
/// without this text is not overwritten.
pub const MARK: &str = "Made by `redpoll tune`";

/// A value in a form that Rust and C both have.
enum Constant {
    /// A time in microseconds.
    Time(u64),
    Whole(u64),
    Bytes(u64),
    Number(f64),
    Truth(bool),
    Text(String),
}

impl Constant {
    fn of(key: &str, value: &str, scenario: &Scenario) -> Constant {
        if key == "tcp.mss" {
            return Constant::Bytes(scenario.tcp.announced_mss().into());
        }
        const LONG: Duration = Duration::from_secs(100_000 * 3_600);
        if let Ok(time) = parse_time(value, Duration::ZERO, LONG) {
            return Constant::Time(time.as_micros());
        }
        if let Ok(truth) = value.parse() {
            return Constant::Truth(truth);
        }
        let size = |unit: &str| match unit {
            "B" => Some(1.0),
            "kB" => Some(1e3),
            "MB" => Some(1e6),
            "KiB" => Some(1024.0),
            "MiB" => Some(1_048_576.0),
            _ => None,
        };
        match split(&toml::Value::String(value.to_owned())) {
            Some((number, unit, _)) if size(&unit).is_some() => {
                Constant::Bytes((number * size(&unit).unwrap_or(1.0)) as u64)
            }
            Some((number, unit, _))
                if unit.is_empty() && number >= 0.0 && number.fract() == 0.0 =>
            {
                Constant::Whole(number as u64)
            }
            Some((number, unit, _)) if unit.is_empty() => Constant::Number(number),
            Some((number, unit, _)) if unit == "%" => Constant::Number(number / 100.0),
            _ => Constant::Text(value.to_owned()),
        }
    }

    fn rust(&self, name: &str) -> String {
        match self {
            Constant::Time(us) => {
                format!(
                    "pub const {name}: Duration = Duration::from_micros({});",
                    grouped(*us)
                )
            }
            Constant::Whole(whole) => {
                let kind = if *whole > u32::MAX.into() {
                    "u64"
                } else {
                    "u32"
                };
                format!("pub const {name}: {kind} = {};", grouped(*whole))
            }
            // `u16` where possible, because the engine's sizes have 16 bits.
            Constant::Bytes(bytes) => {
                let kind = if *bytes > u16::MAX.into() {
                    "u64"
                } else {
                    "u16"
                };
                format!("pub const {name}: {kind} = {};", grouped(*bytes))
            }
            Constant::Number(number) => format!("pub const {name}: f64 = {number:?};"),
            Constant::Truth(truth) => format!("pub const {name}: bool = {truth};"),
            Constant::Text(text) => format!("pub const {name}: &str = {text:?};"),
        }
    }

    fn c(&self, name: &str) -> String {
        match self {
            Constant::Time(us) => format!("#define RP_{name}_US {us}ull"),
            Constant::Whole(whole) | Constant::Bytes(whole) => {
                let ending = if *whole > u16::MAX.into() { "ull" } else { "u" };
                format!("#define RP_{name} {whole}{ending}")
            }
            Constant::Number(number) => format!("#define RP_{name} {number:?}"),
            Constant::Truth(truth) => format!("#define RP_{name} {}", u8::from(*truth)),
            Constant::Text(text) => format!("#define RP_{name} {text:?}"),
        }
    }
}

/// Formats a number as `1_234_567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

fn name(key: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    key.chars().map(letter).collect()
}

/// Returns the lines of a comment that states how the constants were measured.
fn story(goal: &Goal, judged: &Judged) -> Vec<String> {
    let seeds = goal.held_out.len();
    let mut lines = vec![
        format!("{MARK} of {}.", goal.case.scene().name),
        format!(
            "Measured with {seeds} seeds that were not used in the search; means with 95 % \
            confidence intervals:"
        ),
    ];
    for (figure, line) in goal.aims.figures().zip(&judged.lines) {
        let limit = goal
            .aims
            .limits
            .iter()
            .find(|(it, _)| it.name() == line.name);
        let limit = limit.map(|(it, limit)| {
            let word = if it.more_is_better() { "least" } else { "most" };
            format!(", limit: at {word} {}", figure.shown(*limit))
        });
        let verdict = line.verdict.map(|it| format!(": {}", it.word()));
        if let Some(mean) = &line.mean {
            lines.push(format!(
                "  {} {} [{}, {}]{}{}",
                line.name,
                figure.shown(mean.value),
                super::figure::digits(mean.low),
                super::figure::digits(mean.high),
                limit.unwrap_or_default(),
                verdict.unwrap_or_default()
            ));
        }
    }
    lines
}

/// Describes a key for a comment, with its value as in the scenario.
fn told(key: &str, value: &str) -> String {
    let what = match key {
        "tcp.mss" => "the value of the MSS option: payload and options of a full segment; ",
        _ => "",
    };
    format!("{what}`{key}` = {value}")
}

fn constants(goal: &Goal, judged: &Judged, scenario: &Scenario) -> Vec<(String, String, Constant)> {
    let mut found = Vec::new();
    for (parameter, value) in goal.space.parameters.iter().zip(&judged.values) {
        for key in &parameter.keys {
            found.push((
                key.clone(),
                value.clone(),
                Constant::of(key, value, scenario),
            ));
        }
    }
    found
}

/// Returns a Rust module, for use with `redpoll_base`.
pub fn rust(goal: &Goal, judged: &Judged, scenario: &Scenario) -> String {
    let mut text = String::new();
    for line in story(goal, judged) {
        let _ = writeln!(text, "//! {line}");
        if line.starts_with(MARK) {
            text.push_str("//!\n");
        }
    }
    let constants = constants(goal, judged, scenario);
    if constants
        .iter()
        .any(|(.., it)| matches!(it, Constant::Time(_)))
    {
        text.push_str("\nuse redpoll_base::Duration;\n");
    }
    for (key, value, constant) in &constants {
        let _ = write!(
            text,
            "\n/// {}\n{}\n",
            capital(&told(key, value)),
            constant.rust(&name(key))
        );
    }
    text
}

/// Returns a C header, with times in microseconds and sizes in bytes.
pub fn c(goal: &Goal, judged: &Judged, scenario: &Scenario) -> String {
    let mut text = String::new();
    for (at, line) in story(goal, judged).iter().enumerate() {
        let _ = writeln!(
            text,
            "{} {}",
            if at == 0 { "/*" } else { " *" },
            line.replace("*/", "* /")
        );
    }
    text.push_str(" */\n#ifndef RP_TUNED_H\n#define RP_TUNED_H\n");
    for (key, value, constant) in constants(goal, judged, scenario) {
        let _ = write!(
            text,
            "\n/* {} */\n{}\n",
            told(&key, &value).replace("*/", "* /"),
            constant.c(&name(&key))
        );
    }
    text.push_str("\n#endif\n");
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_value_is_a_constant_of_its_own_kind() {
        let scenario = "topology = { kind = \"line\", nodes = 2, spacing = \"10 m\" }\n\
                        nodes.node-1.role = \"border\"";
        let scenario = Scenario::parse("a", scenario, &[]).unwrap();
        let both = |key: &str, value: &str| {
            let constant = Constant::of(key, value, &scenario);
            (constant.rust(&name(key)), constant.c(&name(key)))
        };
        let expected = [
            (
                "poll.window",
                "12.5 ms",
                "POLL_WINDOW: Duration = Duration::from_micros(12_500)",
                "POLL_WINDOW_US 12500ull",
            ),
            ("mac.min_be", "3", "MAC_MIN_BE: u32 = 3", "MAC_MIN_BE 3u"),
            (
                "tcp.send_buffer",
                "2 KiB",
                "TCP_SEND_BUFFER: u16 = 2_048",
                "TCP_SEND_BUFFER 2048u",
            ),
            (
                "apps.a.file",
                "386 kB",
                "APPS_A_FILE: u64 = 386_000",
                "APPS_A_FILE 386000ull",
            ),
            (
                "lowpan.red_min",
                "0.5",
                "LOWPAN_RED_MIN: f64 = 0.5",
                "LOWPAN_RED_MIN 0.5",
            ),
            (
                "faults.a.share",
                "10 %",
                "FAULTS_A_SHARE: f64 = 0.1",
                "FAULTS_A_SHARE 0.1",
            ),
            ("tcp.nagle", "true", "TCP_NAGLE: bool = true", "TCP_NAGLE 1"),
            (
                "poll.policy",
                "learned",
                "POLL_POLICY: &str = \"learned\"",
                "POLL_POLICY \"learned\"",
            ),
        ];
        for (key, value, rust, c) in expected {
            let told = (format!("pub const {rust};"), format!("#define RP_{c}"));
            assert_eq!(both(key, value), told, "{key}");
        }
        // The value of the MSS option: five frames carry 471 bytes and twelve bytes of options.
        let (rust, _) = both("tcp.mss", "5 frames");
        let mss = scenario.tcp.announced_mss();
        assert_eq!(rust, format!("pub const TCP_MSS: u16 = {mss};"));
    }
}
