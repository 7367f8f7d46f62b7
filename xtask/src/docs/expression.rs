//! A formula over the JSON object that a command writes.
//!
//! | formula | meaning |
//! | --- | --- |
//! | `flows.0.goodput_kbps` | a number by its path; an array's element by its index |
//! | `flows.bulk.rtt_ms.p50` | an array's element by its `name` |
//! | `nodes.leaf-*.energy.cpu_s` | a list: of all elements or fields that match |
//! | `drops."mac.no_ack"?` | a field with dots in its name, which may be missing or `null` |
//! | `*[figure=7.2, x=1].value` | a list: of all elements whose fields have these values |
//! | `sum(…)`, `mean`, `median`, `least`, `most`, `count`, `jain` | one number of a list |
//! | `a + b`, `-`, `*`, `/`, brackets | arithmetic, with blanks around the sign |
//! | `goodput` | a declared measure, which is a formula itself |
//! | `base.goodput` | the value in the run with which this one is compared |

use std::collections::BTreeMap;

use serde_json::Value;

pub type Measures = BTreeMap<String, String>;

/// The values to which a formula can refer.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub measures: &'a Measures,
    pub run: &'a Value,
    pub base: Option<&'a Value>,
}

/// A parsed formula, which can be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Number(f64),
    Path(Vec<Segment>),
    Call(Function, Box<Expression>),
    Pair(Box<Expression>, Sign, Box<Expression>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    name: String,
    /// The required fields of an element.
    fields: Vec<(String, String)>,
    /// Whether the segment may be absent.
    optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
    Times,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Sum,
    Mean,
    Median,
    Least,
    Most,
    Count,
    Jain,
}

/// Largest depth of references between measures.
const DEPTH: usize = 8;

impl Expression {
    pub fn parse(text: &str) -> Result<Expression, String> {
        let mut rest = Reader { text };
        let expression = rest.sum()?;
        match rest.text.trim() {
            "" => Ok(expression),
            left => Err(format!(
                "`{text}`: the rest `{left}` is not part of an expression"
            )),
        }
    }

    /// Evaluates an expression whose result must be one number.
    pub fn value(&self, sources: Sources<'_>) -> Result<f64, String> {
        match self.values(sources, DEPTH)?.as_slice() {
            [one] => Ok(*one),
            several => Err(format!(
                "the result is {} numbers; expected: one",
                several.len()
            )),
        }
    }

    fn values(&self, sources: Sources<'_>, depth: usize) -> Result<Vec<f64>, String> {
        match self {
            Expression::Number(number) => Ok(vec![*number]),
            Expression::Call(function, of) => Ok(vec![function.of(&of.values(sources, depth)?)?]),
            Expression::Pair(left, sign, right) => {
                let (left, right) = (left.values(sources, depth)?, right.values(sources, depth)?);
                match (left.as_slice(), right.as_slice()) {
                    (many, [one]) => Ok(many.iter().map(|a| sign.of(*a, *one)).collect()),
                    ([one], many) => Ok(many.iter().map(|b| sign.of(*one, *b)).collect()),
                    (a, b) if a.len() == b.len() => {
                        Ok(a.iter().zip(b).map(|(a, b)| sign.of(*a, *b)).collect())
                    }
                    (a, b) => Err(format!(
                        "lists of {} and {} numbers cannot be combined",
                        a.len(),
                        b.len()
                    )),
                }
            }
            Expression::Path(path) => read_path(path, sources, depth),
        }
    }
}

fn read_path(path: &[Segment], sources: Sources<'_>, depth: usize) -> Result<Vec<f64>, String> {
    if let [first, rest @ ..] = path
        && first.name == "base"
        && !rest.is_empty()
    {
        let run = sources
            .base
            .ok_or("the block has no `base`, the run to compare with")?;
        let sources = Sources {
            run,
            base: None,
            ..sources
        };
        return read_path(rest, sources, depth);
    }
    if let [only] = path
        && let Some(formula) = sources.measures.get(&only.name)
    {
        let depth = depth
            .checked_sub(1)
            .ok_or("the formulas of measures refer to one another in a circle")?;
        return Expression::parse(formula)?.values(sources, depth);
    }
    let mut values = Vec::new();
    collect(sources.run, path, &mut values).map_err(|at| {
        let shown: Vec<&str> = path.iter().map(|segment| segment.name.as_str()).collect();
        format!("`{}`: {at}", shown.join("."))
    })?;
    Ok(values)
}

