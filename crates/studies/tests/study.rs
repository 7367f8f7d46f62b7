//! The studies: names, scenarios, and shortened runs of a few figures.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common;
use common::{Temporary, run_all};
use redpoll_experiments::{Case, MeasuredLinks, Scene, Study, select};
use redpoll_studies::{STUDIES, find};

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let error = find("nobody1999").unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown study \"nobody1999\"; allowed: kumar2020, kim2015, lim2022, hurni2012, park2019, ota, thread"
    );
    let error = select(kumar2020().load().unwrap(), &["5z".to_owned()])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("unknown figure \"5z\"; allowed: table-1, table-3, table-5, 3a, 3b, 4a"),
        "{error}"
    );
}

fn kumar2020() -> &'static Study {
    find("kumar2020").unwrap()
}

#[test]
fn names_are_found_as_people_write_them() {
    let found = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        let figures = select(kumar2020().load().unwrap(), &names).unwrap();
        figures.iter().map(|it| it.name()).collect::<Vec<_>>()
    };
    assert_eq!(found(&["5B"]), ["5b"]);
    assert_eq!(
        found(&["fig5b", "Fig. 10", "Table 7", "§6.3"]),
        ["6.3", "5b", "10", "table-7"]
    );
    assert_eq!(find("Kumar2020").unwrap().name, "kumar2020");
}

#[test]
fn all_cases_can_be_run() {
    for study in STUDIES {
        let figures = study.load().unwrap();
        for (index, figure) in figures.iter().enumerate() {
            assert!(
                figures[..index]
                    .iter()
                    .all(|other| other.name() != figure.name())
            );
            for case in figure.cases() {
                let scenario = case.scenario();
                assert!(
                    scenario.is_ok(),
                    "{}: {}",
                    case.text(),
                    scenario.unwrap_err()
                );
            }
        }
    }
}

/// Runs one figure of the paper with one seed: §6.3, one hop.
#[test]
fn a_figure_of_kumar2020_runs() {
    let file = Temporary::new("figure");
    let results = file.open();
    let figures = select(kumar2020().load().unwrap(), &["6.3".to_owned()]).unwrap();
    run_all(&figures, &results, 1);
    for row in figures[0].rows("kumar2020", &results, 1).unwrap() {
        assert!(row.value.is_some_and(|goodput| goodput > 60.0), "{row:?}");
        assert_eq!(row.violation, None, "{row:?}");
    }
}

/// The probes of the air find their values, and the judged rows of their figures hold.
#[test]
fn probes_of_the_air_find_their_values() {
    let file = Temporary::new("air");
    let results = file.open();
    let names = ["4a", "table-9"].map(str::to_owned);
    let figures = select(kumar2020().load().unwrap(), &names).unwrap();
    run_all(&figures, &results, 1);
    for figure in &figures {
        for row in figure.rows("kumar2020", &results, 1).unwrap() {
            assert!(row.value.is_some() && row.ok != Some(false), "{row:?}");
        }
    }
}

/// A run contains every name that a row reads. The test runs a few seconds of each case and reads
/// all its rows. The studies run in parallel. `crates/modules/tests/thread.rs` tests the study
/// thread, whose nodes need a module.
#[test]
fn every_name_that_a_row_reads_is_there() {
    std::thread::scope(|scope| {
        for study in STUDIES.iter().filter(|it| it.name != "thread") {
            scope.spawn(move || {
                // The nodes start to send within this time.
                let duration = match study.name {
                    "lim2022" => "90 s",
                    "kim2015" | "ota" | "park2019" => "62 s",
                    _ => "3 s",
                };
                let shorten = |case: Case| starts_early(case).set("duration", duration);
                let mut runs = BTreeMap::new();
                for figure in study.load().unwrap() {
                    if let Err(error) = figure.check_names(shorten, &mut runs) {
                        panic!("{error}");
                    }
                }
            });
        }
    });
}

/// Replaces start times of several minutes, which give RPL time, by 20 s.
fn starts_early(case: Case) -> Case {
    let scene = case.scene().clone();
    let text = ["9 min", "10 min"]
        .iter()
        .fold(scene.text, |text, minutes| {
            text.replace(&format!("start = \"{minutes}\""), "start = \"20 s\"")
        });
    case.in_scene(Scene { text, ..scene })
}

#[test]
fn measured_links_make_a_figure_of_the_study_that_takes_them() {
    let links = |file: &str, channel| MeasuredLinks {
        file: Path::new(env!("CARGO_MANIFEST_DIR")).join(file),
        channel,
    };
    let corridor = links("../../scenarios/k7-corridor.k7", 26);
    let kim2015 = find("kim2015").unwrap();
    let figure = kim2015.over(&corridor).unwrap();
    let over = figure
        .cases()
        .filter(|case| case.scene().name.starts_with("measured"));
    let over: BTreeMap<String, &Case> = over.map(|case| (case.key().unwrap(), case)).collect();
    // Four kinds of traffic, two also at the light load, and Redpoll's TCP in both directions.
    assert_eq!(over.len(), 8);
    for case in over.values() {
        let scenario = case.scenario().unwrap();
        assert_eq!(scenario.nodes.len(), 10);
        let border = scenario.border_router().unwrap();
        let sensors = scenario.places().flat_map(|place| &place.apps);
        let sensors = sensors.filter(|app| app.name.starts_with("readings"));
        assert_eq!(sensors.count(), 9, "all but node {border}");
    }

    let none = kim2015.over(&links("no-such-file.k7", 26)).unwrap_err();
    assert!(none.to_string().contains("no-such-file.k7"), "{none}");
    let silent = kim2015.over(&MeasuredLinks {
        channel: 200,
        ..corridor.clone()
    });
    assert!(silent.is_err());
    let refused = find("lim2022").unwrap().over(&corridor).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the study lim2022 has no figure whose runs use measured links"
    );
}
