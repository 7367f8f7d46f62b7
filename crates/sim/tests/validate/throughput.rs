//! A sender that always has a full frame, compared with the closed form of Latré et al. 2006 in
//! `scripts/validate/closed_forms.py`.

use redpoll_mac::Ifs;

use crate::contention::{saturate, standard};
use crate::is_long;
use crate::script::{numbers, run};
use crate::table::{Row, check};

/// Bits of payload in a full frame without addresses.
const PAYLOAD_BITS: f64 = 122.0 * 8.0;

#[test]
fn throughput_is_that_of_the_closed_form() {
    let seconds = if is_long() { 1_000 } else { 100 };
    let config = standard().with(|it| it.ifs = Ifs::Sequential);
    let mut rows = Vec::new();
    for mode in ["ack", "no-ack"] {
        let args = ["throughput", mode, "--assessment"];
        let Some(theirs) = run("closed_forms.py", &args) else {
            return;
        };
        let shares = saturate(&config, 1, 127, mode == "no-ack", seconds, 1);
        let kbps = shares.per_second * PAYLOAD_BITS / 1_000.0;
        let theirs = numbers(&theirs)[0];
        rows.push(Row::within(format!("{mode}, kb/s"), kbps, theirs, 0.005));
    }
    check("throughput, beside the closed form with assessments", &rows);
}
