//! The results file: continuation of interrupted runs, foreign files, concurrent use, and damage.

use crate::common;

use std::fs;
use std::sync::Barrier;

use common::{Temporary, at, bound, case, figure, run_all};
use redpoll_experiments::{At, Outcome, Results, ResultsError, StudyError, conduct, jobs};
use rusqlite::Connection;

#[test]
fn a_study_goes_on_where_it_stopped_and_gives_the_same() {
    let figures = bound();
    let whole = Temporary::new("whole");
    let results = whole.open();
    run_all(&figures, &results, 2);
    let expected = figures[0].rows("s", &results, 2).unwrap();

    let parts = Temporary::new("parts");
    let first = parts.open();
    let all = jobs(&figures, 2, &first).unwrap();
    let outcome = conduct(&all[..1], 1, &first, &mut |_, _| true).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    drop(first);
    let second = parts.open();
    assert_eq!(run_all(&figures, &second, 2), 3);
    assert_eq!(run_all(&figures, &second, 2), 0);
    assert_eq!(figures[0].rows("s", &second, 2).unwrap(), expected);
}

#[test]
fn a_stopped_study_keeps_its_finished_runs() {
    let file = Temporary::new("stop");
    let results = file.open();
    let all = jobs(&[figure()], 5, &results).unwrap();
    let outcome = conduct(&all, 1, &results, &mut |done, _| done < 2).unwrap();
    assert_eq!(outcome, Outcome::Stopped);
    let left = jobs(&[figure()], 5, &results).unwrap().len();
    assert!((1..=8).contains(&left), "{left}");
}

/// Each case has its own limits of the number of seeds, independent of other cases of the figure.
#[test]
fn cases_have_as_many_seeds_as_they_say() {
    let file = Temporary::new("seeds");
    let results = file.open();
    let mut figure = figure();
    let few = case().set("duration", "1 s").at_most_seeds(1);
    let many = case().set("duration", "3 s").at_least_seeds(7);
    for (name, case) in [("few", &few), ("many", &many)] {
        figure.point(At::new(name, 0_u32), common::GOODPUT, case, common::goodput);
    }
    run_all(&[figure], &results, 3);
    let kept = |case| results.runs(case, 100).unwrap().len();
    assert_eq!([kept(&few), kept(&at(0)), kept(&many)], [1, 3, 7]);
}

/// The parsed scenario identifies a run, not the text of the scenario.
#[test]
fn equal_scenarios_share_their_runs() {
    let key = |case: redpoll_experiments::Case| case.key().unwrap();
    assert_eq!(key(at(40)), key(at(0).set("mac.link_retry_delay", "40 ms")));
    assert_eq!(
        key(at(40)),
        key(at(40).set("seed", "7").set("name", "other"))
    );
    assert_ne!(key(at(40)), key(at(0)));
}

/// After a rebuild of the same sources, stored runs are found. After a change of the sources, runs
/// are repeated, and the old runs stay.
#[test]
fn runs_of_other_sources_are_left_alone() {
    let figures = bound();
    let file = Temporary::new("sources");
    assert_eq!(run_all(&figures, &file.open(), 1), 2);
    let other = Results::open(&file.0, "other sources").unwrap();
    assert_eq!(run_all(&figures, &other, 1), 2);
    assert_eq!(run_all(&figures, &file.open(), 1), 0);
}

#[test]
fn a_file_of_another_version_or_kind_is_refused_and_left_alone() {
    let file = Temporary::new("refused");
    drop(file.open());
    let before = fs::read(&file.0).unwrap();
    let refused = || Results::open(&file.0, "sources").unwrap_err();

    // The version is at offset 60 of SQLite's header.
    let mut newer = before.clone();
    newer[63] = 99;
    fs::write(&file.0, &newer).unwrap();
    let version = refused();
    assert!(
        matches!(version, ResultsError::Version { found: 99, .. }),
        "{version}"
    );

    let mut foreign = before.clone();
    foreign[68..72].fill(0);
    fs::write(&file.0, &foreign).unwrap();
    assert!(matches!(refused(), ResultsError::Foreign(_)));

    fs::write(&file.0, "a letter to somebody, long enough not to be empty").unwrap();
    assert!(matches!(refused(), ResultsError::Foreign(_)));

    let mut damaged = before.clone();
    damaged[4_096..].fill(0xa5);
    fs::write(&file.0, &damaged).unwrap();
    let error = refused();
    assert!(matches!(error, ResultsError::Damaged { .. }), "{error}");
    assert_eq!(fs::read(&file.0).unwrap(), damaged);
}

