//! Kinds of keys in a scenario, and the check of their values.

use redpoll_base::Addr;

use super::tree::Raw;
use super::units::{Measure, Unfit};
use crate::name::is_name;

#[derive(Debug)]
pub(crate) struct Key {
    /// Dotted path, in which `*` represents a name that the scenario chooses.
    pub path: &'static str,
    pub kind: KeyKind,
    pub presence: Presence,
    /// Condition under which the key is allowed: another key of the same table, and its values.
    pub only: Option<(&'static str, &'static [&'static str])>,
    /// Meaning of the key, in one or two sentences.
    pub doc: &'static str,
}

/// Whether a key is required, and its default otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Presence {
    Required,
    Default(&'static str),
    /// The key has no default value; the text describes the effect of its absence.
    Optional(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyKind {
    Name,
    /// The name of a node.
    NodeName,
    Text,
    Bool,
    Choice(&'static [&'static str]),
    /// A choice, or a name that the caller provides.
    ChoiceOrGiven(&'static [&'static str]),
    /// A whole number without a unit.
    Count {
        min: u64,
        max: u64,
    },
    Number {
        min: f64,
        max: f64,
    },
    /// A number with a unit, with limits in the base unit.
    Quantity {
        measure: Measure,
        min: f64,
        max: f64,
    },
    QuantityOr {
        measure: Measure,
        min: f64,
        max: f64,
        word: &'static str,
    },
    /// 32 hexadecimal digits, which messages do not repeat, or a word.
    KeyDigits {
        word: Option<&'static str>,
    },
    /// An IPv6 prefix of 64 bits.
    Prefix,
    Address,
    /// Two lengths: the coordinates of a position.
    Position,
    /// `node:port`, `border:port`, `host:port` or `[address]:port`.
    Target,
    /// The places of an app: a node, `border`, `host`, `every …`, or a list of these.
    Places,
    /// The nodes with a cache: a node, `every node`, `every router`, or a list of these.
    Caches,
    /// A list of `a <-> b` or `a <-> b, 90 %`.
    Links,
    /// A list of console lines such as `10 s: text`.
    Console,
    /// An MSS such as `5 frames` or `462 B`.
    Mss,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Text(String),
    Texts(Vec<String>),
    Bool(bool),
    Count(u64),
    Number(f64),
    Word,
    Address(Addr),
    Position(f64, f64),
    Frames(u8),
}

impl KeyKind {
    pub(crate) fn allowed(&self) -> String {
        match self {
            KeyKind::Name => "a word of letters, digits, - and _".to_owned(),
            KeyKind::NodeName => "a node's name".to_owned(),
            KeyKind::Text => "a text".to_owned(),
            KeyKind::Bool => "true, false".to_owned(),
            KeyKind::Choice(words) | KeyKind::ChoiceOrGiven(words) => words.join(", "),
            KeyKind::Count { min, max } => format!("a whole number from {min} to {max}"),
            KeyKind::Number { min, max } => format!("a number from {min} to {max}"),
            KeyKind::Quantity { measure, min, max } => range(*measure, *min, *max),
            KeyKind::QuantityOr {
                measure,
                min,
                max,
                word,
            } => {
                format!("{}, or \"{word}\"", range(*measure, *min, *max))
            }
            KeyKind::KeyDigits { word: None } => "32 hexadecimal digits".to_owned(),
            KeyKind::KeyDigits { word: Some(word) } => {
                format!("32 hexadecimal digits, or \"{word}\"")
            }
            KeyKind::Prefix => "an IPv6 prefix of 64 bits such as \"fd00:1:2:3::/64\"".to_owned(),
            KeyKind::Address => {
                "a unicast IPv6 address, not link-local, such as \"fd00::1\"".to_owned()
            }
            KeyKind::Position => "two lengths such as [\"10 m\", \"25.5 m\"]".to_owned(),
            KeyKind::Target => {
                "\"node:port\", \"border:port\", \"host:port\" or \"[address]:port\", port from 1 \
                 to 65535"
                    .to_owned()
            }
            KeyKind::Places => {
                "a node's name, \"border\", \"host\", \"every node\", \"every router\", \
                 \"every leaf\", \"every other node\" (all nodes except the app's destination), \
                 or a list of these"
                    .to_owned()
            }
            KeyKind::Caches => {
                "a node's name, \"every node\", \"every router\", or a list of these".to_owned()
            }
            KeyKind::Links => {
                "a list of \"a <-> b\" or \"a <-> b, 90 %\" with names of nodes".to_owned()
            }
            KeyKind::Console => {
                "a list of lines, each after its time, such as [\"10 s: state\"]".to_owned()
            }
            KeyKind::Mss => {
                "from 1 to 11 frames (\"5 frames\") or from 32 to 1200 bytes (\"462 B\")".to_owned()
            }
        }
    }

    /// Reads a value like [`read`](Self::read), and allows the names in `given`.
    pub(crate) fn read_with(&self, raw: &Raw, given: &[String]) -> Result<Value, String> {
        match (self, raw) {
            (KeyKind::ChoiceOrGiven(_), Raw::Text(text)) if given.contains(text) => {
                Ok(Value::Text(text.clone()))
            }
            _ => self.read(raw),
        }
    }

    /// Returns the value of `raw`, or a description of `raw` if the key does not accept it.
    pub(crate) fn read(&self, raw: &Raw) -> Result<Value, String> {
        match (self, raw) {
            (KeyKind::Name | KeyKind::NodeName, Raw::Text(text)) if is_name(text) => {
                Ok(Value::Text(text.clone()))
            }
            (
                KeyKind::Text | KeyKind::Target | KeyKind::Places | KeyKind::Caches,
                Raw::Text(text),
            ) if !text.is_empty() => Ok(Value::Text(text.clone())),
            (KeyKind::KeyDigits { word }, Raw::Text(text)) => {
                let is_key = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
                match is_key || word.is_some_and(|word| word == text) {
                    true => Ok(Value::Text(text.clone())),
                    // Report the length only: a mistyped key almost reveals the real one.
                    false => Err(format!("a text of {} characters", text.chars().count())),
                }
            }
            (KeyKind::KeyDigits { .. }, _) => Err("a value without quotes".to_owned()),
            (KeyKind::Bool, Raw::Bool(value)) => Ok(Value::Bool(*value)),
            (KeyKind::Choice(words) | KeyKind::ChoiceOrGiven(words), Raw::Text(text))
                if words.contains(&text.as_str()) =>
            {
                Ok(Value::Text(text.clone()))
            }
            (KeyKind::Count { min, max }, Raw::Integer(value)) => match u64::try_from(*value) {
                Ok(count) if (*min..=*max).contains(&count) => Ok(Value::Count(count)),
                _ => Err(raw.shown()),
            },
            (KeyKind::Number { min, max }, Raw::Real(_) | Raw::Integer(_)) => match raw.number() {
                Some(value) if value >= *min && value <= *max => Ok(Value::Number(value)),
                _ => Err(raw.shown()),
            },
            (KeyKind::QuantityOr { word, .. }, Raw::Text(text)) if text == word => Ok(Value::Word),
            (
                KeyKind::Quantity { measure, min, max }
                | KeyKind::QuantityOr {
                    measure, min, max, ..
                },
                raw,
            ) => quantity(*measure, *min, *max, raw),
            (KeyKind::Prefix, Raw::Text(text)) => {
                prefix(text).map(Value::Address).ok_or(raw.shown())
            }
            (KeyKind::Address, Raw::Text(text)) => match text.parse::<std::net::Ipv6Addr>() {
                Ok(addr) if is_global_unicast(&addr.into()) => Ok(Value::Address(addr.into())),
                _ => Err(raw.shown()),
            },
            (KeyKind::Position, Raw::Array(items)) => match items.as_slice() {
                [x, y] => match (coordinate(&x.raw), coordinate(&y.raw)) {
                    (Some(x), Some(y)) => Ok(Value::Position(x, y)),
                    _ => Err(raw.shown()),
                },
                _ => Err(raw.shown()),
            },
            (
                KeyKind::Places | KeyKind::Caches | KeyKind::Links | KeyKind::Console,
                Raw::Array(items),
            ) if !items.is_empty() => {
                let texts = items.iter().map(|item| match &item.raw {
                    Raw::Text(text) => Some(text.clone()),
                    _ => None,
                });
                texts
                    .collect::<Option<Vec<_>>>()
                    .map(Value::Texts)
                    .ok_or(raw.shown())
            }
            (KeyKind::Mss, Raw::Text(text)) => mss(text).ok_or(raw.shown()),
            _ => Err(raw.shown()),
        }
    }

    /// Reads a default value from the list of keys. `text` is written like the value in a scenario.
    pub(crate) fn read_default(&self, text: &str) -> Result<Value, String> {
        let raw = match self {
            KeyKind::Count { .. } => Raw::Integer(text.parse().map_err(|_| text.to_owned())?),
            KeyKind::Number { .. } => Raw::Real(text.parse().map_err(|_| text.to_owned())?),
            KeyKind::Bool => Raw::Bool(text == "true"),
            _ => Raw::Text(text.to_owned()),
        };
        self.read(&raw)
    }
}

fn range(measure: Measure, min: f64, max: f64) -> String {
    let bare = if measure == Measure::Share {
        " or a bare number"
    } else {
        ""
    };
    format!(
        "{} to {}, such as \"{}\" (units: {}{bare})",
        measure.show(min),
        measure.show(max),
        measure.example(min, max),
        measure.allowed(),
    )
}

fn quantity(measure: Measure, min: f64, max: f64, raw: &Raw) -> Result<Value, String> {
    let value = match raw {
        Raw::Text(text) => match measure.parse(text) {
            Ok(value) => value,
            Err(Unfit::NoNumber) => return Err(raw.shown()),
            Err(Unfit::NoUnit) => return Err(format!("{} without a unit", raw.shown())),
            Err(Unfit::WrongUnit(unit)) => {
                return Err(format!("{} with the unit {unit}", raw.shown()));
            }
        },
        _ => match raw.number() {
            Some(value) if measure == Measure::Share => value,
            Some(_) => return Err(format!("{} without a unit", raw.shown())),
            None => return Err(raw.shown()),
        },
    };
    if value >= min && value <= max {
        Ok(Value::Number(value))
    } else {
        Err(raw.shown())
    }
}

fn coordinate(raw: &Raw) -> Option<f64> {
    const FARTHEST_M: f64 = 1e6;
    match raw {
        Raw::Text(text) => Measure::Length
            .parse(text)
            .ok()
            .filter(|value| value.abs() <= FARTHEST_M),
        _ => None,
    }
}

fn prefix(text: &str) -> Option<Addr> {
    let addr: std::net::Ipv6Addr = text.strip_suffix("/64")?.parse().ok()?;
    let addr = Addr::from(addr);
    (is_global_unicast(&addr) && addr.0[8..] == [0; 8]).then_some(addr)
}

/// Returns whether `addr` may be the address of a host on another link. Addresses that begin with a
/// zero byte are loopback, unspecified, mapped IPv4 or reserved (RFC 4291 §2.4).
fn is_global_unicast(addr: &Addr) -> bool {
    !addr.is_multicast() && addr.0[0] != 0 && !addr.0.starts_with(&[0xfe, 0x80])
}

fn mss(text: &str) -> Option<Value> {
    if let Some(frames) = text
        .strip_suffix("frames")
        .or_else(|| text.strip_suffix("frame"))
    {
        let frames: u8 = frames.trim().parse().ok()?;
        return (1..=11).contains(&frames).then_some(Value::Frames(frames));
    }
    let bytes = Measure::Size.parse(text).ok()?;
    (bytes.fract() == 0.0 && (32.0..=1200.0).contains(&bytes)).then_some(Value::Number(bytes))
}

impl Key {
    pub(crate) fn matches(&self, path: &str) -> bool {
        let mut pattern = self.path.split('.');
        let mut steps = path.split('.');
        loop {
            match (pattern.next(), steps.next()) {
                (None, None) => return true,
                (Some("*"), Some(step)) if !step.is_empty() => {}
                (Some(one), Some(other)) if one == other => {}
                _ => return false,
            }
        }
    }

    pub(crate) fn is_below(&self, path: &str) -> bool {
        let mut pattern = self.path.split('.');
        path.split('.')
            .all(|step| pattern.next().is_some_and(|one| one == "*" || one == step))
            && pattern.next().is_some()
    }
}
