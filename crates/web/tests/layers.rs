//! Descriptions of frames, both valid and malformed ones.

use redpoll_base::{Instant, Rng};
use redpoll_dissect::{Dissector, Reading};
use redpoll_sim::{Scenario, World};
use redpoll_web::layers::{Opened, Tcp, words};
use redpoll_wire::sixlowpan::Contexts;

fn frames(scenario: &str) -> (Contexts, Vec<Box<[u8]>>) {
    frames_with(scenario, &[], 4_000)
}

fn frames_with(scenario: &str, sets: &[&str], ms: u64) -> (Contexts, Vec<Box<[u8]>>) {
    let sets = sets.iter().map(|set| set.split_once('=').unwrap());
    let sets: Vec<_> = sets
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    let scenario = Scenario::load(scenario, &sets).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.set_live(true);
    world.run_until(Instant::from_millis(ms));
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

/// The page shows the fields and words of `redpoll dissect`: RPL, neighbour discovery, UDP and CoAP
/// have one decoder. Also checks frames with wrong bytes.
#[test]
fn the_layers_above_ipv6_are_those_of_the_dissector() {
    let mut seen = std::collections::BTreeSet::new();
    let mut rng = Rng::new(2);
    for (scenario, sets) in [
        ("line-2", &["routing=rpl"][..]),
        ("line-2", &["routing=rpl", "rpl.mode=non-storing"]),
        ("sleepy-3", &[]),
        (
            "readings",
            &["apps.readings.transport=coap", "apps.readings.batch=1"],
        ),
    ] {
        let (contexts, frames) = frames_with(scenario, sets, 60_000);
        for (at, frame) in frames.iter().enumerate() {
            let mut frame = frame.to_vec();
            if at % 4 == 3 {
                let place = rng.below(frame.len() as u32) as usize;
                frame[place] = rng.next_u32() as u8;
            }
            let reading = Reading {
                contexts: contexts.clone(),
                ..Reading::default()
            };
            let Some(opened) = Opened::of(&frame, &contexts) else {
                continue;
            };
            let Some(packet) = &opened.packet else {
                continue;
            };
            let whole = Dissector::new(reading).mpdu(&frame, 0);
            let shown = words::layers(&frame, None, &contexts);
            for layer in whole.layers.iter().rev() {
                if ["icmpv6", "udp", "coap"].contains(&layer.name) {
                    seen.insert(layer.name);
                    let fields = shown.iter().flat_map(|layer| &layer.fields);
                    let fields: Vec<_> = fields.collect();
                    for field in &layer.fields {
                        let it = (field.name, field.value.text());
                        assert!(fields.contains(&&it), "{it:?} in {shown:?}");
                        seen.insert(field.name);
                    }
                }
            }
            if packet.upper == 58 {
                let line = words::line(Some(&opened));
                let title = whole.layers.iter().find(|layer| layer.name == "icmpv6");
                let title = title.unwrap().title.replace(" > ", " → ");
                assert!(
                    title.starts_with(&format!("ICMPv6 {}", &line.info[..4])),
                    "{line:?}"
                );
            }
        }
    }
    for name in [
        "udp",
        "coap",
        "icmpv6.rpl.dio.rank",
        "icmpv6.rpl.opt.target.prefix",
        "icmpv6.nd.ns.target_address",
    ] {
        assert!(seen.contains(name), "{name}: {seen:?}");
    }
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
