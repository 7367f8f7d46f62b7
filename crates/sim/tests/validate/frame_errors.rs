//! Frame error rates over a noisy link beside the standard's formula
//! (IEEE 802.15.4-2006, E.4.1.8), which `scripts/validate/closed_forms.py` has
//! a second time.

use redpoll_base::Instant;
use redpoll_mac::MacConfig;
use redpoll_sim::medium::{Config, Sinr};
use redpoll_sim::radio::{self, Model};

use crate::is_long;
use crate::macs::{Above, Macs, Outgoing, Said};
use crate::script::{numbers, run};
use crate::table::{Row, check};

const NOISE_DBM: f64 = -100.0;

/// A medium in which two nodes a metre apart have so much more signal than noise.
fn with_margin(db: f64) -> Config {
    Config::Sinr(Sinr {
        tx_power_dbm: 0.0,
        reference_loss_db: -NOISE_DBM - db,
        shadowing_sigma_db: 0.0,
        noise_floor_dbm: NOISE_DBM,
        sensitivity_dbm: -120.0,
        ..Sinr::default()
    })
}

/// Node 1 sends so many frames that nobody acknowledges.
struct Broadcasts {
    left: u64,
    received: u64,
}

impl Above for Broadcasts {
    fn on(&mut self, _now: Instant, node: usize, said: Said) {
        self.received += u64::from(node == 0 && matches!(said, Said::Frame(_)));
    }

    fn next(&mut self, _now: Instant, node: usize) -> Option<Outgoing> {
        if node == 0 || self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(Outgoing {
            to: None,
            len: 127,
            tag: [0; 3],
        })
    }
}

/// Share of full frames with an error.
fn frame_errors(db: f64, frames: u64) -> f64 {
    let radio = radio::Config::of(Model::Ideal);
    let places = [(0.0, 0.0), (1.0, 0.0)];
    let mut macs = Macs::new(&with_margin(db), &places, &radio, &MacConfig::default(), 1);
    let mut above = Broadcasts {
        left: frames,
        received: 0,
    };
    macs.start_at(Instant::ZERO, 1);
    macs.run_until(Instant::from_millis(10 * frames), &mut above);
    assert_eq!(above.left, 0);
    1.0 - above.received as f64 / frames as f64
}

#[test]
fn frame_errors_are_those_of_the_standard() {
    let frames = if is_long() { 400_000 } else { 5_000 };
    let margins = ["0", "0.5", "1", "2"];
    let mut args = vec!["frame-errors", "127"];
    args.extend(margins);
    let Some(lines) = run("closed_forms.py", &args) else {
        return;
    };
    let rows: Vec<_> = margins
        .iter()
        .zip(numbers(&lines))
        .map(|(db, theirs)| {
            let ours = frame_errors(db.parse().unwrap(), frames);
            Row::share(
                format!("{db} dB, errors in 127 bytes"),
                ours,
                theirs,
                frames,
            )
        })
        .collect();
    check("frame errors, beside IEEE 802.15.4-2006 E.4.1.8", &rows);
}
