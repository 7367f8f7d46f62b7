//! Quantities with units: `"40 ms"`, `"-8 dBm"`, `"50 KiB"`.

use redpoll_base::Duration;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Measure {
    /// A time; the base unit is the microsecond.
    Time,
    /// A length; the base unit is the metre.
    Length,
    /// A power; the base unit is dBm.
    Power,
    /// A gain; the base unit is dB.
    Gain,
    /// A size; the base unit is the byte.
    Size,
    /// A current; the base unit is mA.
    Current,
    /// A charge; the base unit is mAh.
    Charge,
    /// A frequency; the base unit is MHz.
    Frequency,
    /// A share between 0 and 1, which may also be a number without unit.
    Share,
}

impl Measure {
    /// Returns the units, each with its size in the base unit.
    const fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Measure::Time => &[
                ("us", 1.0),
                ("ms", 1e3),
                ("s", 1e6),
                ("min", 60e6),
                ("h", 3_600e6),
                ("ns", 1e-3),
                ("µs", 1.0),
            ],
            Measure::Length => &[("m", 1.0), ("km", 1e3), ("cm", 1e-2)],
            Measure::Power => &[("dBm", 1.0)],
            Measure::Gain => &[("dB", 1.0)],
            Measure::Size => &[
                ("B", 1.0),
                ("kB", 1e3),
                ("MB", 1e6),
                ("KiB", 1024.0),
                ("MiB", 1_048_576.0),
            ],
            Measure::Current => &[("mA", 1.0), ("uA", 1e-3), ("A", 1e3)],
            Measure::Charge => &[("mAh", 1.0), ("Ah", 1e3)],
            Measure::Frequency => &[("MHz", 1.0), ("kHz", 1e-3)],
            Measure::Share => &[("%", 1e-2)],
        }
    }

    pub(crate) fn allowed(self) -> String {
        let units: Vec<&str> = self
            .units()
            .iter()
            .map(|(unit, _)| *unit)
            .filter(|unit| *unit != "µs")
            .collect();
        units.join(", ")
    }

    /// Returns an example between `min` and `max`, for messages.
    pub(crate) fn example(self, min: f64, max: f64) -> String {
        let usual: f64 = match self {
            Measure::Time => 40_000.0,
            Measure::Length => 40.0,
            Measure::Power => -8.0,
            Measure::Gain => 3.0,
            Measure::Size => 1_848.0,
            Measure::Current => 3.4,
            Measure::Charge => 2_400.0,
            Measure::Frequency => 48.0,
            Measure::Share => 0.1,
        };
        self.show(usual.clamp(min, max))
    }

    /// Returns the value of `text` in the base unit, or the reason why `text` is invalid.
    pub(crate) fn parse(self, text: &str) -> Result<f64, Unfit> {
        let text = text.trim();
        let end = text
            .char_indices()
            .find(|(at, c)| !(c.is_ascii_digit() || ".+-_".contains(*c) || exponent(text, *at)))
            .map_or(text.len(), |(at, _)| at);
        let (number, unit) = text.split_at(end);
        let value: f64 = number
            .replace('_', "")
            .parse()
            .map_err(|_| Unfit::NoNumber)?;
        let unit = unit.trim();
        if unit.is_empty() {
            return Err(Unfit::NoUnit);
        }
        match self.units().iter().find(|(name, _)| *name == unit) {
            // Divides by a whole number: this rounds once, but a product with 0.001 rounds twice.
            Some((_, scale)) if *scale < 1.0 => Ok(value / (1.0 / scale).round()),
            Some((_, scale)) => Ok(value * scale),
            None => Err(Unfit::WrongUnit(unit.to_owned())),
        }
    }

    /// Returns `value`, given in the base unit, in the unit that needs the fewest digits.
    pub(crate) fn show(self, value: f64) -> String {
        let units = self.units();
        // Selects the unit with the fewest digits, and the largest of several such units.
        let digits = |scale: f64| (value / scale).to_string().len();
        let fit = units
            .iter()
            .filter(|(unit, scale)| !matches!(*unit, "µs" | "ns") && (value / scale).abs() >= 1.0)
            .min_by(|a, b| digits(a.1).cmp(&digits(b.1)).then(b.1.total_cmp(&a.1)));
        let (unit, scale) = fit.or(units.first()).copied().unwrap_or(("", 1.0));
        format!("{} {unit}", value / scale)
    }
}

