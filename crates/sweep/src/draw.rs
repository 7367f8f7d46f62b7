//! Random values of a key, between the ends of a range.

use redpoll_base::Rng;
use serde::Deserialize;

/// The range of a key's random values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    from: toml::Value,
    to: toml::Value,
    #[serde(default)]
    scale: Scale,
}

/// Distribution of the random values between the ends of the range.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Scale {
    #[default]
    Linear,
    /// Uniform in the logarithm: values from 1 to 10 are as frequent as those from 10 to 100.
    Log,
}

/// Returns the number of a value, its unit, and whether it is written as an integer without a unit.
pub fn split(value: &toml::Value) -> Option<(f64, String, bool)> {
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

/// A validated range, whose ends are numbers of one unit.
#[derive(Clone, Debug)]
pub struct Ends {
    from: f64,
    to: f64,
    unit: String,
    whole: bool,
    scale: Scale,
}

impl Range {
    /// Draws a value between the ends of the range, written as in a scenario.
    pub fn draw(&self, rng: &mut Rng) -> Result<String, String> {
        let part = f64::from(rng.next_u32()) / f64::from(u32::MAX);
        let ends = self.ends()?;
        Ok(ends.written(ends.at(part)))
    }

    pub fn ends(&self) -> Result<Ends, String> {
        let end = |name: &str, value: &toml::Value| {
            split(value).ok_or_else(|| {
                format!("`{name}`: got {value}; allowed: a number, or a text such as \"40 ms\"")
            })
        };
        let (from, unit, whole) = end("from", &self.from)?;
        let (to, other, also) = end("to", &self.to)?;
        if unit != other {
            return Err(format!(
                "`from` is in {unit:?}, `to` in {other:?}; allowed: one unit for both"
            ));
        }
        if from > to || !from.is_finite() || !to.is_finite() {
            return Err(format!(
                "`from` is {from}, `to` is {to}; allowed: numbers with `from` at most `to`"
            ));
        }
        if matches!(self.scale, Scale::Log) && from <= 0.0 {
            return Err(format!(
                "`from` is {from}; allowed with `scale = \"log\"`: above 0"
            ));
        }
        Ok(Ends {
            from,
            to,
            whole: whole && also,
            unit,
            scale: self.scale,
        })
    }
}

impl Ends {
    /// Returns the value at `part`, from 0 at one end to 1 at the other.
    pub fn at(&self, part: f64) -> f64 {
        let value = match self.scale {
            Scale::Linear => self.from + part * (self.to - self.from),
            Scale::Log => (self.from.ln() + part * (self.to / self.from).ln()).exp(),
        };
        value.clamp(self.from, self.to)
    }

    /// Returns the value at `part`, rounded to three significant digits, or to an integer if the
    /// key or its unit needs one.
    pub fn rounded(&self, part: f64) -> f64 {
        let value = self.at(part);
        if value == 0.0 || value == self.from || value == self.to {
            return value;
        }
        if self.whole || matches!(self.unit.as_str(), "B" | "us" | "ns") {
            return value.round().clamp(self.from, self.to);
        }
        let step = 10f64.powf(value.abs().log10().floor() - 2.0);
        ((value / step).round() * step).clamp(self.from, self.to)
    }

    pub fn written(&self, value: f64) -> String {
        match (self.whole, self.unit.as_str()) {
            (true, _) => format!("{value:.0}"),
            (false, "") => format!("{value:.6}"),
            (false, unit) => format!("{} {unit}", shortened(value)),
        }
    }
}

/// Formats a number with at most four decimals.
fn shortened(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}
