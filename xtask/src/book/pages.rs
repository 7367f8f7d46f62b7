//! The form of the pages: the size that a page may have, and a first paragraph that says what its
//! readers can do afterwards.

use std::path::Path;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::Workspace;

/// Largest size of a page in bytes.
const LIMIT: usize = 20 * 1024;
/// Pages with a smaller limit.
const SHORT: [(&str, usize); 2] = [("README.md", 7 * 1024), ("ARCHITECTURE.md", 12 * 1024)];
/// Pages without a limit: all or most of their text is generated.
const GENERATED: [&str; 3] = ["docs/reference/", "docs/report.md", "docs/scenario.md"];
/// Pages without the first paragraph: the start pages, the list of pages, and decision records,
/// which begin with a summary.
const OTHER_BEGINNING: [&str; 4] = [
    "README.md",
    "docs/README.md",
    "docs/SUMMARY.md",
    "docs/adr/",
];

/// Checks the pages in the main folder and under `docs`.
pub fn check(workspace: &Workspace) -> Outcome {
    let mut files = source::files(&workspace.root.join("docs"), "md")?;
    let pages = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ];
    files.extend(pages.map(|page| workspace.root.join(page)));
    let mut findings = Vec::new();
    for file in files {
        let path = workspace.relative(&file).to_owned();
        let text = source::read(&file)?;
        findings.extend(faults(&path, &text).map(|it| format!("{}: {it}", path.display())));
    }
    Failure::unless_empty("book: faults of the pages:", findings)
}

fn faults(path: &Path, text: &str) -> impl Iterator<Item = String> + use<> {
    let is = |places: &[&str]| {
        let mut places = places.iter();
        places.any(|place| match place.strip_suffix('/') {
            Some(folder) => path.starts_with(folder),
            None => path == Path::new(place),
        })
    };
    let short = SHORT.iter().find(|(page, _)| path == Path::new(page));
    let limit = short.map_or(LIMIT, |(_, limit)| *limit);
    let is_long = text.len() > limit && !is(&GENERATED);
    let size = is_long.then(|| format!("has {} bytes, the limit is {limit}", text.len()));
    let is_silent = !is(&OTHER_BEGINNING) && !first_paragraph(text).contains("Afterwards");
    let beginning = is_silent.then(|| {
        "its first paragraph does not say for whom the page is, and what they can do \"Afterwards\""
            .to_owned()
    });
    [size, beginning].into_iter().flatten()
}

/// Returns the first lines of text below the title.
fn first_paragraph(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let is_other =
        |line: &&str| line.is_empty() || line.starts_with(['#', '!']) || line.starts_with("<!--");
    let lines = lines.skip_while(is_other);
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        faults(Path::new(path), text).collect()
    }

    #[test]
    fn a_page_says_at_its_beginning_what_a_reader_can_do_afterwards() {
        let good = "# Title\n\n<!-- Generated -->\n\n![picture](a.svg)\n\nFor users.\nAfterwards you can.\n";
        assert_eq!(found("docs/a.md", good), [""; 0]);
        let late = "# Title\n\nFor users.\n\nAfterwards you can.\n";
        assert_eq!(found("docs/a.md", late).len(), 1);
        assert_eq!(found("docs/adr/0001-a.md", late), [""; 0]);
        assert_eq!(found("docs/reference/c.md", late).len(), 1);
    }

    #[test]
    fn only_generated_pages_have_no_limit() {
        let long = format!("# Title\n\nAfterwards.\n\n{}", "a".repeat(20_480));
        assert_eq!(found("docs/a.md", &long).len(), 1);
        assert_eq!(found("docs/scenario.md", &long), [""; 0]);
        assert_eq!(found("docs/reference/c.md", &long), [""; 0]);
        let page = format!("# Title\n\nAfterwards.\n\n{}", "a".repeat(7_200));
        assert_eq!(
            found("README.md", &page),
            ["has 7222 bytes, the limit is 7168"]
        );
        assert_eq!(found("CHANGELOG.md", &page), [""; 0]);
    }
}
