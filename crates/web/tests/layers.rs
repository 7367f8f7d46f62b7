//! Descriptions of frames, both valid and malformed ones.

use redpoll_base::{Instant, Rng};
use redpoll_sim::{Scenario, World};
use redpoll_web::layers::{Opened, Tcp, words};
use redpoll_wire::sixlowpan::Contexts;

fn frames(scenario: &str) -> (Contexts, Vec<Box<[u8]>>) {
    let scenario = Scenario::load(scenario, &[]).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.set_live(true);
    world.run_until(Instant::from_millis(4_000));
    let frames = world.live_changes().frames.into_iter();
    let contexts = Contexts::with_prefix(scenario.border.prefix);
    (contexts, frames.map(|frame| frame.mpdu).collect())
}

#[test]
fn every_frame_of_a_run_has_words_and_layers() {
    for scenario in ["line-2", "readings", "sleepy-3"] {
        let (contexts, frames) = frames(scenario);
        assert!(frames.len() > 5, "{scenario}");
        for frame in &frames {
            let line = words::line(Opened::of(frame, &contexts).as_ref());
            assert!(
                !line.info.is_empty() && !line.info.contains("not readable"),
                "{line:?}"
            );
            let layers = words::layers(frame, None, &contexts);
            assert_eq!(layers[0].name, "IEEE 802.15.4");
        }
    }
}

#[test]
fn a_segment_has_its_numbers() {
    let (contexts, frames) = frames("line-2");
    let opened = frames
        .iter()
        .filter_map(|frame| Opened::of(frame, &contexts));
    let segments: Vec<Tcp> = opened
        .filter_map(|opened| {
            let packet = opened.packet?;
            Tcp::parse(&packet.body, packet.body_len)
        })
        .collect();
    let syn = segments.iter().find(|tcp| tcp.flags.syn()).unwrap();
    assert!(syn.mss.is_some() && syn.may_sack && syn.space() == 1);
    assert!(
        segments
            .iter()
            .any(|tcp| tcp.len > 300 && tcp.ack.is_some())
    );
}

#[test]
fn no_bytes_make_it_panic() {
    let (contexts, frames) = frames("line-2");
    let mut rng = Rng::new(1);
    for round in 0..30_000 {
        let mut frame = frames[round % frames.len()].to_vec();
        frame.truncate(rng.below(frame.len() as u32 + 1) as usize);
        for _ in 0..rng.below(4) {
            if !frame.is_empty() {
                let at = rng.below(frame.len() as u32) as usize;
                frame[at] = rng.next_u32() as u8;
            }
        }
        let first = &frames[rng.below(frames.len() as u32) as usize];
        let _ = words::line(Opened::of(&frame, &contexts).as_ref());
        let _ = words::layers(&frame, Some(first), &contexts);
        let _ = Tcp::parse(&frame, frame.len());
    }
}
