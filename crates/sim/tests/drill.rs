//! The drill: every attack on every target, with the duration of `make drill`. `make drill-test`
//! runs the tests with more seeds.

use redpoll_base::Duration;
use redpoll_sim::drill::{Outcome, Plan, Row};

/// Returns `few` seeds, or `many` if `REDPOLL_DRILL_LONG` is set, as in `make drill-test`.
fn seeds(few: u64, many: u64) -> u64 {
    let is_long = std::env::var_os("REDPOLL_DRILL_LONG").is_some();
    if is_long { many } else { few }
}

fn short(only: &[&str], seeds: u64) -> Vec<Row> {
    let plan = Plan {
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        seeds,
        duration: Duration::from_secs(120),
        ..Plan::default()
    };
    plan.run(|_, _, _| ())
}

fn all_is_well(rows: &[Row]) {
    let bad = rows
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::Lost | Outcome::LeftBehind));
    let bad: Vec<String> = bad
        .map(|row| {
            let (share, left) = (row.share * 100.0, &row.left);
            let new = row.new_share * 100.0;
            format!(
                "{} on {}: keeps {share:.0} %, new {new:.0} %, {left:?}",
                row.attack, row.target
            )
        })
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Runs all attacks, or those named in `REDPOLL_DRILL`, separated by commas.
#[test]
fn honest_flows_keep_their_share_and_tables_come_to_rest() {
    let names = std::env::var("REDPOLL_DRILL").unwrap_or_default();
    let rows = short(
        &names
            .split(',')
            .filter(|name| !name.is_empty())
            .collect::<Vec<_>>(),
        seeds(1, 3),
    );
    assert!(!rows.is_empty());
    all_is_well(&rows);
    // A drill without traffic of the attackers would always pass.
    for row in &rows {
        println!(
            "{:<22} {:<11} keeps {:>4.0} %, new {:>4.0} %, rests after {:?} s, x {:?}",
            row.attack,
            row.target,
            row.share * 100.0,
            row.new_share * 100.0,
            row.rest_s,
            row.answered
        );
        let Row {
            attack,
            target,
            sent_per_s,
            per_s,
            ..
        } = row;
        let expected = 0.9 * f64::from(*per_s);
        assert!(
            *sent_per_s > expected,
            "{attack} on {target}: {sent_per_s}/s"
        );
        assert!(row.new_alone > 0.5, "{target}: {}", row.new_alone);
        assert!(row.alone_kbps > 20.0, "{target}: {}", row.alone_kbps);
    }
}

/// Checks that nodes recover from forged routes with several seeds, because the tables fill
/// differently: leaves find their routers again, and forged targets, false parents and No-Paths do
/// not remain at the border router.
#[test]
fn forged_routes_are_soon_forgotten() {
    let forged = [
        "rpl-dios",
        "rpl-daos",
        "rpl-forged-dao",
        "rpl-full-table",
        "non-storing-daos",
        "non-storing-parents",
    ];
    let rows = short(&forged, seeds(3, 6));
    all_is_well(&rows);
    for row in &rows {
        let (name, target) = (row.attack, row.target);
        assert!(row.worst > 0.8, "{name} on {target}: {}", row.worst);
        let rests = row.rest_s.is_some_and(|rest_s| rest_s < 90);
        assert!(rests, "{name} on {target}: {:?}", row.rest_s);
    }
}
