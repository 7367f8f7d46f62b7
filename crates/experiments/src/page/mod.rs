//! The self-contained HTML page of a study: the rows that hold, the other rows with their causes,
//! every figure with the paper's numbers, and the command of each case.

mod axis;
mod bullet;
mod chart;
mod colours;
mod figure;
mod frame;
mod html;
mod means;
mod plot;
mod sequence;
mod strip;
mod topology;

use std::fmt::Write as _;

use crate::case::Scene;
use crate::criteria::Purpose;
use crate::figure::{Figure, VERDICT};
use crate::row::Row;
use crate::study::Study;

use bullet::bullet;
use colours::Looks;
pub use colours::{Look, check_looks};
pub use figure::command;
pub use frame::Fit;
pub use html::{escape, mark_text, number, today};
pub use means::{Mean, MeanLine, Means};
pub use plot::{Bars, Line, Plot};
pub use sequence::{Range, Sequence, Shades};
pub use strip::strip;
pub use topology::{Mesh, Place};

/// Style sheet of pages and their pictures, light and dark.
pub const STYLE: &str = include_str!("style.css");

#[derive(Debug)]
pub struct Page<'a> {
    pub study: &'a Study,
    pub told: &'a [(&'a Figure, Vec<Row>)],
    pub seeds: u64,
    pub version: &'a str,
    pub fingerprint: &'a str,
    pub date: &'a str,
}

pub fn scenes<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Vec<&'a Scene> {
    let mut scenes: Vec<&Scene> = Vec::new();
    for case in figures.into_iter().flat_map(Figure::cases) {
        if !scenes.iter().any(|it| it.name == case.scene().name) {
            scenes.push(case.scene());
        }
    }
    scenes
}

