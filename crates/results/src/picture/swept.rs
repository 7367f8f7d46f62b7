//! Pictures of a sweep: means over the seeds with confidence intervals, by the values of a key.

use std::collections::BTreeMap;

use redpoll_experiments::page::{Fit, Look, Mean, MeanLine, Means};

use super::Picture;
use crate::compare::swept::{Point, swept as swept_keys};
use crate::compare::{Figures, Side, figures, mean_of};
use crate::report::Report;

/// Names of the pictures, with the figures of [`crate::compare`] that they show.
const FIGURES: [(&str, &str); 6] = [
    ("goodput", "goodput of all flows (kb/s)"),
    ("loss", "segment loss, mean of flows (%)"),
    ("round-trip", "RTT p50, mean of flows (ms)"),
    ("retransmissions", "segments retransmitted"),
    ("duty-cycle", "radio on, mean of nodes (%)"),
    ("charge", "charge of all nodes (mC)"),
];
/// Greatest number of lines.
const LINES: usize = 6;
/// Units of time, and their seconds.
const TIMES: [(&str, f64); 6] = [
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3_600.0),
];

/// The pictures of a sweep.
#[derive(Clone, Debug)]
pub struct Swept {
    pub pictures: Vec<Picture>,
    /// Names of the pictures that were left out because the figure has the same mean at all points.
    pub constant: Vec<&'static str>,
}

/// Draws the figures of a sweep by the values of the key `over`, by default the key with the most
/// values. The error states why there is no picture.
pub fn swept(side: &Side, over: Option<&str>, fit: Fit) -> Result<Swept, String> {
    let points: Vec<Point<'_>> = side.cases.iter().map(|(name, _)| Point::of(name)).collect();
    let keys = match points.as_slice() {
        [] => return Err("has no runs".to_owned()),
        points => swept_keys(points),
    };
    if let Some(over) = over
        && !keys.contains(&over)
    {
        let allowed = match keys.join(", ") {
            none if none.is_empty() => "the sweep varies no key".to_owned(),
            keys => format!("allowed: {keys}"),
        };
        return Err(format!("does not vary {over:?}; {allowed}"));
    }
    let first = FirstAxis::of(&points, &keys, over);
    let lines = lines(&points, &keys, &first);
    let runs = |(_, reports): &(String, Vec<Report>)| reports.iter().map(figures).collect();
    let runs: Vec<Vec<Figures>> = side.cases.iter().map(runs).collect();
    let mut found = Swept {
        pictures: Vec::new(),
        constant: Vec::new(),
    };
    for (name, figure) in FIGURES {
        let means: Vec<_> = runs.iter().map(|runs| mean(runs, figure)).collect();
        let mut known = means.iter().flatten();
        let Some(&(value, _)) = known.next() else {
            continue;
        };
        if means.len() > 1 && known.all(|mean| mean.0 == value) {
            found.constant.push(name);
            continue;
        }
        let svg = Means {
            title: figure.to_owned(),
            x_label: first.label.clone(),
            names: first.names.clone(),
            is_joined: !lines.is_scatter,
            lines: lines.of(&means, &first.places),
        };
        found.pictures.push(Picture {
            name,
            note: lines.note.clone(),
            svg: svg.svg(fit),
        });
    }
    Ok(found)
}

/// A mean and the ends of its interval.
type Found = (f64, Option<(f64, f64)>);

/// Returns the mean of a figure over the seeds, with its interval if there are several seeds.
fn mean(runs: &[Figures], figure: &str) -> Option<Found> {
    let of_run = |run: &Figures| {
        let found = run.iter().find(|((_, name), _)| name == figure);
        found.map(|(_, value)| *value)
    };
    let values: Vec<f64> = runs.iter().map(of_run).collect::<Option<_>>()?;
    match mean_of(&values) {
        // No figure is negative, but the computed interval of a few runs may reach below 0.
        Some(it) => Some((it.value, Some((it.low.max(0.0), it.high)))),
        None => Some((*values.first()?, None)),
    }
}

/// The x axis, and the place of each point on it.
struct FirstAxis<'n> {
    key: Option<&'n str>,
    label: String,
    names: Vec<String>,
    places: Vec<f64>,
}

