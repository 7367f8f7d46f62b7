//! The page of a sweep, a study or several seeds: means with confidence intervals.

use std::fmt::Write as _;

use redpoll_experiments::page::{escape, number, opening, today};
use redpoll_sim::BUILT_IN;

use super::head::quoted;
use super::{charts, counted, table};
use crate::compare::swept::{Point, short_name, swept as swept_keys};
use crate::compare::{Figures, Interval, Side, figures, mean_of};
use crate::picture::{Fit, swept};
use crate::report::Report;

/// The figures in the table of points.
const COLUMNS: [(&str, &str); 4] = [
    ("goodput of all flows (kb/s)", "goodput (kb/s)"),
    ("segment loss, mean of flows (%)", "loss (%)"),
    ("RTT p50, mean of flows (ms)", "RTT p50 (ms)"),
    ("charge of all nodes (mC)", "charge (mC)"),
];
/// Maximum number of points whose commands the page shows.
const COMMANDS: usize = 24;

/// Renders the page of `side`, whose file or folder is `name`. The error states what is missing.
pub fn page_of_several(
    side: &Side,
    name: &str,
    over: Option<&str>,
    version: &str,
) -> Result<String, String> {
    let found = swept(side, over, Fit::Page)?;
    let mut page = opening(name);
    let points: Vec<Point<'_>> = side.cases.iter().map(|(name, _)| Point::of(name)).collect();
    let keys = swept_keys(&points);
    let several_scenes = points.iter().any(|it| it.scene != points[0].scene);
    let names = points.iter().map(|point| match short_name(point, &keys) {
        name if several_scenes && !keys.is_empty() => format!("{}, {name}", point.scene),
        name => name,
    });
    let pairs = side.cases.iter().zip(names);
    let rows_of: Vec<Row> = pairs
        .map(|((_, reports), name)| Row::of(name, reports))
        .collect();
    let _ = writeln!(
        page,
        "<p class=\"big\"><strong>{}</strong></p>",
        escape(&headline(&rows_of))
    );
    let reports = || side.cases.iter().flat_map(|(_, reports)| reports);
    let objections = reports()
        .filter(|it| it.value()["oracle"]["ok"] == false)
        .count();
    let _ = match objections {
        0 => writeln!(page, "<p class=\"yes\">The oracle found no violation.</p>"),
        count => writeln!(
            page,
            "<p class=\"no\">The oracle found violations in {}.</p>",
            counted(count, "run")
        ),
    };
    let seeds = side.cases.iter().map(|(_, reports)| reports.len()).max();
    let _ = writeln!(
        page,
        "<p>{}; the point with the most seeds has {}. Intervals are 95 % bootstrap confidence intervals of the \
         mean over the seeds.</p>",
        counted(points.len(), "point"),
        counted(seeds.unwrap_or_default(), "seed"),
    );
    charts(&mut page, &found.pictures);
    if !found.constant.is_empty() {
        let _ = writeln!(
            page,
            "<p class=\"soft\">Figures without a picture, because their mean is the same at all \
             points: {}.</p>",
            escape(&found.constant.join(", "))
        );
    }
    page.push_str("<h2>Points</h2>\n");
    rows(&mut page, &rows_of);
    commands(&mut page, &points);
    let _ = writeln!(
        page,
        "<p class=\"soft\">Written by Redpoll {} on {}.</p>\n</body></html>",
        escape(version),
        today()
    );
    Ok(page)
}

struct Row {
    name: String,
    seeds: usize,
    figures: Vec<Option<Interval>>,
}

impl Row {
    fn of(name: String, reports: &[Report]) -> Row {
        let runs: Vec<Figures> = reports.iter().map(figures).collect();
        let figure = |(figure, _): &(&str, &str)| {
            let of_run = |run: &Figures| {
                let found = run.iter().find(|((_, name), _)| name == figure);
                found.map(|(_, value)| *value)
            };
            let values: Vec<f64> = runs.iter().map(of_run).collect::<Option<_>>()?;
            let value = *values.first()?;
            let alone = Interval {
                value,
                low: value,
                high: value,
            };
            Some(mean_of(&values).unwrap_or(alone))
        };
        Row {
            name,
            seeds: reports.len(),
            figures: COLUMNS.iter().map(figure).collect(),
        }
    }

    fn goodput(&self) -> Option<Interval> {
        self.figures.first().copied().flatten()
    }
}

fn shown(interval: &Interval) -> String {
    let [value, low, high] = [interval.value, interval.low, interval.high].map(number);
    if low == high {
        value
    } else {
        format!("{value} [{low}, {high}]")
    }
}

fn headline(points: &[Row]) -> String {
    let known = || points.iter().filter_map(|it| Some((it, it.goodput()?)));
    let by_rate = |a: &(&Row, Interval), b: &(&Row, Interval)| a.1.value.total_cmp(&b.1.value);
    match (known().max_by(by_rate), known().min_by(by_rate)) {
        (Some((best, most)), Some((worst, least))) if best.name != worst.name => format!(
            "Goodput is highest, {} kb/s, with {}, and lowest, {} kb/s, with {}.",
            shown(&most),
            best.name,
            shown(&least),
            worst.name
        ),
        (Some((only, rate)), _) => format!("Goodput is {} kb/s ({}).", shown(&rate), only.name),
        _ => "No run has a flow.".to_owned(),
    }
}

fn rows(page: &mut String, points: &[Row]) {
    let rows = points.iter().map(|point| {
        let figures = point.figures.iter();
        let figures = figures.map(|it| it.as_ref().map_or("–".to_owned(), shown));
        let head = [point.name.clone(), point.seeds.to_string()];
        head.into_iter().chain(figures).collect()
    });
    let mut heads = vec![("point", false), ("seeds", true)];
    heads.extend(COLUMNS.iter().map(|(_, head)| (*head, true)));
    table(page, &heads, &rows.collect::<Vec<_>>());
}

/// Writes the command that repeats one run of each point.
fn commands(page: &mut String, points: &[Point<'_>]) {
    page.push_str(
        "<details><summary>Commands that repeat a run of each point</summary><pre tabindex=\"0\">",
    );
    for point in points.iter().take(COMMANDS) {
        let is_built_in = BUILT_IN.iter().any(|it| it.name == point.scene);
        let file = if is_built_in {
            point.scene.to_owned()
        } else {
            format!("{}.toml", point.scene.trim_end_matches(".toml"))
        };
        let mut command = format!("redpoll run {} --seed 1", quoted(&file));
        for (key, value) in &point.keys {
            let _ = write!(command, " --set {}", quoted(&format!("{key}={value}")));
        }
        let _ = writeln!(page, "{}", escape(&command));
    }
    page.push_str("</pre></details>\n");
}
