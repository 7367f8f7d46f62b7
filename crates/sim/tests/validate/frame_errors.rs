//! Frame error rates over a noisy link, compared with the standard's formula (IEEE 802.15.4-2006,
//! E.4.1.8), which `scripts/validate/closed_forms.py` implements independently.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_mac::MacConfig;
use redpoll_sim::RadioConfig;
use redpoll_sim::live::{FrameClass, Outcome};
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{MediumConfig, RadioModel, Scenario, Sinr, World};

use crate::is_long;
use crate::macs::{Above, MacReport, Macs, Outgoing};
use crate::script::{numbers, run};
use crate::table::{Row, check};

const NOISE_DBM: f64 = -100.0;

/// Returns a medium in which two nodes a metre apart have a signal `db` over the noise.
fn with_margin(db: f64) -> MediumConfig {
    MediumConfig::Sinr(Sinr {
        tx_power_dbm: 0.0,
        reference_loss_db: -NOISE_DBM - db,
        shadowing_sigma_db: 0.0,
        noise_floor_dbm: NOISE_DBM,
        sensitivity_dbm: -120.0,
        ..Sinr::default()
    })
}

struct Broadcasts {
    left: u64,
    received: u64,
}

impl Above for Broadcasts {
    fn on(&mut self, _now: Instant, node: usize, said: MacReport) {
        self.received += u64::from(node == 0 && matches!(said, MacReport::Frame(_)));
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

/// Returns the share of full frames with an error.
fn frame_errors(db: f64, frames: u64) -> f64 {
    let radio = RadioConfig::from(RadioModel::Ideal);
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

/// Measures the share of frames with an error in a whole world: readings over UDP, each in one full
/// frame, without retries.
fn frame_errors_of_a_world(db: &str, frames: u64) -> f64 {
    let floor = format!("{NOISE_DBM} dBm");
    let loss = format!("{} dB", -NOISE_DBM - db.parse::<f64>().unwrap());
    let text = format!(
        "duration = \"{} s\"\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"1 m\"\n\
         [medium]\nmodel = \"sinr\"\ntx_power = \"0 dBm\"\nreference_loss = \"{loss}\"\n\
         shadowing_sigma = \"0 dB\"\nnoise_floor = \"{floor}\"\nsensitivity = \"-120 dBm\"\n\
         [radio]\nmodel = \"ideal\"\n[mac]\nmax_frame_retries = 0\n\
         [apps.readings]\ntype = \"sensor\"\non = \"node-2\"\nto = \"node-1:7\"\n\
         transport = \"udp\"\nreading = \"{FULL} B\"\ninterval = \"20 ms\"\n",
        frames / 50 + 10
    );
    let scenario = Scenario::parse("frames", &text, &[]).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    let lengths = Lengths::default();
    world.add_trace(Box::new(lengths.clone()));
    world.run_until(Instant::from_millis(20 * frames));
    assert_eq!(lengths.0.take(), [125].into(), "frames of 127 bytes alone");
    let ledger = world.air().ledger();
    let opened = ledger.opened(FrameClass::Unicast);
    assert!(opened + 10 > frames, "{opened}");
    1.0 - ledger.count(FrameClass::Unicast, Outcome::Delivered) as f64 / opened as f64
}

/// Bytes of a reading that fills a frame of 127.
const FULL: usize = 107;

#[derive(Clone, Default)]
struct Lengths(Rc<RefCell<BTreeSet<usize>>>);

impl FrameTrace for Lengths {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        if frame.mpdu.len() > 3 {
            self.0.borrow_mut().insert(frame.mpdu.len());
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
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
        .flat_map(|(db, theirs)| {
            let what = |where_: &str| format!("{db} dB, errors in 127 bytes, {where_}");
            let alone = frame_errors(db.parse().unwrap(), frames);
            let in_world = frame_errors_of_a_world(db, frames / 4);
            [
                Row::share(what("radios alone"), alone, theirs, frames),
                Row::share(what("a whole world"), in_world, theirs, frames / 4),
            ]
        })
        .collect();
    check("frame errors, beside IEEE 802.15.4-2006 E.4.1.8", &rows);
}
