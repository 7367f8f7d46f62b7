//! The models of TCP with small windows.

use redpoll_proofs::tcp::{Ends, Link, PairModel, PeerModel, Situation};
use redpoll_proofs::{Bounds, explore, is_deep};

const ENDS: Ends = Ends {
    bytes: [150, 0],
    window: 128,
    both_open: false,
    slow_reader: false,
    options: [true, false],
};

/// Returns a link without planted defects that may lose, repeat and delay as often as stated.
fn link(lose: u8, repeat: u8, delay: u8) -> Link {
    Link {
        lose,
        repeat,
        delay,
        ..Link::default()
    }
}

fn bounds() -> Bounds {
    let (depth, states) = if is_deep() {
        (40, 100_000)
    } else {
        (40, 3_000)
    };
    Bounds { depth, states }
}

#[test]
fn two_ends_deliver_everything_over_a_bad_link() {
    let both = Ends {
        bytes: [70, 70],
        ..ENDS
    };
    let cases = [
        ("losses", ENDS, link(2, 0, 0)),
        ("repetitions", ENDS, link(0, 2, 0)),
        ("delays", ENDS, link(0, 0, 2)),
        ("all", both, link(1, 1, 1)),
        (
            "both open",
            Ends {
                both_open: true,
                ..both
            },
            link(1, 1, 0),
        ),
        (
            "slow readers",
            Ends {
                slow_reader: true,
                bytes: [200, 0],
                ..ENDS
            },
            link(1, 0, 0),
        ),
        (
            "no options",
            Ends {
                options: [false, false],
                ..ENDS
            },
            link(1, 1, 0),
        ),
        (
            "timestamps",
            Ends {
                options: [true, true],
                ..ENDS
            },
            link(1, 1, 0),
        ),
    ];
    for (name, ends, link) in cases {
        let model = PairModel { ends, link };
        explore(&model, bounds()).expect_sound(&format!("TCP, {name}"));
    }
}

#[test]
fn defects_between_two_ends_are_found() {
    let defects = [
        Link {
            shifts: true,
            ..link(0, 1, 0)
        },
        Link {
            deaf: Some(0),
            ..link(1, 0, 0)
        },
        Link {
            eats_fin: true,
            ..link(0, 0, 0)
        },
    ];
    for link in defects {
        let model = PairModel { ends: ENDS, link };
        explore(&model, bounds()).expect_defect(&format!("TCP, {link:?}"));
    }
}

#[test]
fn a_connection_withstands_any_peer() {
    let depth = if is_deep() { 4 } else { 2 };
    let mut model = PeerModel {
        situation: Situation::Opening,
        damages: false,
        keeps: false,
    };
    for situation in [Situation::Opening, Situation::Open, Situation::Closed] {
        model.situation = situation;
        let bounds = Bounds {
            depth,
            states: if is_deep() { 200_000 } else { usize::MAX },
        };
        explore(&model, bounds).expect_sound(&format!("any peer, {situation:?}"));
    }
    model.damages = true;
    explore(&model, Bounds::depth(2)).expect_defect("any peer, a damaged byte");
    model.damages = false;
    model.keeps = true;
    explore(&model, Bounds::depth(2)).expect_defect("any peer, no abort");
}
