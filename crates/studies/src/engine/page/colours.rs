//! How each series looks: one colour throughout the page, and for the variants of a
//! series (what stands behind a comma in its name) a dash and a mark of their own, so
//! that those who do not see all colours tell them apart, too.

use std::collections::BTreeMap;

use crate::engine::figure::Figure;
use crate::engine::study::{Hue, Study};

const HUES: [Hue; 7] = [
    Hue::Blue,
    Hue::Vermilion,
    Hue::Green,
    Hue::Purple,
    Hue::Orange,
    Hue::Sky,
    Hue::Grey,
];

/// Dashes of a series' variants, the plain one first.
const DASHES: [&str; 5] = ["", "6 3", "2 3", "9 3 2 3", "1 5"];

/// A series' colour, dash and mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Its colour.
    pub hue: Hue,
    /// Which of the variants: 0 is the plain one.
    pub variant: usize,
}

impl Look {
    /// The look of the series number `series` of a chart, from 0, or of a variant of it.
    /// Colours come again with other dashes.
    pub fn nth(series: usize, variant: usize) -> Look {
        // Grey is for what stands in the background.
        let hues = HUES.len() - 1;
        Look {
            hue: HUES[series % hues],
            variant: variant + series / hues,
        }
    }

    /// The style sheet's name of the colour.
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

    /// The dash of its line.
    pub fn dash(self) -> &'static str {
        DASHES[self.variant % DASHES.len()]
    }

    /// Its mark at a place: a disk, and for variants a ring, a square, a triangle, a
    /// hollow square.
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

/// The look of every series of a study.
#[derive(Debug)]
pub struct Looks(BTreeMap<String, Look>);

/// A series' name in front of the first comma, and what stands behind.
fn parts(series: &str) -> (&str, &str) {
    series.split_once(", ").unwrap_or((series, ""))
}

impl Looks {
    /// Of all series of `study`. What its palette does not name takes a colour that
    /// no other series of the figure has in which it comes first.
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
                    // The same everywhere: what the project ships.
                    "beyond" => 1,
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

    /// That of a series.
    pub fn get(&self, series: &str) -> Look {
        let plain = Look {
            hue: Hue::Grey,
            variant: 0,
        };
        self.0.get(series).copied().unwrap_or(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::Looks;
    use crate::STUDIES;
    use crate::engine::figure::X;

    /// In each chart: those of one figure and one metric.
    #[test]
    fn no_two_series_of_a_chart_look_the_same() {
        for study in STUDIES {
            let figures = study.load().unwrap();
            let looks = Looks::of(study, &figures.iter().collect::<Vec<_>>());
            for figure in &figures {
                for row in figure.rows.iter().filter(|row| row.x != X::None) {
                    let others = figure.rows.iter().filter(|other| {
                        other.metric == row.metric
                            && other.x != X::None
                            && other.is_aside == row.is_aside
                            && other.series != row.series
                    });
                    for other in others {
                        assert_ne!(
                            looks.get(&row.series),
                            looks.get(&other.series),
                            "{}: {} and {}",
                            figure.name,
                            row.series,
                            other.series
                        );
                    }
                }
            }
        }
    }
}