fn collect(value: &Value, path: &[Segment], found: &mut Vec<f64>) -> Result<(), String> {
    let [segment, rest @ ..] = path else {
        let number = value.as_f64().ok_or(format!("{value} is not a number"))?;
        found.push(number);
        return Ok(());
    };
    let children: Vec<&Value> = match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| fits(&segment.name, name))
            .map(|(_, value)| value)
            .collect(),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .filter(|(_, element)| segment.wants(element))
            .filter(|(i, element)| {
                segment.name == i.to_string()
                    || element["name"]
                        .as_str()
                        .is_some_and(|name| fits(&segment.name, name))
                    || segment.name == "*"
            })
            .map(|(_, element)| element)
            .collect(),
        _ => Vec::new(),
    };
    if children.is_empty() && !segment.optional {
        return Err(format!("there is no `{}`", segment.name));
    }
    children
        .into_iter()
        .filter(|child| !(segment.optional && child.is_null()))
        .try_for_each(|child| collect(child, rest, found))
}

impl Segment {
    /// Returns whether an element has the required fields.
    fn wants(&self, element: &Value) -> bool {
        self.fields
            .iter()
            .all(|(field, wanted)| match &element[field] {
                Value::String(text) => text == wanted,
                other => other.as_f64().is_some() && other.as_f64() == wanted.parse().ok(),
            })
    }
}

/// Returns whether a name matches a pattern with `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(i, _)| i).chain([rest.len()]);
            ends.into_iter().any(|i| fits(after, &rest[i..]))
        }),
    }
}

impl Sign {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Sign::Plus => a + b,
            Sign::Minus => a - b,
            Sign::Times => a * b,
            Sign::Over => a / b,
        }
    }
}

impl Function {
    fn named(name: &str) -> Option<Function> {
        Some(match name {
            "sum" => Function::Sum,
            "mean" => Function::Mean,
            "median" => Function::Median,
            "least" => Function::Least,
            "most" => Function::Most,
            "count" => Function::Count,
            "jain" => Function::Jain,
            _ => return None,
        })
    }

