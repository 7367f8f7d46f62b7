//! The frames of hurni2012's chain have the lengths that its document states.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use redpoll_base::{Duration, Instant};
use redpoll_experiments::Case;
use redpoll_sim::World;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_studies::find;

/// Time of a byte at 250 kb/s.
const BYTE: Duration = Duration::from_micros(32);
/// Short addresses of the receiver and of the sender, at the ends of the chain.
const ENDS: [u16; 2] = [1, 7];
const BROADCAST: u16 = 0xffff;

/// Lengths of frames on the air in bytes, including synchronisation header and check sequence.
#[derive(Default, PartialEq, Eq, Debug)]
struct Lengths {
    /// Frames between two routers.
    middle: BTreeSet<u64>,
    /// Frames of the first and of the last hop.
    ends: BTreeSet<u64>,
    broadcast: BTreeSet<u64>,
}

#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Lengths>>);

impl FrameTrace for Watch {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        // The addresses follow control, sequence number and PAN; a link acknowledgment has none.
        let &[_, _, _, _, _, to_low, to_high, from_low, from_high, ..] = frame.mpdu else {
            return Ok(());
        };
        let [to, from] = [[to_low, to_high], [from_low, from_high]].map(u16::from_le_bytes);
        let mut lengths = self.0.lock().unwrap();
        let kind = match (to, from) {
            (BROADCAST, _) => &mut lengths.broadcast,
            _ if ENDS.contains(&to) || ENDS.contains(&from) => &mut lengths.ends,
            _ => &mut lengths.middle,
        };
        kind.insert(frame.end.since(frame.start).as_micros() / BYTE.as_micros());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

/// Returns the study's own case of unmodified uIP over six hops.
fn unmodified(access: &str) -> Case {
    let figures = find("hurni2012").unwrap().load().unwrap();
    let mut cases = figures.iter().flat_map(|figure| figure.cases());
    let found = cases.find(|case| {
        let has = |key: &str, value: &str| {
            let mut changes = case.changes().iter();
            changes.any(|change| *change == (key.to_owned(), value.to_owned()))
        };
        let is_plain = !has("apps.second.when", "always")
            && !case.changes().iter().any(|(key, _)| key == "cache.on");
        is_plain && has("mac.access", access) && has("apps.first.on", "node-7")
    });
    found.unwrap().clone()
}

/// With this seed, LPP's probes of two nodes do not overlap throughout the run.
const SEED: u64 = 3;

/// Returns the lengths of the frames of the first forty seconds.
fn lengths(access: &str) -> Lengths {
    let scenario = unmodified(access).scenario().unwrap();
    let mut world = World::new(&scenario, SEED).unwrap();
    let watch = Watch::default();
    world.add_trace(Box::new(watch.clone()));
    world.run_until(Instant::ZERO + Duration::from_secs(40));
    std::mem::take(&mut *watch.0.lock().unwrap())
}

/// `docs/studies/hurni2012.md` states these lengths: the paper's 79 bytes with data and 63 without.
/// A connection's first segment is between them, because it has a four-byte option. Frames of the
/// first and last hop are two or three bytes shorter, because addresses are compressed further.
#[test]
fn frames_have_the_papers_lengths() {
    let plain = || Lengths {
        middle: [63, 67, 79].into(),
        ends: [60, 61, 64, 65, 76, 77].into(),
        broadcast: [].into(),
    };
    assert_eq!(lengths("nullrdc"), plain());
    // A strobe has 19 bytes, plus 15 bytes (`mac.security_bytes`) as all frames.
    let mut with_strobes = plain();
    with_strobes.middle.insert(19 + 15);
    with_strobes.ends.insert(19 + 15);
    assert_eq!(lengths("cx-mac"), with_strobes);
}

/// ContikiMAC has its own header of two bytes, and LPP one of six bytes. ContikiMAC sends no frame
/// of fewer than 66 bytes, because receivers could miss a shorter frame.
#[test]
fn two_macs_have_headers_of_their_own() {
    let contikimac = Lengths {
        middle: [66, 69, 81].into(),
        ends: [66, 67, 78, 79].into(),
        broadcast: [].into(),
    };
    assert_eq!(lengths("contikimac"), contikimac);
    // A probe has 23 bytes, plus the same 15 bytes.
    let lpp = Lengths {
        middle: [69, 73, 85].into(),
        ends: [66, 67, 70, 71, 82, 83].into(),
        broadcast: [23 + 15].into(),
    };
    assert_eq!(lengths("lpp"), lpp);
}
