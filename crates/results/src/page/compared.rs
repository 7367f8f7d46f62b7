//! The page of a comparison: the values of all seeds on both sides, and the differences.

use std::fmt::Write as _;

use redpoll_experiments::page::{escape, number, opening, strip, today};

use super::counted;
use crate::compare::{Comparison, Interval, Line};

/// Renders the page of the comparisons of the results called `a` and `b`.
pub fn page_of_comparison(both: &[Comparison], (a, b): (&str, &str), version: &str) -> String {
    let mut page = opening(&format!("{a} and {b}"));
    let _ = writeln!(
        page,
        "<p class=\"big\"><strong>{}</strong></p>\n<p>A is {}, and B is {}. Each dot is a seed, and \
         each stroke a mean. Intervals are 95 % bootstrap confidence intervals. In a bold row, \
         the interval of B - A excludes 0. By chance, one in twenty figures without a difference \
         is bold.</p>",
        escape(&headline(both)),
        escape(a),
        escape(b)
    );
    for comparison in both {
        let [of_a, of_b] = comparison.seeds.each_ref().map(Vec::len);
        let _ = writeln!(
            page,
            "<h2>{}</h2>\n<p>A has {}, B has {}.</p>\n<div class=\"scroll\" tabindex=\"0\"><table><tr><th>figure\
             <th>values<th class=\"n\">A<th class=\"n\">B<th class=\"n\">B - A<th class=\"n\">B / A</tr>",
            escape(&comparison.case),
            counted(of_a, "seed"),
            counted(of_b, "seed")
        );
        for line in &comparison.lines {
            row(&mut page, line);
        }
        page.push_str("</table></div>\n");
    }
    let _ = writeln!(
        page,
        "<p class=\"soft\">Written by Redpoll {} on {}.</p>\n</body></html>",
        escape(version),
        today()
    );
    page
}

fn differs(line: &Line) -> bool {
    let found = line.difference.as_ref();
    found.is_some_and(|found| found.difference.excludes(0.0))
}

fn headline(both: &[Comparison]) -> String {
    let lines = || both.iter().flat_map(|comparison| &comparison.lines);
    let differing = lines().filter(|line| differs(line)).count();
    let goodput = lines().find(|line| line.what.starts_with("goodput of all"));
    let ratio = goodput
        .filter(|line| differs(line))
        .and_then(|line| line.difference?.ratio);
    let goodput = match (ratio, both.len()) {
        (Some(ratio), 1) => format!(" Goodput of B is {} times that of A.", shown(&ratio)),
        _ => String::new(),
    };
    format!(
        "{differing} of {} differ significantly.{goodput}",
        counted(lines().count(), "figure")
    )
}

fn shown(interval: &Interval) -> String {
    let [value, low, high] = [interval.value, interval.low, interval.high].map(number);
    format!("{value} [{low}, {high}]")
}

fn row(page: &mut String, line: &Line) {
    let mean = |values: &[f64]| number(values.iter().sum::<f64>() / values.len().max(1) as f64);
    let found = line.difference.as_ref();
    let difference = found.map_or("–".to_owned(), |it| shown(&it.difference));
    let ratio = found.and_then(|it| it.ratio.as_ref());
    let ratio = ratio.map_or("–".to_owned(), shown);
    let what = if differs(line) {
        format!("<strong>{}</strong>", escape(&line.what))
    } else {
        escape(&line.what)
    };
    let _ = writeln!(
        page,
        "<tr><td class=\"t\">{what}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td \
         class=\"n\">{difference}<td class=\"n\">{ratio}</tr>",
        strip(&line.a, &line.b),
        mean(&line.a),
        mean(&line.b)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::difference;

    #[test]
    fn a_page_has_all_values_and_marks_what_differs() {
        let line = |what: &str, a: &[f64], b: &[f64]| Line {
            what: what.to_owned(),
            a: a.to_vec(),
            b: b.to_vec(),
            difference: difference(a, b),
        };
        let both = [Comparison {
            case: "<b>line</b>".to_owned(),
            seeds: [vec![1, 2, 3], vec![1, 2, 3]],
            lines: vec![
                line(
                    "goodput of all flows (kb/s)",
                    &[10.0, 11.0, 10.5],
                    &[20.0, 21.0, 22.0],
                ),
                line("frames sent", &[5.0, 9.0, 7.0], &[6.0, 8.0, 7.0]),
            ],
        }];
        let page = page_of_comparison(&both, ("<i>", "b"), "1");
        assert!(
            page.contains("1 of 2 figures differ significantly. Goodput of B is 2"),
            "{page}"
        );
        assert_eq!(page.matches("<circle").count(), 12);
        assert!(page.contains("<strong>goodput of all") && !page.contains("<strong>frames"));
        assert!(!page.contains("<b>line") && !page.contains("<i>"));
    }
}
