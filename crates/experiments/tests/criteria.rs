//! `criteria.toml` matches the rows that figures declare.

use crate::common;

use common::{CRITERIA, figure};
use redpoll_experiments::{CriteriaError, bind};

fn error(text: &str) -> String {
    bind(&mut [figure()], text).unwrap_err().to_string()
}

#[test]
fn a_row_that_no_figure_declares_is_an_error() {
    let more =
        CRITERIA.to_owned() + "\n[[row]]\nid = \"f/gone\"\nkind = \"explains\"\nwhy = \"x\"\n";
    assert_eq!(
        error(&more),
        "criteria.toml has the row f/gone, which no figure declares"
    );
    let other = CRITERIA.replace("f/falls", "g/falls");
    assert_eq!(
        error(&other),
        "criteria.toml has no row f/falls, which a figure declares"
    );
    let twice = CRITERIA.replace("f/falls", "f/fast");
    assert_eq!(
        error(&twice),
        "criteria.toml has the row f/fast twice; remove one"
    );
}

#[test]
fn each_kind_of_row_requires_its_fields() {
    let fault = |from: &str, to: &str| error(&CRITERIA.replace(from, to));
    assert_eq!(
        fault("least = 1000\n", ""),
        "criteria.toml: f/fast: both bounds are missing; a judged row needs at least one"
    );
    assert_eq!(
        fault("says = \"very fast\"\n", ""),
        "criteria.toml: f/fast: `says` or `section` is missing; a row of the kind \
         `reproduces` needs both"
    );
    assert_eq!(
        fault("\"promises\"", "\"explains\""),
        "criteria.toml: f/falls: a row of the kind `explains` must not have a band"
    );
    assert_eq!(
        fault("most = 1.0", "most = 0.1"),
        "criteria.toml: f/falls: the lower bound is above the upper bound"
    );
    assert_eq!(
        fault("why = \"for a test\"", "why = \" \""),
        "criteria.toml: f/fast: `why` is empty; it must state the reason for the band"
    );
    let unknown = bind(&mut [figure()], &CRITERIA.replace("why", "because"));
    assert!(
        matches!(unknown, Err(CriteriaError::Toml(_))),
        "{unknown:?}"
    );
}