    fn of(self, values: &[f64]) -> Result<f64, String> {
        let sum: f64 = values.iter().sum();
        let count = values.len() as f64;
        match self {
            Function::Sum => return Ok(sum),
            Function::Count => return Ok(count),
            _ if values.is_empty() => return Err("the list of numbers is empty".to_owned()),
            _ => {}
        }
        Ok(match self {
            Function::Sum | Function::Count => sum,
            Function::Mean => sum / count,
            Function::Median => median(values),
            Function::Least => values.iter().copied().fold(f64::INFINITY, f64::min),
            Function::Most => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            // Jain's index of fairness: 1 if all numbers are equal.
            Function::Jain => {
                sum * sum / (count * values.iter().map(|value| value * value).sum::<f64>())
            }
        })
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (sorted[half - 1] + sorted[half]) / 2.0
    } else {
        sorted[half]
    }
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&[('+', Sign::Plus), ('-', Sign::Minus)]) {
            left = Expression::Pair(left.into(), sign, self.product()?.into());
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.atom()?;
        while let Some(sign) = self.sign(&[('*', Sign::Times), ('/', Sign::Over)]) {
            left = Expression::Pair(left.into(), sign, self.atom()?.into());
        }
        Ok(left)
    }

    fn sign(&mut self, signs: &[(char, Sign)]) -> Option<Sign> {
        let text = self.text.trim_start();
        let (letter, sign) = signs.iter().find(|(letter, _)| text.starts_with(*letter))?;
        self.text = &text[letter.len_utf8()..];
        Some(*sign)
    }

    fn atom(&mut self) -> Result<Expression, String> {
        self.text = self.text.trim_start();
        let wrong = format!("`{}`: expected a path, a number or a bracket", self.text);
        if let Some(inside) = self.text.strip_prefix('(') {
            self.text = inside;
            let expression = self.sum()?;
            self.close()?;
            return Ok(expression);
        }
        if self.text.starts_with(|first: char| first.is_ascii_digit()) {
            let number = self.take(|letter| letter.is_ascii_digit() || letter == '.');
            return number.parse().map(Expression::Number).map_err(|_| wrong);
        }
        let mut path = Vec::new();
        loop {
            let segment = self.segment();
            if segment.name.is_empty() {
                return Err(wrong);
            }
            path.push(segment);
            match self.text.strip_prefix('.') {
                Some(rest) => self.text = rest,
                None => break,
            }
        }
        if let (Some(inside), [only]) = (self.text.strip_prefix('('), path.as_slice()) {
            let function = Function::named(&only.name)
                .ok_or_else(|| format!("there is no function `{}`", only.name))?;
            self.text = inside;
            let of = self.sum()?;
            self.close()?;
            return Ok(Expression::Call(function, of.into()));
        }
        Ok(Expression::Path(path))
    }

    fn segment(&mut self) -> Segment {
        let name = match self.text.strip_prefix('"') {
            Some(quoted) => {
                self.text = quoted;
                let name = self.take(|letter| letter != '"');
                self.text = self.text.strip_prefix('"').unwrap_or(self.text);
                name
            }
            None => self.take(|letter| letter.is_ascii_alphanumeric() || "_-*".contains(letter)),
        };
        let mut fields = Vec::new();
        if let Some((inside, rest)) = self
            .text
            .strip_prefix('[')
            .and_then(|text| text.split_once(']'))
        {
            self.text = rest;
            let pairs = inside.split(',').filter_map(|pair| pair.split_once('='));
            fields.extend(pairs.map(|(a, b)| (a.trim().to_owned(), b.trim().to_owned())));
        }
        let optional = self.text.starts_with('?');
        self.text = self.text.strip_prefix('?').unwrap_or(self.text);
        Segment {
            name,
            fields,
            optional,
        }
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let end = self
            .text
            .find(|letter| !belongs(letter))
            .unwrap_or(self.text.len());
        let (taken, rest) = self.text.split_at(end);
        self.text = rest;
        taken.to_owned()
    }

    fn close(&mut self) -> Result<(), String> {
        let text = self.text.trim_start();
        self.text = text.strip_prefix(')').ok_or("a bracket is not closed")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(formula: &str) -> Result<f64, String> {
        let run = json!({
            "flows": [
                {"name": "bulk", "goodput_kbps": 30.0, "rtt_ms": null},
                {"name": "other", "goodput_kbps": 10.0, "rtt_ms": {"p50": 7.0}},
            ],
            "nodes": [
                {"name": "leaf-1", "drops": {"mac.no_ack": 2}},
                {"name": "leaf-2", "drops": {}},
                {"name": "router-1", "drops": {"mac.no_ack": 40}},
            ],
        });
        let base = json!({"flows": [{"name": "bulk", "goodput_kbps": 60.0}]});
        let measures = [
            ("goodput".to_owned(), "flows.0.goodput_kbps".to_owned()),
            ("circle".to_owned(), "1 + circle".to_owned()),
        ];
        Expression::parse(formula)?.value(Sources {
            measures: &measures.into(),
            run: &run,
            base: Some(&base),
        })
    }

    #[test]
    fn numbers_are_found_by_index_name_and_pattern() {
        assert_eq!(value("flows.0.goodput_kbps"), Ok(30.0));
        assert_eq!(value("flows.other.rtt_ms.p50"), Ok(7.0));
        assert_eq!(value("sum(flows.*.goodput_kbps)"), Ok(40.0));
        assert_eq!(value("sum(nodes.leaf-*.drops.\"mac.no_ack\"?)"), Ok(2.0));
        assert_eq!(value("sum(flows.*.rtt_ms?.p50)"), Ok(7.0));
        assert_eq!(value("jain(flows.*.goodput_kbps)"), Ok(0.8));
        assert_eq!(value("median(flows.*.goodput_kbps)"), Ok(20.0));
    }

    #[test]
    fn rows_are_found_by_their_fields() {
        let rows = json!([
            {"figure": "7.2", "x": 1, "value": 73.0},
            {"figure": "7.2", "x": 2, "value": 37.0},
        ]);
        let sources = Sources {
            measures: &Measures::new(),
            run: &rows,
            base: None,
        };
        let value = |formula: &str| Expression::parse(formula)?.value(sources);
        assert_eq!(value("*[figure=7.2, x=2].value"), Ok(37.0));
        assert_eq!(value("mean(*[figure=7.2].value)"), Ok(55.0));
        assert!(value("*[figure=7.3].value").is_err());
    }

    #[test]
    fn arithmetic_goes_by_its_usual_order() {
        assert_eq!(value("1 + 2 * 3 - 4 / 2"), Ok(5.0));
        assert_eq!(value("(1 + 2) * 3"), Ok(9.0));
        assert_eq!(value("goodput / base.goodput"), Ok(0.5));
        assert_eq!(value("most(flows.*.goodput_kbps / 10)"), Ok(3.0));
    }

    #[test]
    fn missing_fields_are_named() {
        let error = |formula| value(formula).unwrap_err();
        assert!(error("flows.0.goodput").contains("no `goodput`"));
        assert!(error("flows.bulk.rtt_ms.p50").contains("no `p50`"));
        assert!(error("flows.bulk.rtt_ms").contains("null is not a number"));
        assert!(error("flows.*.goodput_kbps").contains("2 numbers"));
        assert!(error("nodes.none-*.x").contains("none-*"));
        assert!(error("circle").contains("circle"));
        assert!(error("largest(goodput)").contains("`largest`"));
        assert!(error("goodput goodput").contains("is not part of an expression"));
        assert!(error("(1 + 2").contains("not closed"));
    }
}