/// Reads a time such as `"40 ms"`, from `least` to `most`, in the format of scenarios.
///
/// # Errors
/// A text with the allowed values.
pub fn time(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let (min, max) = (least.as_micros() as f64, most.as_micros() as f64);
    let time = Measure::Time.parse(text).ok();
    match time.filter(|time| (min..=max).contains(time)) {
        Some(time) => Ok(Duration::from_micros(time as u64)),
        None => Err(format!(
            "allowed: {} to {}, with a unit ({})",
            Measure::Time.show(min),
            Measure::Time.show(max),
            Measure::Time.allowed()
        )),
    }
}

/// Returns whether the character at `at` is the `e` of a number such as `1e6`.
fn exponent(text: &str, at: usize) -> bool {
    let (before, rest) = text.split_at(at);
    let mut rest = rest.chars();
    matches!(rest.next(), Some('e' | 'E'))
        && before.ends_with(|c: char| c.is_ascii_digit())
        && matches!(rest.next(), Some('0'..='9' | '-' | '+'))
}

/// Reason why a text is not a quantity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unfit {
    NoNumber,
    NoUnit,
    WrongUnit(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_their_base_units() {
        let cases = [
            (Measure::Time, "40 ms", 40_000.0),
            (Measure::Time, "1.5s", 1_500_000.0),
            (Measure::Time, "7140 ns", 7.14),
            (Measure::Time, "2 min", 120e6),
            (Measure::Length, "0.5 km", 500.0),
            (Measure::Power, "-8 dBm", -8.0),
            (Measure::Size, "50 KiB", 51_200.0),
            (Measure::Size, "1_848 B", 1_848.0),
            (Measure::Share, "10 %", 0.1),
            (Measure::Time, "1e3 us", 1_000.0),
        ];
        for (measure, text, value) in cases {
            assert_eq!(measure.parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn wrong_and_missing_units_have_different_messages() {
        assert_eq!(Measure::Time.parse("40"), Err(Unfit::NoUnit));
        assert_eq!(
            Measure::Time.parse("40 m"),
            Err(Unfit::WrongUnit("m".into()))
        );
        assert_eq!(
            Measure::Time.parse("40 MS"),
            Err(Unfit::WrongUnit("MS".into()))
        );
        assert_eq!(Measure::Time.parse("ms"), Err(Unfit::NoNumber));
        assert_eq!(Measure::Time.parse(""), Err(Unfit::NoNumber));
        assert_eq!(Measure::Time.parse("4-0 ms"), Err(Unfit::NoNumber));
    }

    #[test]
    fn an_example_is_allowed_itself() {
        assert_eq!(Measure::Time.example(0.0, 10e6), "40 ms");
        assert_eq!(Measure::Time.example(1e6, 3_600e6), "1 s");
        assert_eq!(Measure::Time.example(0.0, 1e3), "1 ms");
        assert_eq!(Measure::Size.example(16.0, 1_024.0), "1 KiB");
    }

    #[test]
    fn values_are_shown_in_a_unit_that_fits() {
        assert_eq!(Measure::Time.show(40_000.0), "40 ms");
        assert_eq!(Measure::Time.show(1_500_000.0), "1.5 s");
        assert_eq!(Measure::Time.show(0.0), "0 us");
        assert_eq!(Measure::Size.show(1_848.0), "1848 B");
        assert_eq!(Measure::Size.show(51_200.0), "50 KiB");
        assert_eq!(Measure::Size.show(1e12), "1000000 MB");
        assert_eq!(Measure::Time.show(65_535e6), "65535 s");
        assert_eq!(Measure::Power.show(-8.0), "-8 dBm");
    }
}
