//! Complete transfers with every stack that is built in.

use redpoll_peers::loss::{self, Plan};
use redpoll_peers::{Measured, Subject, matrix, ota_ack};

const BYTES: usize = 60_000;

fn there() -> impl Iterator<Item = Subject> {
    let subjects = Subject::ALL.into_iter();
    subjects.filter(|subject| subject.missing().is_none())
}

fn run(subject: Subject, loss: u32, seed: u64) -> Measured {
    loss::transfer(loss, BYTES).run(subject, seed)
}

#[test]
fn without_losses_nothing_is_sent_twice_and_the_link_is_busy() {
    for subject in there() {
        let measured = run(subject, 0, 1);
        let completion = measured.completion.expect("the transfer ends").as_micros() as f64 / 1e6;
        assert_eq!(measured.received, BYTES, "{subject}");
        assert_eq!(measured.meter.data_bytes, BYTES as u64, "{subject}");
        assert_eq!(measured.meter.retransmissions, 0, "{subject}");
        assert_eq!(measured.timeouts, 0, "{subject}");
        // The link's rate with headers of 60 or 72 bytes; the first round trips add some time.
        let least = BYTES as f64 * 8.0 / 75_000.0 * (522.0 / 462.0);
        assert!(
            (least..least * 1.1).contains(&completion),
            "{subject}: {completion} s, {least} s at the link's rate"
        );
    }
}

#[test]
fn losses_are_repaired_and_counted() {
    for subject in there() {
        let measured = run(subject, 10, 2);
        assert_eq!(measured.received, BYTES, "{subject}");
        assert!(measured.completion.is_some(), "{subject}");
        let meter = &measured.meter;
        assert!(meter.retransmissions > 5, "{subject}: {meter:?}");
        assert!(
            meter.needless < meter.retransmissions,
            "{subject}: {meter:?}"
        );
        assert!(measured.timeouts > 0, "{subject}");
        assert!(meter.data_arrived < meter.data_segments, "{subject}");
    }
}

#[test]
fn the_same_seed_gives_the_same_figures_in_any_order() {
    let plan = Plan {
        losses: vec![5, 10],
        seeds: 2,
        bytes: BYTES,
        ..Plan::default()
    };
    let first = plan.run(|_, _| ());
    assert_eq!(first, plan.run(|_, _| ()));
    let subjects: Vec<Subject> = plan.subjects.iter().rev().copied().collect();
    let mut backwards = Plan { subjects, ..plan }.run(|_, _| ());
    let place = |subject| Subject::ALL.iter().position(|other| *other == subject);
    backwards.sort_by_key(|figure| place(figure.subject));
    assert_eq!(first, backwards);
}

#[test]
fn every_stack_sends_to_every_other() {
    let plan = matrix::Plan {
        seeds: 1,
        bytes: 20_000,
        ..matrix::Plan::default()
    };
    let figures = plan.run(|_, _| ());
    assert_eq!(figures.len(), there().count().pow(2));
    for figure in &figures {
        assert!(figure.completion_s.is_some(), "{figure:?}");
        assert!(figure.to_json().contains("\"bench\":\"matrix\""));
    }
}

/// Without loss an answer takes one round trip. With high loss it waits for retransmission timers.
#[test]
fn answers_to_blocks_arrive() {
    for subject in there() {
        let [quiet, lossy] = [0, 40].map(|loss| ota_ack::update(loss, 2).run(subject, 3));
        assert_eq!(quiet.received, 2 * ota_ack::BLOCK, "{subject}");
        assert!(quiet.completion.is_some(), "{subject}");
        let answer = quiet.longest_answer.as_millis();
        assert!((50..100).contains(&answer), "{subject}: {answer} ms");
        assert!(lossy.completion > quiet.completion, "{subject}");
    }
}
