//! Plots of a series over time.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use redpoll_experiments::page::{Fit, Line, Look, Plot, mark_text};

use super::Picture;
use super::steps::{Holds, Points, rates, step_s};
use crate::report::Problem;
use crate::series::COLUMNS;
use crate::table::{Cell, Row, read};

const FLOWS: usize = 6;
const NODES: usize = 6;
/// Greatest number of lines with a colour each; with more, the lines of a flow or node share a
/// colour and differ in dashes.
const HUES: usize = 6;
/// Value of the slow start threshold that stands for infinity, as before the first loss.
const NO_THRESHOLD: f64 = 65_535.0;

/// Kind, name and ends of the flow or node of a row.
type Key = (String, String, String, String);

type Quantity<'a> = &'a dyn Fn(&Track) -> Points;
pub(super) struct Tracks {
    flows: Vec<Track>,
    nodes: Vec<Track>,
    /// Numbers of flows and nodes in the series.
    all: (usize, usize),
    fit: Fit,
}

struct Track {
    name: String,
    rows: Vec<Row>,
}

impl Track {
    fn points(&self, column: &str) -> Points {
        self.points_of(|row| number(row, column))
    }

    fn points_of(&self, value: impl Fn(&Row) -> Option<f64>) -> Points {
        let points = self.rows.iter();
        points
            .filter_map(|row| Some((number(row, "t_s")?, value(row))))
            .collect()
    }

    fn last(&self, column: &str) -> f64 {
        let last = self.rows.last();
        last.and_then(|row| number(row, column)).unwrap_or(0.0)
    }
}

fn place(column: &str) -> usize {
    let place = COLUMNS.iter().position(|(name, ..)| *name == column);
    place.unwrap_or(COLUMNS.len())
}

fn number(row: &Row, column: &str) -> Option<f64> {
    row.get(place(column))?.as_ref()?.number()
}

fn key(row: &Row) -> Key {
    let text = |column| {
        let cell = row.get(place(column)).and_then(Option::as_ref);
        cell.map(Cell::to_string).unwrap_or_default()
    };
    (text("kind"), text("name"), text("from"), text("to"))
}

fn called(key: &Key) -> String {
    match key.0.as_str() {
        "flow" => format!("{} ({} → {})", key.1, key.2, key.3),
        _ => key.1.clone(),
    }
}

/// The rows of a series.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A file that [`Series`](crate::series::Series) wrote.
    File(&'a Path),
    /// Rows with the cells of [`COLUMNS`].
    Rows(&'a [Row]),
}

impl Source<'_> {
    /// Calls `each` with the cells of `columns` of every row.
    fn each(self, columns: &[&str], mut each: impl FnMut(Row)) -> Result<(), Problem> {
        match self {
            Source::File(path) => {
                read(path, columns, each).map_err(|error| Problem::table(path, error))
            }
            Source::Rows(rows) => {
                let places: Vec<usize> = columns.iter().map(|column| place(column)).collect();
                for row in rows {
                    let cells = places.iter().map(|&at| row.get(at).cloned().flatten());
                    each(cells.collect());
                }
                Ok(())
            }
        }
    }

    fn wrong(self, what: impl ToString) -> Problem {
        match self {
            Source::File(path) => Problem::other(path, what),
            Source::Rows(_) => Problem::other(Path::new("the series"), what),
        }
    }
}

/// Flows and nodes in the order of a series, and their bytes or frames.
struct Found {
    order: Vec<Key>,
    sent: HashMap<Key, f64>,
}

