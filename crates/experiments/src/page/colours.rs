//! Style of each series. A series has one colour throughout the page. Its variants, which follow a
//! comma in the name, also differ in dash and mark, for colour-blind readers.

use std::collections::BTreeMap;

use crate::figure::{Figure, X};
use crate::study::{Hue, Study};

const HUES: [Hue; 7] = [
    Hue::Blue,
    Hue::Vermilion,
    Hue::Green,
    Hue::Purple,
    Hue::Orange,
    Hue::Sky,
    Hue::Grey,
];

/// Dash patterns by index of the variant; the first one is a solid line.
const DASHES: [&str; 5] = ["", "6 3", "2 3", "9 3 2 3", "1 5"];

/// A series' colour, dash and mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    pub hue: Hue,
    /// Index of the variant; 0 for the series itself.
    pub variant: usize,
}

impl Look {
    /// Returns the style of a variant of the series with index `series` in a chart. If the colours
    /// run out, they repeat with other dashes.
    pub fn nth(series: usize, variant: usize) -> Look {
        // Never use grey, the last colour: studies use it for reference series.
        let hues = HUES.len() - 1;
        Look {
            hue: HUES[series % hues],
            variant: variant + series / hues,
        }
    }

    pub fn colour(self) -> &'static str {
        match self.hue {
            Hue::Blue => "var(--blue)",
            Hue::Vermilion => "var(--vermilion)",
            Hue::Green => "var(--green)",
            Hue::Purple => "var(--purple)",
            Hue::Orange => "var(--orange)",
            Hue::Sky => "var(--sky)",
            Hue::Grey => "var(--grey)",
        }
    }

    pub fn dash(self) -> &'static str {
        DASHES[self.variant % DASHES.len()]
    }

    /// Returns the mark at a point: a disk; for variants a ring, square, triangle or hollow square.
    pub fn mark(self, (x, y): (f64, f64)) -> String {
        let colour = self.colour();
        let hollow = "class=\"hollow\" stroke-width=\"1.6\"";
        match self.variant % DASHES.len() {
            0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"),
            1 => format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" {hollow} stroke=\"{colour}\"/>"
            ),
            2 => format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\" fill=\"{colour}\"/>",
                x - 3.0,
                y - 3.0
            ),
            3 => format!(
                "<path d=\"M{x:.1} {:.1}l3.6 6h-7.2z\" fill=\"{colour}\"/>",
                y - 3.5
            ),
            _ => format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\" {hollow} \
                 stroke=\"{colour}\"/>",
                x - 3.0,
                y - 3.0
            ),
        }
    }
}

#[derive(Debug)]
pub struct Looks(BTreeMap<String, Look>);

fn parts(series: &str) -> (&str, &str) {
    series.split_once(", ").unwrap_or((series, ""))
}

impl Looks {
    /// Assigns a style to each series of `study`. Series with the same name before the first comma
    /// have the same colour. A name outside the palette gets the first colour that is free in the
    /// figure where the name first occurs.
    pub fn of(study: &Study, figures: &[&Figure]) -> Looks {
        let mut hues: BTreeMap<String, Hue> = BTreeMap::new();
        for (base, hue) in study.palette {
            hues.insert((*base).to_owned(), *hue);
        }
        let mut variants: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut looks = BTreeMap::new();
        for figure in figures {
            let series = || figure.rows.iter().map(|row| row.series.as_str());
            let bases = || series().map(|series| parts(series).0);
            let mut taken: Vec<Hue> = bases().filter_map(|it| hues.get(it).copied()).collect();
            for base in bases() {
                if !hues.contains_key(base) {
                    let free = HUES.into_iter().find(|hue| !taken.contains(hue));
                    let hue = free.unwrap_or(HUES[taken.len() % HUES.len()]);
                    taken.push(hue);
                    hues.insert(base.to_owned(), hue);
                }
            }
            for series in series() {
                let (base, suffix) = parts(series);
                let known = variants.entry(base.to_owned()).or_default();
                let variant = match suffix {
                    "" => 0,
                    // The variant `Redpoll` has Redpoll's defaults, and one style in all figures.
                    "Redpoll" => 1,
                    _ => match known.iter().position(|it| it == suffix) {
                        Some(at) => 2 + at,
                        None => {
                            known.push(suffix.to_owned());
                            1 + known.len()
                        }
                    },
                };
                let hue = hues[base];
                looks.insert(series.to_owned(), Look { hue, variant });
            }
        }
        Looks(looks)
    }

    pub fn get(&self, series: &str) -> Look {
        let plain = Look {
            hue: Hue::Grey,
            variant: 0,
        };
        self.0.get(series).copied().unwrap_or(plain)
    }
}

/// Checks that all series of each chart look different. A chart shows one metric of a figure, or of
/// its side experiments. An error names the first two series that look the same.
pub fn check_looks(study: &Study, figures: &[&Figure]) -> Result<(), String> {
    let looks = Looks::of(study, figures);
    for figure in figures {
        let shown = || figure.rows.iter().filter(|row| row.x != X::None);
        for row in shown() {
            let same = shown().find(|other| {
                other.metric == row.metric
                    && other.is_aside == row.is_aside
                    && other.series != row.series
                    && looks.get(&other.series) == looks.get(&row.series)
            });
            if let Some(same) = same {
                return Err(format!(
                    "{}: {} and {} look the same",
                    figure.name, row.series, same.series
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::{HUES, check_looks};
    use crate::figure::{At, Figure, Metric};
    use crate::study::Study;

    pub const PLAIN: Study = Study {
        name: "plain",
        citation: "",
        terms: &[],
        palette: &[],
        criteria: "",
        figures: Vec::new,
        over_links: None,
    };

    #[test]
    fn a_chart_has_as_many_looks_as_colours() {
        const METRIC: Metric = Metric::new("goodput", "kb/s");
        let mut figure = Figure::new("f", "Many series");
        for series in 0..HUES.len() {
            figure.known(At::new(format!("series {series}"), 0_u32), METRIC, 1.0);
        }
        assert_eq!(check_looks(&PLAIN, &[&figure]), Ok(()));
        figure.known(At::new("one more", 0_u32), METRIC, 1.0);
        let error = check_looks(&PLAIN, &[&figure]).unwrap_err();
        assert_eq!(error, "f: series 0 and one more look the same");
        // Series of different metrics may look the same, because they are in different charts.
        let mut other = Figure::new("g", "Two charts");
        other.known(At::new("series 0", 0_u32), METRIC, 1.0);
        other.known(At::new("one more", 0_u32), Metric::new("loss", "%"), 1.0);
        assert_eq!(check_looks(&PLAIN, &[&other]), Ok(()));
    }
}
