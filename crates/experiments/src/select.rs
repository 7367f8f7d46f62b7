//! Selects studies and figures by name.

use crate::figure::Figure;
use crate::study::Study;

#[derive(Debug, thiserror::Error)]
#[error("unknown {what} {name:?}; allowed: {allowed}")]
pub struct Unknown {
    what: &'static str,
    name: String,
    allowed: String,
}

/// Returns the study called `name`, ignoring case. An error lists the names of all studies.
pub fn find<'a>(studies: &'a [Study], name: &str) -> Result<&'a Study, Unknown> {
    studies
        .iter()
        .find(|study| study.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| Unknown {
            what: "study",
            name: name.to_owned(),
            allowed: list(studies.iter().map(|study| study.name)),
        })
}

/// Returns the figures whose names are in `names`, or all if `names` is empty. `5B`, `fig5b` and
/// `Fig. 5b` all mean `5b`. An error states the unknown name, and lists all names.
pub fn select(mut figures: Vec<Figure>, names: &[String]) -> Result<Vec<Figure>, Unknown> {
    let plain_names: Vec<String> = names.iter().map(|name| plain(name)).collect();
    for (name, plain_name) in names.iter().zip(&plain_names) {
        if !figures.iter().any(|it| plain(it.name) == *plain_name) {
            return Err(Unknown {
                what: "figure",
                name: name.clone(),
                allowed: list(figures.iter().map(|figure| figure.name)),
            });
        }
    }
    figures.retain(|figure| names.is_empty() || plain_names.contains(&plain(figure.name)));
    Ok(figures)
}

/// Returns the short form of a figure's name: its letters in lower case, its digits and its points,
/// without `fig`, `figure`, `sec` or `section` before a leading digit.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(|it| it.is_alphanumeric() || *it == '.');
    let name: String = kept.flat_map(char::to_lowercase).collect();
    let words = ["figure", "fig", "section", "sec"];
    let behind = words.iter().find_map(|word| {
        let rest = name.strip_prefix(word)?.trim_start_matches('.');
        rest.starts_with(|it: char| it.is_ascii_digit())
            .then(|| rest.to_owned())
    });
    behind.unwrap_or(name)
}

fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn spellings_of_a_figure_name_are_equal() {
        for name in ["5b", "5B", "fig5b", "Fig. 5b", "figure-5b", "FIGURE 5B"] {
            assert_eq!(plain(name), "5b", "{name}");
        }
        for name in ["table-7", "table7", "Table 7"] {
            assert_eq!(plain(name), "table7", "{name}");
        }
        for name in ["6.3", "§6.3", "sec6.3", "Section 6.3"] {
            assert_eq!(plain(name), "6.3", "{name}");
        }
        assert_eq!(plain("fragments"), "fragments");
        assert_eq!(plain("eq"), "eq");
    }
}