impl<'n> FirstAxis<'n> {
    fn of(points: &[Point<'n>], keys: &[&'n str], over: Option<&str>) -> FirstAxis<'n> {
        let values = |key: &str| -> Vec<&'n str> {
            let values = points.iter().map(|it| it.keys.get(key).copied());
            values.map(Option::unwrap_or_default).collect()
        };
        let count = |key: &str| {
            let mut values = values(key);
            values.sort_unstable();
            values.dedup();
            values.len()
        };
        let key = match over {
            Some(over) => keys.iter().find(|key| **key == over),
            // Choose the key with the most values. If several keys have as many values, prefer
            // those with numbers, then the first key.
            None => keys
                .iter()
                .rev()
                .max_by_key(|key| (count(key), numbers(&values(key)).is_some())),
        };
        let Some(&key) = key else {
            // No key varies: the x axis shows the scenarios.
            let scenes = points.iter().map(|point| point.scene);
            return FirstAxis::named(None, "scenario".to_owned(), scenes.collect());
        };
        match numbers(&values(key)) {
            Some((places, unit)) => FirstAxis {
                key: Some(key),
                label: match unit {
                    "" => key.to_owned(),
                    unit => format!("{key} ({unit})"),
                },
                names: Vec::new(),
                places,
            },
            None => FirstAxis::named(Some(key), key.to_owned(), values(key)),
        }
    }

    fn named(key: Option<&'n str>, label: String, values: Vec<&str>) -> FirstAxis<'n> {
        let mut names: Vec<String> = Vec::new();
        let mut place = |value: &str| match names.iter().position(|name| name == value) {
            Some(at) => at,
            None => {
                names.push(value.to_owned());
                names.len() - 1
            }
        };
        let places = values.iter().map(|value| place(value) as f64).collect();
        FirstAxis {
            key,
            label,
            names,
            places,
        }
    }
}

/// Parses values that have the same unit, or units of time. Returns their numbers in the unit of
/// the first value, and this unit.
fn numbers<'v>(values: &[&'v str]) -> Option<(Vec<f64>, &'v str)> {
    let split = |value: &&'v str| -> Option<(f64, &'v str)> {
        let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
        let number = value[..value.len() - unit.len()].parse().ok()?;
        Some((number, unit.trim()))
    };
    let split: Vec<(f64, &str)> = values.iter().map(split).collect::<Option<_>>()?;
    let unit = split.first()?.1;
    let seconds = |unit: &str| TIMES.iter().find(|it| it.0 == unit).map(|it| it.1);
    let numbers = split.iter().map(|(number, of)| {
        if *of == unit {
            return Some(*number);
        }
        Some(number * seconds(of)? / seconds(unit)?)
    });
    Some((numbers.collect::<Option<_>>()?, unit))
}

/// The lines of a picture: one for each combination of values of the keys not on the x axis.
struct Lines {
    /// Name of each line, and the indices of its points from left to right.
    lines: Vec<(String, Vec<usize>)>,
    /// Whether each combination of values of the keys not on the x axis has only one point.
    is_scatter: bool,
    note: String,
}

