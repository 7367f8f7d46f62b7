//! Saturated senders, compared with `scripts/validate/saturation.py`, a Markov renewal model of
//! unslotted CSMA-CA, and that model compared with `scripts/validate/contention.py`.

use redpoll_mac::Ifs;

use crate::contention::{outside, saturated, standard};
use crate::is_long;
use crate::script::{numbers, run};
use crate::table::{Row, check};

/// Largest relative deviation of the simulated frames per second, and of the unacknowledged share,
/// from the model for the same number of senders.
const LIMIT: f64 = 0.05;

/// Returns the model's frames per second and unacknowledged share; `None` without Python.
fn model(ifs: &str, senders: usize) -> Option<[f64; 2]> {
    let found = numbers(&run(
        "saturation.py",
        &["--ifs", ifs, &senders.to_string()],
    )?);
    Some([found[1], found[2]])
}

#[test]
fn saturation_is_that_of_a_markov_model() {
    for (ifs, name) in [
        (Ifs::Minimum, "minimum"),
        (Ifs::Sequential, "sequential"),
        (Ifs::Off, "off"),
    ] {
        // Senders keep their relative phase, so more seeds help more than longer runs.
        let (senders, seconds, seeds) = match is_long() {
            true => (&[1, 2, 5, 10, 20][..], 20, 20),
            false if ifs == Ifs::Minimum => (&[1, 2, 10][..], 10, 5),
            false => (&[1][..], 10, 3),
        };
        let config = standard().with(|it| it.ifs = ifs);
        let (mut rows, mut outsiders) = (Vec::new(), Vec::new());
        for senders in senders.iter().copied() {
            let Some(model) = model(name, senders) else {
                return;
            };
            let compare = |rows: &mut Vec<Row>, [per_second, lost]: [f64; 2]| {
                let what = |what| format!("{senders} senders, {what}");
                rows.push(Row::within(what("a second"), per_second, model[0], LIMIT));
                let off = LIMIT * model[1];
                rows.push(Row::near(what("collisions"), lost, model[1], off));
            };
            compare(&mut rows, saturated(&config, senders, seconds, seeds));
            if is_long()
                && let Some(outsider) = outside(&["--ifs", name], senders, seconds, seeds)
            {
                compare(&mut outsiders, outsider);
            }
        }
        check(&format!("saturation, saturation.py --ifs {name}"), &rows);
        if !outsiders.is_empty() {
            let title = format!("contention.py, beside saturation.py --ifs {name}");
            check(&title, &outsiders);
        }
    }
}