impl Found {
    fn in_series(source: Source<'_>) -> Result<Found, Problem> {
        let mut found = Found {
            order: Vec::new(),
            sent: HashMap::new(),
        };
        let busy = [
            "t_s",
            "kind",
            "name",
            "from",
            "to",
            "delivered_bytes",
            "frames_sent",
        ];
        source.each(&busy, |mut cells| {
            let count = cells[5..].iter().flatten().find_map(Cell::number);
            cells.truncate(5);
            let key = key(&cells);
            if !found.sent.contains_key(&key) {
                found.order.push(key.clone());
            }
            found.sent.insert(key, count.unwrap_or(0.0));
        })?;
        let is_series = |key: &Key| key.0 == "flow" || key.0 == "node";
        if found.order.is_empty() || !found.order.iter().all(is_series) {
            let what = "not a series; allowed: a file written by `redpoll run --series FILE`";
            return Err(source.wrong(what));
        }
        Ok(found)
    }

    /// Keeps the flows and nodes with the names in `only`, if it is not empty.
    fn retain(&mut self, source: Source<'_>, only: &[String]) -> Result<(), Problem> {
        for name in only {
            if !self.order.iter().any(|key| key.1 == *name) {
                return Err(source.wrong(format!("has no flow or node called {name:?}")));
            }
        }
        self.order
            .retain(|key| only.is_empty() || only.contains(&key.1));
        Ok(())
    }

    /// Returns the `most` busiest flows or nodes (`kind`), and the number of all of that kind.
    fn busiest(&self, kind: &str, most: usize) -> (Vec<&Key>, usize) {
        let mut kept: Vec<&Key> = self.order.iter().filter(|key| key.0 == kind).collect();
        let all = kept.len();
        if all > most {
            kept.sort_by_key(|key| Reverse(self.sent[*key] as u64));
            kept.truncate(most);
        }
        (kept, all)
    }
}

impl Tracks {
    /// Reads a series twice: first to find the busiest flows and nodes, then to keep their rows.
    pub(super) fn read(source: Source<'_>, only: &[String], fit: Fit) -> Result<Tracks, Problem> {
        let mut found = Found::in_series(source)?;
        found.retain(source, only)?;
        let (flows, all_flows) = found.busiest("flow", FLOWS);
        let (nodes, all_nodes) = found.busiest("node", NODES);
        let both = flows.iter().chain(&nodes).enumerate();
        let places: HashMap<Key, usize> = both.map(|(at, key)| ((*key).clone(), at)).collect();
        let mut rows: Vec<Vec<Row>> = vec![Vec::new(); places.len()];
        let columns: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
        source.each(&columns, |mut row| {
            if let Some(&at) = places.get(&key(&row)) {
                // Drops the texts, because the plots use only numbers.
                for cell in &mut row {
                    cell.take_if(|cell| cell.text().is_some());
                }
                rows[at].push(row);
            }
        })?;
        let mut rows = rows.into_iter();
        let mut tracks = |keys: Vec<&Key>| -> Vec<Track> {
            let named = keys.into_iter().map(called).zip(rows.by_ref());
            named.map(|(name, rows)| Track { name, rows }).collect()
        };
        Ok(Tracks {
            flows: tracks(flows),
            nodes: tracks(nodes),
            all: (all_flows, all_nodes),
            fit,
        })
    }

    pub(super) fn pictures(&self) -> Vec<Picture> {
        let (flows, nodes) = (&self.flows, &self.nodes);
        let threshold = |track: &Track| {
            let below = |row: &Row| number(row, "ssthresh_bytes").filter(|it| *it < NO_THRESHOLD);
            track.points_of(below)
        };
        let pictures = [
            self.goodput(),
            self.picture(
                "window",
                "congestion window (bytes)",
                &[
                    ("", &|track| track.points("cwnd_bytes")),
                    ("ssthresh", &threshold),
                ],
                Holds::Until,
                flows,
            ),
            self.picture(
                "round-trip",
                "round-trip time (ms)",
                &[
                    ("SRTT", &|track| track.points("srtt_ms")),
                    ("RTO", &|track| track.points("rto_ms")),
                ],
                Holds::Until,
                flows,
            ),
            self.picture(
                "in-flight",
                "bytes in flight (bytes)",
                &[("", &|track| track.points("in_flight_bytes"))],
                Holds::Until,
                flows,
            ),
            self.retransmissions(),
            self.picture(
                "queue",
                "datagrams in the node",
                &[("", &|track| track.points("queue_datagrams"))],
                Holds::Until,
                nodes,
            ),
            self.picture(
                "radio",
                "radio neither asleep nor off (% of the time)",
                &[
                    ("", &awake),
                    ("sending", &|track| {
                        track.points_of(|row| Some(100.0 * number(row, "radio_transmit_share")?))
                    }),
                ],
                Holds::Since,
                nodes,
            ),
            self.picture(
                "current",
                "mean current (mA)",
                &[("", &|track| track.points("current_interval_ma"))],
                Holds::Since,
                nodes,
            ),
        ];
        pictures.into_iter().flatten().collect()
    }