fn lines(points: &[Point<'_>], keys: &[&str], first: &FirstAxis<'_>) -> Lines {
    let is_other = |key: &&&str| Some(**key) != first.key;
    let several_scenes = first.key.is_some() && points.iter().any(|it| it.scene != points[0].scene);
    let name = |point: &Point<'_>| {
        let others = keys.iter().filter(is_other);
        let words = others.map(|key| {
            let value = point.keys.get(*key).copied().unwrap_or("default");
            format!("{key} = {value}")
        });
        let scene = several_scenes.then(|| point.scene.to_owned());
        scene
            .into_iter()
            .chain(words)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (at, point) in points.iter().enumerate() {
        let name = name(point);
        let group = *known.entry(name.clone()).or_insert_with(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        groups[group].1.push(at);
    }
    let is_scatter = groups.len() > 1 && groups.iter().all(|(_, group)| group.len() == 1);
    if is_scatter {
        groups = vec![(String::new(), (0..points.len()).collect())];
    }
    for (_, group) in &mut groups {
        group.sort_by(|a, b| first.places[*a].total_cmp(&first.places[*b]));
    }
    let all = groups.len();
    groups.truncate(LINES);
    let note = if all > LINES {
        format!("the first {LINES} of {all} combinations of the other keys")
    } else {
        String::new()
    };
    Lines {
        lines: groups,
        is_scatter,
        note,
    }
}

impl Lines {
    fn of(&self, means: &[Option<Found>], places: &[f64]) -> Vec<MeanLine> {
        let line = |(at, (name, points)): (usize, &(String, Vec<usize>))| MeanLine {
            name: name.clone(),
            look: Look {
                // Lines differ in colour, mark and dash.
                variant: at,
                ..Look::nth(at, 0)
            },
            means: points
                .iter()
                .filter_map(|&point| {
                    let (value, ends) = means[point]?;
                    let x = places[point];
                    Some(Mean { x, value, ends })
                })
                .collect(),
        };
        self.lines.iter().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a sweep with these cases, each with three seeds whose goodput varies by 1 kb/s.
    fn side(cases: &[(&str, f64)]) -> Side {
        let report = |seed: u64, kbps: f64| {
            let flow = json!({"name": "bulk", "goodput_kbps": kbps + seed as f64});
            let node = json!({"name": "a", "radio_duty_cycle": 1.0});
            let value = json!({"scenario": "s", "seed": seed, "flows": [flow], "nodes": [node]});
            Report::of(value).unwrap()
        };
        let reports = |kbps| (1..=3).map(|seed| report(seed, kbps)).collect();
        Side {
            cases: cases
                .iter()
                .map(|(name, kbps)| ((*name).to_owned(), reports(*kbps)))
                .collect(),
        }
    }

    fn goodput(found: &Swept) -> &str {
        let mut pictures = found.pictures.iter();
        &pictures.find(|it| it.name == "goodput").unwrap().svg
    }

    #[test]
    fn a_grid_has_a_line_for_each_value_of_the_other_key() {
        let cases = [
            ("s mac.delay=0 ms tcp.mss=1 frames", 12.0),
            ("s mac.delay=5 ms tcp.mss=1 frames", 14.0),
            ("s mac.delay=40 ms tcp.mss=1 frames", 13.0),
            ("s mac.delay=0 ms tcp.mss=5 frames", 32.0),
            ("s mac.delay=5 ms tcp.mss=5 frames", 34.0),
            ("s mac.delay=40 ms tcp.mss=5 frames", 33.0),
        ];
        let found = swept(&side(&cases), None, Fit::Column).unwrap();
        let svg = goodput(&found);
        assert!(svg.contains(">mac.delay (ms)</text>"), "{svg}");
        assert!(svg.contains(">tcp.mss = 5 frames</text>"), "{svg}");
        assert_eq!(svg.matches("class=\"interval\"").count(), 6);
        assert_eq!(svg.matches("stroke-width=\"1.4\"").count(), 2);
        // These figures have one value in all cases (radio always on, no charge): no pictures.
        assert_eq!(found.constant, ["retransmissions", "duty-cycle", "charge"]);
        let found = swept(&side(&cases), Some("tcp.mss"), Fit::Column).unwrap();
        assert!(goodput(&found).contains(">tcp.mss (frames)</text>"));
        let problem = swept(&side(&cases), Some("tcp.mms"), Fit::Column).unwrap_err();
        assert_eq!(
            problem,
            "does not vary \"tcp.mms\"; allowed: mac.delay, tcp.mss"
        );
    }

    #[test]
    fn names_units_of_time_and_scattered_points_have_their_axes() {
        let names = [
            ("s tcp.congestion=cubic", 1.0),
            ("s tcp.congestion=off", 2.0),
        ];
        let svg = swept(&side(&names), None, Fit::Column).unwrap();
        assert!(goodput(&svg).contains(">cubic</text>"));
        assert_eq!(
            numbers(&["500 ms", "2 s"]),
            Some((vec![500.0, 2_000.0], "ms"))
        );
        assert_eq!(numbers(&["5", "6"]), Some((vec![5.0, 6.0], "")));
        assert_eq!(numbers(&["5 ms", "6 %"]), None);
        assert_eq!(numbers(&["5 frames", "auto"]), None);
        let random = [("s a=1 b=9", 1.0), ("s a=2 b=7", 2.0), ("s a=3 b=8", 1.5)];
        let svg = swept(&side(&random), Some("b"), Fit::Column).unwrap();
        assert_eq!(goodput(&svg).matches("class=\"interval\"").count(), 3);
        assert!(!goodput(&svg).contains("stroke-width=\"1.4\""));
    }

    #[test]
    fn several_scenarios_have_their_names_on_the_axis_and_one_seed_no_interval() {
        let mut side = side(&[("line-2", 9.0), ("line-3", 5.0)]);
        for (_, reports) in &mut side.cases {
            reports.truncate(1);
        }
        let found = swept(&side, None, Fit::Page).unwrap();
        let svg = goodput(&found);
        assert!(svg.contains(">line-3</text>") && svg.contains(">scenario</text>"));
        assert_eq!(svg.matches("class=\"interval\"").count(), 0);
    }
}
