//! The pages of the studies: a command runs its case's scenario, and a chart's series look
//! different.

use std::collections::{BTreeMap, BTreeSet};

use redpoll_experiments::page::{check_looks, command};
use redpoll_experiments::{Case, Figure};
use redpoll_sim::Scenario;
use redpoll_studies::STUDIES;

fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

fn run_by(command: &str, scenes: &BTreeMap<&str, &str>) -> Scenario {
    let words = words(command);
    let [redpoll, run, file, seed, one, changes @ ..] = &words[..] else {
        panic!("{command}");
    };
    assert_eq!([redpoll, run, seed, one], ["redpoll", "run", "--seed", "1"]);
    let changes: Vec<(String, String)> = changes
        .chunks(2)
        .map(|pair| {
            assert_eq!(pair[0], "--set");
            let (key, value) = pair[1].split_once('=').unwrap();
            (key.to_owned(), value.to_owned())
        })
        .collect();
    let name = file.strip_prefix("scenes/").unwrap();
    let text = scenes[name.strip_suffix(".toml").unwrap()];
    Scenario::parse(name, text, &changes).unwrap()
}

/// The command of each case runs the scenario of that case, and a scene's name identifies its text.
#[test]
fn commands_run_what_the_study_ran() {
    for study in STUDIES {
        let figures = study.load().unwrap();
        let cases: Vec<&Case> = figures.iter().flat_map(Figure::cases).collect();
        let mut scenes: BTreeMap<&str, &str> = BTreeMap::new();
        for case in &cases {
            let scene = case.scene();
            let known = scenes.entry(&*scene.name).or_insert(&scene.text);
            assert_eq!(*known, scene.text, "{}", scene.name);
        }
        let mut done: BTreeSet<String> = BTreeSet::new();
        for case in cases {
            let text = command(case);
            if !done.insert(text.clone()) {
                continue;
            }
            let mut commanded = run_by(&text, &scenes);
            let own = Scenario::parse(&case.scene().name, &case.scene().text, case.changes());
            let own = own.unwrap();
            // The source files may differ, so they are not compared.
            commanded.files.clone_from(&own.files);
            assert_eq!(format!("{commanded:?}"), format!("{own:?}"), "{text}");
        }
    }
}

#[test]
fn no_two_series_of_a_chart_look_the_same() {
    for study in STUDIES {
        let figures = study.load().unwrap();
        let figures: Vec<&Figure> = figures.iter().collect();
        assert_eq!(check_looks(study, &figures), Ok(()), "{}", study.name);
    }
}
