//! The text of a cell, with placeholders for numbers: `{goodput:.1} ({rtt:.0})`.
//!
//! A placeholder is a formula, a colon and a format: `.1` with one digit after the point, `.1%` as
//! a percentage, `,.0` with a comma at each thousand. A function of the seeds' numbers may precede
//! the formula: `least of`, `most of` or `range of` (both). The default is their mean.

use super::expression::Expression;

#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Place(Place),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    over_seeds: OverSeeds,
    pub expression: Expression,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverSeeds {
    Mean,
    Least,
    Most,
    Range,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format {
    digits: usize,
    percent: bool,
    thousands: bool,
}

impl Template {
    pub fn parse(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (place, after) = after.split_once('}').ok_or("a `{` is not closed")?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Place(Place::parse(place)?));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Template { parts })
    }

    /// Makes a text without placeholders.
    pub fn fixed(text: &str) -> Template {
        Template {
            parts: vec![Part::Text(text.to_owned())],
        }
    }

    /// Returns whether the text contains a number.
    pub fn is_measured(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Place(_)))
    }

    /// Returns the text with numbers. `values` gives a formula's number for each seed.
    pub fn fill(
        &self,
        mut values: impl FnMut(&Expression) -> Result<Vec<f64>, String>,
    ) -> Result<String, String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(words) => text.push_str(words),
                Part::Place(place) => {
                    text.push_str(&place.write(&values(&place.expression)?));
                }
            }
        }
        Ok(text)
    }
}

impl Place {
    fn parse(text: &str) -> Result<Place, String> {
        let (formula, format) = text
            .rsplit_once(':')
            .ok_or_else(|| format!("`{{{text}}}`: the number format is missing, such as `:.1`"))?;
        let words = [
            ("least of ", OverSeeds::Least),
            ("most of ", OverSeeds::Most),
            ("range of ", OverSeeds::Range),
        ];
        let (over_seeds, formula) = words
            .into_iter()
            .find_map(|(word, over)| Some((over, formula.strip_prefix(word)?)))
            .unwrap_or((OverSeeds::Mean, formula));
        Ok(Place {
            over_seeds,
            expression: Expression::parse(formula)?,
            format: Format::parse(format)?,
        })
    }

    fn write(&self, values: &[f64]) -> String {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self.over_seeds {
            OverSeeds::Mean => {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                self.format.write(mean)
            }
            OverSeeds::Least => self.format.write(least),
            OverSeeds::Most => self.format.write(most),
            OverSeeds::Range => {
                let (least, most) = (self.format.write(least), self.format.write(most));
                if least == most {
                    return least;
                }
                format!("{} to {most}", least.trim_end_matches(" %"))
            }
        }
    }
}

impl Format {
    fn parse(text: &str) -> Result<Format, String> {
        let wrong = || format!("`:{text}` is not a number format; allowed: `.1`, `.0%` and `,.0`");
        let (thousands, rest) = match text.strip_prefix(',') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (percent, rest) = match rest.strip_suffix('%') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let digits = rest
            .strip_prefix('.')
            .and_then(|digits| digits.parse().ok());
        Ok(Format {
            digits: digits.ok_or_else(wrong)?,
            percent,
            thousands,
        })
    }

    fn write(self, value: f64) -> String {
        let value = if self.percent { 100.0 * value } else { value };
        let mut text = format!("{value:.*}", self.digits);
        // A value that rounds to zero has no sign.
        if text.starts_with('-') && text.chars().all(|letter| "-0.".contains(letter)) {
            text.remove(0);
        }
        if self.thousands {
            text = with_commas(&text);
        }
        if self.percent {
            text.push_str(" %");
        }
        text
    }
}

/// Returns `1,121` for `1121`.
fn with_commas(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut text = String::new();
    for (i, letter) in whole.chars().enumerate() {
        let behind = whole.len() - i;
        if i > 0 && behind.is_multiple_of(3) && letter.is_ascii_digit() && !text.ends_with('-') {
            text.push(',');
        }
        text.push(letter);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, values: &[f64]) -> String {
        let template = Template::parse(template).unwrap();
        template.fill(|_| Ok(values.to_vec())).unwrap()
    }

    #[test]
    fn numbers_are_written_as_asked() {
        assert_eq!(filled("{a:.1} ({b:.0} ms)", &[1.0, 2.5]), "1.8 (2 ms)");
        assert_eq!(filled("{a:.1%}", &[0.123]), "12.3 %");
        assert_eq!(filled("{a:,.0}", &[1_234_567.0]), "1,234,567");
        assert_eq!(filled("{a:,.1}", &[-123.0]), "-123.0");
        assert_eq!(filled("{a:.1}", &[-0.01]), "0.0");
    }

    #[test]
    fn seeds_make_a_mean_or_a_range() {
        let values = [3.0, 1.0, 2.0];
        assert_eq!(filled("{a:.0}", &values), "2");
        assert_eq!(filled("{least of a:.0} {most of a:.0}", &values), "1 3");
        assert_eq!(filled("{range of a:.0}", &values), "1 to 3");
        assert_eq!(filled("{range of a:.1%}", &[0.01, 0.03]), "1.0 to 3.0 %");
        assert_eq!(filled("{range of a:.0}", &[2.1, 2.2]), "2");
    }

    #[test]
    fn a_template_that_makes_no_sense_says_so() {
        for text in ["{a}", "{a:.}", "{a:x}", "{a", "{:.1}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
        assert!(!Template::parse("75 kb/s").unwrap().is_measured());
    }
}
