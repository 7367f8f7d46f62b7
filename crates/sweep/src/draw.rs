//! Values drawn at random between two others.

use redpoll_base::Rng;
use serde::Deserialize;

/// From where to where the values of a key are drawn.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    from: toml::Value,
    to: toml::Value,
    #[serde(default)]
    scale: Scale,
}

/// How values lie between both ends.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// Evenly in their logarithm: as many from 1 to 10 as from 10 to 100.
    Log,
}

/// A number and the unit behind it.
fn split(value: &toml::Value) -> Option<(f64, String, bool)> {
    match value {
        toml::Value::Integer(number) => Some((*number as f64, String::new(), true)),
        toml::Value::Float(number) => Some((*number, String::new(), false)),
        toml::Value::String(text) => {
            let text = text.trim();
            let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
            let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
            let number = text[..end].parse().ok()?;
            Some((number, text[end..].trim().to_owned(), false))
        }
        _ => None,
    }
}

impl Range {
    /// A value between both ends, as it is written in a scenario.
    ///
    /// # Errors
    ///
    /// What is wrong with the ends.
    pub fn draw(&self, rng: &mut Rng) -> Result<String, String> {
        let number = "allowed: numbers, or texts such as \"40 ms\"";
        let (from, unit, whole) = split(&self.from).ok_or(format!("`from`: {number}"))?;
        let (to, other, also) = split(&self.to).ok_or(format!("`to`: {number}"))?;
        if unit != other {
            return Err(format!(
                "`from` is in {unit:?}, `to` in {other:?}; allowed: one unit for both"
            ));
        }
        if from > to || !from.is_finite() || !to.is_finite() {
            return Err("`from` must not be above `to`".to_owned());
        }
        let part = f64::from(rng.next_u32()) / f64::from(u32::MAX);
        let value = match self.scale {
            Scale::Linear => from + part * (to - from),
            Scale::Log if from > 0.0 => (from.ln() + part * (to / from).ln()).exp(),
            Scale::Log => return Err("with `scale = \"log\"` `from` must be above 0".to_owned()),
        };
        let value = value.clamp(from, to);
        Ok(match (whole && also, unit.as_str()) {
            (true, _) => format!("{value:.0}"),
            (false, "") => format!("{value:.6}"),
            (false, unit) => format!("{} {unit}", shortened(value)),
        })
    }
}

/// Four decimals at most, which any unit can do without.
fn shortened(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}