    /// Plots the goodput of each flow in steps that are long enough for a mean.
    fn goodput(&self) -> Option<Picture> {
        let times = self.flows.iter().map(|track| &track.rows);
        let spans = times.filter_map(|rows| {
            let time = |row: Option<&Row>| number(row?, "t_s");
            let duration = time(rows.last())? - time(rows.first())?;
            Some((duration, duration / (rows.len() - 1).max(1) as f64))
        });
        let (duration, interval) = spans.max_by(|a, b| a.0.total_cmp(&b.0))?;
        if duration <= 0.0 {
            return None;
        }
        let step = step_s(duration, interval);
        let lines = self.flows.iter().enumerate().map(|(at, track)| Line {
            name: track.name.clone(),
            look: Look::nth(at, 0),
            points: rates(&track.points("delivered_bytes"), step),
        });
        let lines = lines.filter(|line| !line.points.is_empty()).collect();
        let title = format!("goodput, mean over {} s (kb/s)", mark_text(step));
        self.plot("goodput", &title, lines)
    }

    /// Plots a line for each of `tracks` and of `quantities`; returns nothing without numbers.
    fn picture(
        &self,
        name: &'static str,
        title: &str,
        quantities: &[(&str, Quantity<'_>)],
        holds: Holds,
        tracks: &[Track],
    ) -> Option<Picture> {
        let count = quantities.len();
        let mut lines = Vec::new();
        for (at, track) in tracks.iter().enumerate() {
            for (variant, (quantity, points)) in quantities.iter().enumerate() {
                let points = holds.steps(&points(track));
                if points.iter().all(|(_, value)| value.is_none()) {
                    continue;
                }
                lines.push(Line {
                    name: match *quantity {
                        "" => track.name.clone(),
                        quantity => format!("{}, {quantity}", track.name),
                    },
                    look: if tracks.len() * count <= HUES {
                        Look::nth(at * count + variant, variant)
                    } else {
                        Look::nth(at, variant)
                    },
                    points,
                });
            }
        }
        self.plot(name, title, lines)
    }

    fn plot(&self, name: &'static str, title: &str, lines: Vec<Line>) -> Option<Picture> {
        let plot = Plot {
            title: title.to_owned(),
            x_label: "virtual time (s)".to_owned(),
            is_logarithmic: false,
            lines,
        };
        let note = self.note(name);
        (!plot.lines.is_empty()).then(|| Picture {
            name,
            note,
            svg: plot.svg(self.fit),
        })
    }

    fn note(&self, name: &str) -> String {
        let (what, shown, all) = match name {
            "queue" | "radio" | "current" => ("nodes that sent most", NODES, self.all.1),
            _ => ("flows with the most data", FLOWS, self.all.0),
        };
        if all > shown {
            format!("the {shown} of {all} {what}")
        } else {
            String::new()
        }
    }

    fn retransmissions(&self) -> Option<Picture> {
        let causes = COLUMNS.iter().filter_map(|(name, ..)| {
            let cause = name.strip_prefix("retransmissions_")?;
            Some((*name, cause.replace('_', " ")))
        });
        let causes: Vec<(&str, String)> = causes.collect();
        let is_alone = self.flows.len() == 1;
        let mut lines = Vec::new();
        for (at, track) in self.flows.iter().enumerate() {
            let had = causes.iter().filter(|(column, _)| track.last(column) > 0.0);
            for (variant, (column, cause)) in had.enumerate() {
                lines.push(Line {
                    name: if is_alone {
                        cause.clone()
                    } else {
                        format!("{}, {cause}", track.name)
                    },
                    look: if is_alone {
                        Look::nth(variant, variant)
                    } else {
                        Look::nth(at, variant)
                    },
                    points: Holds::Until.steps(&track.points(column)),
                });
            }
        }
        self.plot(
            "retransmissions",
            "segments retransmitted since the start",
            lines,
        )
    }
}

/// Returns the share of time in which a node's radio is neither off nor asleep.
fn awake(track: &Track) -> Points {
    track.points_of(|row| {
        let off = number(row, "radio_off_share")? + number(row, "radio_sleep_share")?;
        Some(100.0 * (1.0 - off))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(name: &str, rows: &[(f64, f64, f64, f64)]) -> Track {
        let rows = rows.iter().map(|(t, bytes, srtt, rto)| {
            let mut row: Row = vec![None; COLUMNS.len()];
            row[place("t_s")] = Some(Cell::Number(*t));
            row[place("delivered_bytes")] = Some(Cell::Number(*bytes));
            row[place("srtt_ms")] = Some(Cell::Number(*srtt));
            row[place("rto_ms")] = Some(Cell::Number(*rto));
            row
        });
        Track {
            name: name.to_owned(),
            rows: rows.collect(),
        }
    }

    fn tracks(flows: Vec<Track>) -> Tracks {
        let all = (flows.len(), 0);
        Tracks {
            flows,
            nodes: Vec::new(),
            all,
            fit: Fit::Page,
        }
    }

    fn svg(tracks: &Tracks, name: &str) -> String {
        let mut pictures = tracks.pictures().into_iter();
        pictures.find(|it| it.name == name).unwrap().svg
    }

    /// Returns the colours of the lines, without those of the legend.
    fn strokes(svg: &str) -> Vec<&str> {
        let lines = svg.lines().filter(|line| line.contains("linejoin"));
        lines
            .filter_map(|line| line.split("stroke=\"").nth(1)?.split('"').next())
            .collect()
    }

    #[test]
    fn srtt_and_rto_have_colours_of_their_own() {
        let rows = [
            (0.0, 0.0, 300.0, 1_000.0),
            (1.0, 9.0, 310.0, 2_000.0),
            (2.0, 9.0, 1.0, 1.0),
        ];
        let one = svg(&tracks(vec![track("a", &rows)]), "round-trip");
        assert_eq!(strokes(&one), ["var(--blue)", "var(--vermilion)"]);
        let three = ["a", "b", "c"].map(|name| track(name, &rows));
        let three = svg(&tracks(three.into()), "round-trip");
        let mut colours = strokes(&three);
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), 6);
        // With more flows, the lines of each flow share a colour and differ in dashes.
        let four = ["a", "b", "c", "d"].map(|name| track(name, &rows));
        let four = svg(&tracks(four.into()), "round-trip");
        let colours = strokes(&four);
        assert_eq!(colours.len(), 8);
        assert_eq!((colours[0], colours[2]), (colours[1], "var(--vermilion)"));
    }

    #[test]
    fn the_title_names_the_step() {
        let rows: Vec<_> = (0..=60)
            .map(|t| (f64::from(t), f64::from(t), 1.0, 1.0))
            .collect();
        let svg = svg(&tracks(vec![track("a", &rows)]), "goodput");
        assert!(svg.contains("goodput, mean over 5 s (kb/s)"), "{svg}");
    }
}
