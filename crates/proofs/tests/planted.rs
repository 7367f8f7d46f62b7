//! The defects that `make proofs-mutants` and `make chaos-mutants` plant.

use std::fs;
use std::path::{Path, PathBuf};

/// Checks that each planted defect fits the source: the lines that a hunk expects are in its file.
#[test]
fn every_planted_defect_fits_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["crates/proofs/mutants", "crates/chaos/mutants"];
    let patches: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "patch"))
        .collect();
    assert!(patches.len() >= 12, "{} defects", patches.len());
    for patch in patches {
        let text = fs::read_to_string(&patch).unwrap();
        let hunks = expected_by(&text);
        assert!(!hunks.is_empty(), "{}: no hunk", patch.display());
        for (file, expected) in hunks {
            let source = fs::read_to_string(root.join(&file)).unwrap();
            let fits = source.contains(&expected);
            assert!(fits, "{}: {file} lacks\n{expected}", patch.display());
        }
    }
}

/// Returns the file of each hunk of a patch, and the lines that it expects there.
fn expected_by(patch: &str) -> Vec<(String, String)> {
    let mut file = "";
    let mut hunks: Vec<(String, String)> = Vec::new();
    for line in patch.lines() {
        if let Some(path) = line.strip_prefix("--- a/") {
            file = path;
        } else if line.starts_with("@@") {
            hunks.push((file.to_owned(), String::new()));
        } else if let Some((_, expected)) = hunks.last_mut()
            && let Some(code) = line.strip_prefix([' ', '-'])
        {
            expected.push_str(code);
            expected.push('\n');
        }
    }
    hunks
}
