//! Recordings of runs, and invalid files.

use std::io::Cursor;

use redpoll_base::Duration;
use redpoll_sim::{Scenario, World};
use redpoll_web::story::{Reader, StoryError, Writer};

fn recording(scenario: &str, seconds: u64) -> Vec<u8> {
    let scenario = Scenario::load(scenario, &[]).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut world, &mut bytes).unwrap();
    for _ in 0..seconds * 20 {
        world.run_until(world.now() + Duration::from_millis(50));
        writer.write(&mut world).unwrap();
    }
    writer.flush().unwrap();
    bytes
}

fn open(bytes: &[u8]) -> Result<Reader<Cursor<Vec<u8>>>, StoryError> {
    Reader::open(Cursor::new(bytes.to_vec()))
}

#[test]
fn a_recording_can_be_read_from_any_moment_on() {
    let bytes = recording("line-2", 10);
    let mut reader = open(&bytes).unwrap();
    assert_eq!((reader.end(), reader.is_cut()), (10_000_000, false));
    let mut times = Vec::new();
    while let Some((t, _)) = reader.read().unwrap() {
        times.push(t);
    }
    assert_eq!(times.len(), 200);
    assert!(times.is_sorted());
    for moment in [0, 1, 4_999_999, 9_000_000, u64::MAX] {
        reader.seek(moment).unwrap();
        let (t, line) = reader.read().unwrap().unwrap();
        assert!(t <= moment.saturating_add(50_000), "{t} {moment}");
        assert!(moment.min(10_000_000) - t.min(moment) <= 2_100_000);
        assert!(line.starts_with(r#"{"type":"changes""#));
    }
}

#[test]
fn a_recording_that_breaks_off_is_read_as_far_as_it_goes() {
    let bytes = recording("pair", 3);
    for cut in [1, 50, 5_000] {
        let mut reader = open(&bytes[..bytes.len() - cut]).unwrap();
        assert!(reader.is_cut());
        while reader.read().unwrap().is_some() {}
    }
}

#[test]
fn other_files_are_not_recordings() {
    let bytes = recording("pair", 1);
    let text = String::from_utf8(bytes).unwrap();
    for other in [
        "",
        "\n",
        "{}",
        "hello\n",
        "\u{0}\u{1}",
        r#"{"type":"hello"}"#,
    ] {
        assert!(open(other.as_bytes()).is_err(), "{other}");
    }
    assert!(matches!(
        open(&[0xff; 10_000]),
        Err(StoryError::NoRecording)
    ));
    let older = text.replacen(r#""version":1"#, r#""version":77"#, 1);
    assert!(matches!(
        open(older.as_bytes()),
        Err(StoryError::Version(77))
    ));
    for line in [
        "{\"type\":\"answer\"}\n",
        "rubbish\n",
        "{\"type\":\"changes\",\"t\":-1}\n",
    ] {
        let spoilt = text.clone() + line;
        assert!(
            matches!(open(spoilt.as_bytes()), Err(StoryError::Line(_))),
            "{line}"
        );
    }
    let first = text.lines().next().unwrap();
    assert!(matches!(
        open(first.as_bytes()),
        Err(StoryError::NoRecording)
    ));
}

#[test]
fn damaged_recordings_cause_no_panic() {
    let bytes = recording("pair", 1);
    let mut rng = redpoll_base::Rng::new(1);
    for _ in 0..60 {
        let mut spoilt = bytes.clone();
        for _ in 0..4 {
            let at = rng.below(spoilt.len() as u32) as usize;
            spoilt[at] = rng.next_u32() as u8;
        }
        if let Ok(mut reader) = open(&spoilt) {
            let _ = reader.seek(rng.next_u64());
            while let Ok(Some(_)) = reader.read() {}
        }
    }
}