impl Page<'_> {
    pub fn render(&self) -> String {
        let figures: Vec<&Figure> = self.told.iter().map(|(figure, _)| *figure).collect();
        let looks = Looks::of(self.study, &figures);
        let mut page = String::new();
        self.head(&mut page);
        self.words(&mut page);
        self.misses(&mut page);
        self.places(&mut page);
        let (aside, of_paper): (Vec<_>, Vec<_>) =
            self.told.iter().partition(|(figure, _)| figure.is_aside);
        page.push_str("<h2 id=\"figures\">Figures and tables</h2>\n");
        for (figure, rows) in of_paper {
            figure::section(&mut page, figure, rows, &looks);
        }
        if !aside.is_empty() {
            page.push_str("<h2 id=\"beside\">Additional figures</h2>\n");
        }
        for (figure, rows) in aside {
            let title = escape(figure.title);
            let _ = writeln!(page, "<details><summary>{}: {title}</summary>", figure.name);
            figure::section(&mut page, figure, rows, &looks);
            page.push_str("</details>\n");
        }
        self.scenarios(&mut page);
        page.push_str("</body></html>\n");
        page
    }

    /// Returns the scenes of the study's cases, for files `scenes/NAME.toml` next to the page.
    pub fn scenes(&self) -> Vec<&Scene> {
        scenes(self.told.iter().map(|(figure, _)| *figure))
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.told.iter().flat_map(|(_, rows)| rows)
    }

    /// Returns how many rows of purpose `kind` hold, and how many are judged.
    fn held(&self, kind: Purpose) -> (usize, usize) {
        let judged = || {
            self.rows()
                .filter(|row| row.kind == kind && row.ok.is_some())
        };
        let held = judged().filter(|row| row.ok == Some(true)).count();
        (held, judged().count())
    }

    fn head(&self, page: &mut String) {
        let title = format!("Results of the study {}", self.study.name);
        // A study without a paper has only the project's own targets.
        let ((held, all), what) = match self.held(Purpose::Reproduces) {
            (_, 0) => (self.held(Purpose::Promises), "promises"),
            held => (held, "reproductions"),
        };
        let share = match all {
            0 => String::new(),
            _ => format!(
                " ({} %)",
                number((100.0 * held as f64 / all as f64).round())
            ),
        };
        page.push_str(&opening(&title));
        let _ = write!(
            page,
            "<p>{}</p>\n<p class=\"big\"><strong>{held} of {all} {what} \
             hold{share}.</strong></p>\n<p class=\"soft\">Simulated by Redpoll {} (sources {}) on \
             {}, {} seeds per point. Cases that take long may have fewer seeds, as the \
             column \"seeds\" shows.</p>\n",
            escape(self.study.citation),
            escape(self.version),
            escape(self.fingerprint),
            escape(self.date),
            self.seeds
        );
        page.push_str(
            "<div class=\"scroll\" tabindex=\"0\"><table><tr><th>kind of row<th>rows that hold<th>meaning</tr>",
        );
        for (kind, what) in [
            (
                Purpose::Reproduces,
                "measured in the paper and here; only these rows count as reproductions above",
            ),
            (
                Purpose::Calibrates,
                "a parameter was chosen so that these rows hold",
            ),
            (
                Purpose::Promises,
                "promised by the project and not in the paper",
            ),
        ] {
            let (held, all) = self.held(kind);
            let _ = write!(
                page,
                "<tr><td class=\"t\">{} <td class=\"t\">{held} of {all}<td>{what}</tr>",
                kind.word()
            );
        }
        page.push_str("</table></div>\n<nav>");
        for (figure, rows) in self.told {
            let missed = rows.iter().any(|row| row.ok == Some(false));
            let (class, mark) = if missed {
                ("no", "✗")
            } else {
                ("yes", "✓")
            };
            let judged = rows.iter().any(|row| row.ok.is_some());
            let (class, mark) = if judged {
                (class, mark)
            } else {
                ("soft", "·")
            };
            let name = figure.name;
            let _ = write!(
                page,
                "<a class=\"{class}\" href=\"#{name}\">{mark} {name}</a>"
            );
        }
        page.push_str("</nav>\n");
    }

    /// Writes the definitions of terms, and an explanation of the charts.
    fn words(&self, page: &mut String) {
        page.push_str("<h2>How to read this page</h2>\n<dl>");
        for (term, what) in self.study.terms {
            let _ = write!(page, "<dt>{}<dd>{}", escape(term), escape(what));
        }
        page.push_str(
            "</dl>\n<p>Lines, marks and bars are means over the seeds. Error bars show the least \
             and the greatest value of all seeds, or the quartiles if a figure has them. Diamonds \
             are the paper's numbers. A shaded band is the range that the number of a judged \
             row must lie in; otherwise the row does not hold. The band follows from the paper's \
             words, and was written down before the run that it judges. A series has one \
             colour; the variants of a series differ in dashes and marks.</p>\n",
        );
    }

    /// Writes the rows that do not hold, with their causes.
    fn misses(&self, page: &mut String) {
        page.push_str("<h2 id=\"misses\">Rows that do not hold</h2>\n");
        let mut all: Vec<&Row> = self.rows().filter(|row| row.ok == Some(false)).collect();
        all.sort_by_key(|row| row.kind);
        if all.is_empty() {
            page.push_str("<p>None: every judged row holds.</p>\n");
        }
        for row in all {
            self.miss(page, row);
        }
        let mut told: Vec<String> = Vec::new();
        for row in self.rows() {
            if let Some(violation) = &row.violation {
                let line = format!("{}: {violation}", row.figure);
                if !told.contains(&line) {
                    told.push(line);
                }
            }
        }
        for line in told {
            let _ = writeln!(
                page,
                "<p class=\"no\">The oracle reports: {}</p>",
                escape(&line)
            );
        }
    }

    fn miss(&self, page: &mut String, row: &Row) {
        let value = escape(&measured(row));
        let paper = row
            .paper
            .map(|it| format!("; in the paper: {}", number(it)));
        let band = row.band().map(|band| band.to_string()).unwrap_or_default();
        let _ = write!(
            page,
            "<div class=\"miss\"><p><a href=\"#{0}\">{0}</a> <strong>{1}</strong> \
             <small>{2}</small></p>{3}<p>{value}, expected {band}{4}.",
            row.figure,
            escape(&place(row)),
            row.kind.word(),
            bullet(row),
            paper.unwrap_or_default()
        );
        if let Some((says, section)) = &row.told.says {
            let _ = write!(
                page,
                " “{}” <small>({})</small>",
                escape(says),
                escape(section)
            );
        }
        page.push_str("</p>");
        let cause = row.told.cause.as_ref();
        let text = cause.map_or(
            "It is not known why the row does not hold.",
            |(cause, _)| cause,
        );
        let _ = write!(page, "<p>Cause: {}</p>", escape(text));
        let of_figure = self.told.iter().find(|(it, _)| it.name == row.figure);
        let rows: &[Row] = of_figure.map_or(&[], |(_, rows)| rows);
        let shown = cause.map_or(&[][..], |(_, shown)| shown);
        let shown: Vec<&Row> = shown.iter().filter_map(|index| rows.get(*index)).collect();
        if !shown.is_empty() {
            page.push_str("<ul>");
            for row in shown {
                let place = escape(&place(row));
                let _ = write!(page, "<li>{place}: {}</li>", escape(&measured(row)));
            }
            page.push_str("</ul>");
        }
        page.push_str("</div>\n");
    }

    fn places(&self, page: &mut String) {
        let cases = self.told.iter().flat_map(|(figure, _)| figure.cases());
        let pictures = topology::pictures(cases);
        if pictures.is_empty() {
            return;
        }
        page.push_str(
            "<h2 id=\"places\">Positions of the nodes</h2>\n<p>Square: border router; disks: \
             routers; rings: leaves; crosses: interferers. Each arrow points from a node to its \
             parent at the start. Some cases move or add nodes, as their commands show.</p>\n",
        );
        for (index, picture) in pictures.iter().enumerate() {
            let scenes = picture.scenes.join(", ");
            let what = format!("{} nodes: {scenes}", picture.nodes);
            let _ = match index {
                0 => writeln!(page, "<p class=\"soft\">{what}</p>\n{}", picture.svg),
                _ => writeln!(
                    page,
                    "<details><summary>{what}</summary>{}</details>",
                    picture.svg
                ),
            };
        }
    }

    fn scenarios(&self, page: &mut String) {
        page.push_str(
            "<h2 id=\"scenes\">Scenarios</h2>\n<p>The scenarios are also next to this page, in \
             <code>scenes/</code>. The commands of each figure change and run them.</p>\n",
        );
        for scene in self.scenes() {
            let _ = writeln!(
                page,
                "<details><summary>{}.toml</summary><pre tabindex=\"0\">{}</pre></details>",
                escape(&scene.name),
                escape(scene.text.trim())
            );
        }
    }
}

/// Content security policy: the page may use only its own styles, and no scripts.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Returns the start of a page up to its title. The caller ends the page with `</body></html>`.
pub fn opening(title: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
    )
}

pub fn measured(row: &Row) -> String {
    let value = row.value.map_or("nothing".to_owned(), number);
    match row.unit {
        "" => value,
        unit => format!("{value} {unit}"),
    }
}

/// Returns the series, x position and metric of a row as one text.
pub fn place(row: &Row) -> String {
    let parts = [row.series.as_str(), &row.x.to_string(), row.metric].map(str::to_owned);
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|part| !part.is_empty() && part != VERDICT)
        .collect();
    parts.join(", ")
}