#[test]
fn a_damaged_row_is_reported() {
    for damage in [
        "UPDATE runs SET run = replace(run, 'goodput_kbps\":1', 'goodput_kbps\":2')",
        "UPDATE runs SET run = 'nothing'",
        "UPDATE runs SET run = x'ff'",
        "UPDATE runs SET seed = 2",
        "UPDATE runs SET checksum = 7",
        "UPDATE runs SET cpu_s = 'long'",
    ] {
        let file = Temporary::new("damaged-row");
        let results = file.open();
        run_all(&bound(), &results, 1);
        let hand = Connection::open(&file.0).unwrap();
        assert_eq!(hand.execute(damage, []).unwrap(), 2);
        let error = bound()[0].rows("s", &results, 2).unwrap_err();
        assert!(
            matches!(error, StudyError::Results(ResultsError::Damaged { .. })),
            "{damage}: {error}"
        );
        let text = error.to_string();
        assert!(text.contains("short mac.link_retry_delay=0 ms"), "{text}");
        assert!(
            text.ends_with("name another file or delete this file"),
            "{text}"
        );
    }
}

/// A process that is killed while it creates the file leaves an empty file, or a header without
/// tables. Both remain usable.
#[test]
fn a_file_that_was_just_begun_is_no_other_programs() {
    let file = Temporary::new("begun");
    let begun = Connection::open(&file.0).unwrap();
    begun
        .execute_batch("PRAGMA application_id = 1381004148")
        .unwrap();
    drop(begun);
    assert_eq!(run_all(&bound(), &file.open(), 1), 2);

    let file = Temporary::new("empty");
    fs::write(&file.0, "").unwrap();
    assert_eq!(run_all(&bound(), &file.open(), 1), 2);
}

/// Several studies may create the same file at the same moment.
#[test]
fn studies_begin_together() {
    const STUDIES: usize = 4;
    for round in 0..30 {
        let file = Temporary::new(&format!("begin-{round}"));
        let moment = Barrier::new(STUDIES);
        std::thread::scope(|scope| {
            for _ in 0..STUDIES {
                scope.spawn(|| {
                    moment.wait();
                    Results::open(&file.0, "sources").unwrap();
                });
            }
        });
    }
}

/// Two studies may write to a file at the same time, and both keep their runs.
#[test]
fn two_studies_write_to_one_file() {
    let file = Temporary::new("both");
    std::thread::scope(|scope| {
        for ms in [0, 40] {
            let path = &file.0;
            scope.spawn(move || {
                let results = Results::open(path, "sources").unwrap();
                let run = at(ms).run(1, &|_| true).unwrap().unwrap();
                for seed in 1..=20 {
                    results.put(&at(ms), seed, 0.1, &run).unwrap();
                }
            });
        }
    });
    let results = file.open();
    for ms in [0, 40] {
        assert_eq!(results.runs(&at(ms), 99).unwrap().len(), 20);
    }
}

/// The first result that cannot be stored, for example on a full disk, ends the runs, even while
/// threads still report results.
#[test]
fn results_that_cannot_be_kept_end_the_runs() {
    let file = Temporary::new("unkept");
    let results = file.open();
    let all = jobs(&[figure()], 20, &results).unwrap();
    let other = Connection::open(&file.0).unwrap();
    other.execute_batch("DROP TABLE runs").unwrap();
    assert!(conduct(&all, 4, &results, &mut |_, _| true).is_err());
}
