mod channels;
mod noise;

use super::*;

const DISK: UnitDisk = UnitDisk {
    transmission_range_m: 50.0,
    interference_range_m: 80.0,
    carrier_sense_range_m: 60.0,
    success_ratio_tx: 1.0,
    success_ratio_rx: 1.0,
};

fn line(config: &Config, xs: &[f64]) -> Medium {
    let positions: Vec<_> = xs.iter().map(|x| (*x, 0.0)).collect();
    Medium::new(&Site::of(config, &positions), Seed(1))
}

fn link(medium: &Medium, from: usize, to: usize) -> Link {
    let found = medium.links.of(from).iter().find(|l| l.to as usize == to);
    *found.unwrap()
}

fn at(us: u64) -> Instant {
    Instant::from_micros(us)
}

/// As in Cooja's UDGM, distances that equal a range are within it.
#[test]
fn disk_ranges() {
    let medium = line(&Config::UnitDisk(DISK), &[0.0, 50.0, 60.0, 80.0, 80.1]);
    let seen: Vec<_> = medium
        .links
        .of(0)
        .iter()
        .map(|l| (l.to, l.receives, l.senses, l.disturbs, l.rssi_dbm))
        .collect();
    assert_eq!(
        seen,
        [
            (1, true, true, true, -95),
            (2, false, true, true, -95),
            (3, false, false, true, -95),
        ]
    );
    let near = line(&Config::UnitDisk(DISK), &[0.0, 25.0]);
    assert_eq!(link(&near, 0, 1).rssi_dbm, -53, "-10 - 85 * 25/50, rounded");
}

#[test]
fn disk_reception_falls_with_the_square_of_the_distance() {
    let config = Config::UnitDisk(UnitDisk {
        success_ratio_rx: 0.2,
        ..DISK
    });
    let mut medium = line(&config, &[0.0, 25.0]);
    let l = link(&medium, 0, 1);
    let mut received = 0;
    for i in 0..10_000 {
        if medium.start(at(i), 0, &l, true) == Start::Followed {
            received += 1;
        }
        medium.end(at(i), 0, &l);
    }
    // 1 - (1/2)^2 * 0.8 = 0.8
    assert!((7_850..8_150).contains(&received), "{received}");
}

#[test]
fn disk_collisions_destroy_both() {
    let mut medium = line(&Config::UnitDisk(DISK), &[0.0, 40.0, 80.0]);
    let (a, c) = (link(&medium, 0, 1), link(&medium, 2, 1));
    assert_eq!(medium.start(at(0), 1, &a, true), Start::Followed);
    assert_eq!(
        medium.start(at(100), 2, &c, true),
        Start::Lost(Reception::Collision)
    );
    assert_eq!(medium.end(at(200), 2, &c), None);
    assert_eq!(medium.end(at(300), 1, &a), Some(Reception::Collision));
}

#[test]
fn disk_interference_reaches_further_than_frames() {
    let mut medium = line(&Config::UnitDisk(DISK), &[0.0, 40.0, 110.0]);
    let (a, c) = (link(&medium, 0, 1), link(&medium, 2, 1));
    assert_eq!(medium.start(at(0), 1, &a, true), Start::Followed);
    assert_eq!(
        medium.start(at(100), 2, &c, true),
        Start::Lost(Reception::OutOfRange)
    );
    assert_eq!(medium.end(at(300), 1, &a), Some(Reception::Collision));
}

#[test]
fn cca_sees_a_transmission_that_begins_or_ends_meanwhile() {
    let mut medium = line(&Config::UnitDisk(DISK), &[0.0, 40.0]);
    let l = link(&medium, 0, 1);
    medium.watch(at(0), 1);
    assert!(!medium.was_busy(at(128), 1));
    medium.start(at(127), 1, &l, false);
    assert!(medium.was_busy(at(128), 1));
    medium.watch(at(200), 1);
    medium.end(at(210), 1, &l);
    assert!(medium.was_busy(at(328), 1));
    medium.watch(at(400), 1);
    assert!(!medium.was_busy(at(528), 1));
}

#[test]
fn cca_does_not_detect_a_frame_that_begins_when_it_ends() {
    let mut medium = line(&Config::UnitDisk(DISK), &[0.0, 40.0]);
    let l = link(&medium, 0, 1);
    medium.watch(at(0), 1);
    medium.start(at(128), 1, &l, false);
    assert!(!medium.was_busy(at(128), 1));
}

fn sinr_config() -> Sinr {
    Sinr::default()
}

/// Checks that the stronger frame survives if it came first, and captures the receiver if it begins
/// within the synchronisation header of the weaker one.
#[test]
fn capture() {
    // 5 m and 30 m from the receiver: 23 dB apart.
    let config = Config::Sinr(sinr_config());
    let mut medium = line(&config, &[0.0, 5.0, 35.0]);
    let (strong, weak) = (link(&medium, 0, 1), link(&medium, 2, 1));

    assert_eq!(medium.start(at(0), 1, &strong, true), Start::Followed);
    assert_eq!(
        medium.start(at(50), 2, &weak, true),
        Start::Lost(Reception::Collision)
    );
    assert_eq!(medium.end(at(4_256), 1, &strong), Some(Reception::Intact));
    assert_eq!(medium.end(at(4_306), 2, &weak), None);

    assert_eq!(medium.start(at(10_000), 3, &weak, true), Start::Followed);
    assert_eq!(
        medium.start(at(10_100), 4, &strong, true),
        Start::Captured(3)
    );
    assert_eq!(medium.end(at(14_256), 3, &weak), None);
    assert_eq!(medium.end(at(14_356), 4, &strong), Some(Reception::Intact));

    // After the weak frame's start delimiter there is no capture: the two frames are lost.
    assert_eq!(medium.start(at(20_000), 5, &weak, true), Start::Followed);
    assert_eq!(
        medium.start(at(20_160), 6, &strong, true),
        Start::Lost(Reception::Collision)
    );
    assert_eq!(medium.end(at(24_256), 5, &weak), Some(Reception::Collision));
    assert_eq!(medium.end(at(24_416), 6, &strong), None);
}

/// Checks that interference adds up: a frame survives one other frame that is 6.9 dB weaker, and is
/// destroyed by eight of them.
#[test]
fn interference_is_cumulative() {
    let config = Config::Sinr(sinr_config());
    let interferers = 8;
    let mut positions = vec![(0.0, 0.0), (10.0, 0.0)];
    // All interfering nodes are 17 m from the receiver; each is 6.9 dB below the signal.
    positions.extend((0..interferers).map(|i| {
        let angle = f64::from(i) * 0.7;
        (10.0 + 17.0 * libm::cos(angle), 17.0 * libm::sin(angle))
    }));
    let mut medium = Medium::new(&Site::of(&config, &positions), Seed(1));
    let signal = link(&medium, 0, 1);
    for (count, expected) in [(1, Reception::Intact), (8, Reception::Collision)] {
        assert_eq!(medium.start(at(0), 1, &signal, true), Start::Followed);
        for i in 0..count {
            let l = link(&medium, 2 + i, 1);
            medium.start(at(200), 10 + i as u32, &l, true);
        }
        assert_eq!(medium.end(at(4_256), 1, &signal), Some(expected), "{count}");
        for i in 0..count {
            let l = link(&medium, 2 + i, 1);
            medium.end(at(4_456), 10 + i as u32, &l);
        }
    }
}

/// Checks that the earlier of two frames of equal power mostly survives if the later frame counts
/// as noise, and is destroyed with a `co_channel_db` of 2.5.
#[test]
fn another_frame_disturbs_more_than_noise_of_its_power() {
    let intact = |co_channel_db: f64| {
        let config = Config::Sinr(Sinr {
            co_channel_db,
            ..sinr_config()
        });
        let mut medium = line(&config, &[0.0, 10.0, 20.0]);
        let (a, c) = (link(&medium, 0, 1), link(&medium, 2, 1));
        let survivors = (0..1_000).filter(|i| {
            let start = i * 10_000;
            medium.start(at(start), 1, &a, true);
            medium.start(at(start + 200), 2, &c, true);
            let first = medium.end(at(start + 4_256), 1, &a);
            medium.end(at(start + 4_456), 2, &c);
            first == Some(Reception::Intact)
        });
        survivors.count()
    };
    assert!((800..900).contains(&intact(0.0)), "{}", intact(0.0));
    assert!(intact(2.5) < 50, "{}", intact(2.5));
}

/// Checks that noise alone loses frames as the formula predicts.
#[test]
fn packet_reception_follows_the_bit_error_rate() {
    let sinr = Sinr {
        sensitivity_dbm: -120.0,
        ..sinr_config()
    };
    // At this distance, 10^(59.8/30) m, the received power equals the noise.
    let distance = libm::pow(10.0, (100.0 - 40.2) / 30.0);
    let mut medium = line(&Config::Sinr(sinr), &[0.0, distance]);
    let l = link(&medium, 0, 1);
    let mut intact = 0;
    for i in 0..4_000u64 {
        let start = at(i * 10_000);
        assert_eq!(medium.start(start, 0, &l, true), Start::Followed);
        let end = start + redpoll_base::Duration::from_micros(4_256);
        if medium.end(end, 0, &l) == Some(Reception::Intact) {
            intact += 1;
        }
    }
    let expected = 4_000.0 * libm::pow(1.0 - oqpsk::bit_error_rate(1.0), 1_064.0);
    assert!(
        (f64::from(intact) - expected).abs() < 100.0,
        "{intact} {expected}"
    );
}

#[test]
fn shadowing_is_symmetric_and_comes_from_the_seed() {
    let config = Config::Sinr(Sinr {
        shadowing_sigma_db: 6.0,
        ..sinr_config()
    });
    let positions = [(0.0, 0.0), (20.0, 0.0), (0.0, 20.0)];
    let of_seed = |seed| Medium::new(&Site::of(&config, &positions), Seed(seed));
    let medium = of_seed(4);
    assert_eq!(link(&medium, 0, 1).power_mw, link(&medium, 1, 0).power_mw);
    assert_ne!(link(&medium, 0, 1).power_mw, link(&medium, 0, 2).power_mw);
    assert_eq!(
        link(&medium, 0, 1).power_mw,
        link(&of_seed(4), 0, 1).power_mw
    );
    assert_ne!(
        link(&medium, 0, 1).power_mw,
        link(&of_seed(5), 0, 1).power_mw
    );
}

#[test]
fn listed_links_replace_positions() {
    let listed = LinkSource::Listed(vec![ListedLink {
        a: 2,
        b: 0,
        success_ratio: 0.5,
    }]);
    let positions = [(0.0, 0.0); 3];
    let site = Site {
        links: &listed,
        ..Site::of(&Config::UnitDisk(DISK), &positions)
    };
    let mut medium = Medium::new(&site, Seed(1));
    assert!(medium.links.of(1).is_empty());
    let l = link(&medium, 0, 2);
    let followed = (0..2_000)
        .filter(|_| {
            let start = medium.start(at(0), 0, &l, true);
            medium.end(at(1), 0, &l);
            start == Start::Followed
        })
        .count();
    assert!((900..1_100).contains(&followed), "{followed}");
}

#[test]
fn a_transmission_may_have_no_receiver() {
    let config = Config::UnitDisk(UnitDisk {
        success_ratio_tx: 0.25,
        ..DISK
    });
    let mut medium = line(&config, &[0.0, 25.0]);
    let heard = (0..4_000).filter(|_| medium.is_heard()).count();
    assert!((900..1_100).contains(&heard), "{heard}");
}

fn wifi(x: f64) -> Interferer {
    Interferer {
        name: "wifi".to_owned(),
        position_m: (x, 0.0),
        power_dbm: 10.0,
        range_m: 30.0,
        burst: redpoll_base::Duration::from_millis(2),
        busy: 0.5,
        lengths: Lengths::Constant,
        hours: (
            redpoll_base::Duration::ZERO,
            redpoll_base::Duration::from_secs(86_400),
        ),
        session: None,
        session_share: 1.0,
    }
}

/// Returns a medium with nodes at 0 m and 10 m and an interferer at `x` m on the same line.
fn beside(config: &Config, x: f64) -> Medium {
    let positions = [(0.0, 0.0), (10.0, 0.0)];
    let site = Site {
        interferers: &[wifi(x)],
        ..Site::of(config, &positions)
    };
    Medium::new(&site, Seed(1))
}

#[test]
fn an_interferer_is_sensed_and_destroys_within_its_range() {
    // The interferer is 31 m from node 0 and 21 m from node 1.
    let mut medium = beside(&Config::UnitDisk(DISK), 31.0);
    let (there, back) = (link(&medium, 0, 1), link(&medium, 1, 0));
    medium.watch(at(0), 0);
    medium.watch(at(0), 1);
    assert_eq!(medium.start(at(0), 1, &there, true), Start::Followed);
    medium.end(at(50), 1, &there);
    medium.interfere(at(100), 0);
    assert!(medium.was_busy(at(128), 1));
    assert!(!medium.was_busy(at(128), 0), "out of range");
    // During the burst, node 1, in the interferer's range, receives nothing; node 0 does.
    assert_eq!(
        medium.start(at(200), 2, &there, true),
        Start::Lost(Reception::Interference)
    );
    medium.end(at(300), 2, &there);
    assert_eq!(medium.start(at(400), 3, &back, true), Start::Followed);
    assert_eq!(medium.end(at(500), 3, &back), Some(Reception::Intact));
    // A burst that begins during a frame destroys it.
    medium.interfere(at(600), 0);
    assert_eq!(medium.start(at(700), 4, &there, true), Start::Followed);
    medium.interfere(at(800), 0);
    medium.interfere(at(900), 0);
    assert_eq!(
        medium.end(at(4_956), 4, &there),
        Some(Reception::Interference)
    );
    medium.watch(at(5_000), 1);
    assert!(!medium.was_busy(at(5_128), 1), "it is silent");
}

/// Checks an interferer of 10 dBm at 1 m with exponent 3. At 12 m, its -62.6 dBm exceed the CCA
/// threshold and a signal 10 m from its sender (-70.2 dBm); at 200 m, its -99.2 dBm do not.
#[test]
fn an_interferer_is_noise_as_loud_as_its_distance_makes_it() {
    for (x, is_loud) in [(22.0, true), (210.0, false)] {
        let mut medium = beside(&Config::Sinr(sinr_config()), x);
        let there = link(&medium, 0, 1);
        medium.watch(at(0), 1);
        assert_eq!(medium.start(at(0), 1, &there, true), Start::Followed);
        medium.interfere(at(1_000), 0);
        medium.interfere(at(3_000), 0);
        let expected = match is_loud {
            true => Reception::Interference,
            false => Reception::Intact,
        };
        assert_eq!(medium.end(at(4_256), 1, &there), Some(expected), "{x}");
        medium.watch(at(5_000), 1);
        medium.interfere(at(5_100), 0);
        assert_eq!(medium.was_busy(at(5_128), 1), is_loud, "{x}");
        // A near interferer's burst prevents the reception of a frame that begins during it.
        let start = medium.start(at(6_000), 2, &there, true);
        assert_eq!(start == Start::Followed, !is_loud, "{x}: {start:?}");
    }
}

#[test]
fn powers_of_interferers_return_to_exactly_zero() {
    let positions = [(0.0, 0.0), (10.0, 0.0)];
    let all = [wifi(12.0), wifi(13.7), wifi(25.1)];
    let config = Config::Sinr(sinr_config());
    let site = Site {
        interferers: &all,
        ..Site::of(&config, &positions)
    };
    let mut medium = Medium::new(&site, Seed(1));
    for turn in 0..1_001 {
        for interferer in [2, 0, 1] {
            medium.interfere(at(turn * 10), interferer);
        }
    }
    medium.watch(at(20_000), 1);
    assert!(medium.was_busy(at(20_128), 1), "all three are on");
    for interferer in [1, 2, 0] {
        medium.interfere(at(20_200), interferer);
    }
    let there = link(&medium, 0, 1);
    medium.watch(at(20_300), 1);
    assert!(!medium.was_busy(at(20_428), 1));
    assert_eq!(medium.start(at(21_000), 1, &there, true), Start::Followed);
    assert_eq!(medium.end(at(25_256), 1, &there), Some(Reception::Intact));
}

/// Checks that with listed links, which have no positions, an interferer reaches all nodes.
#[test]
fn with_listed_links_an_interferer_is_everywhere() {
    let listed = LinkSource::Listed(vec![ListedLink {
        a: 0,
        b: 1,
        success_ratio: 1.0,
    }]);
    let positions = [(0.0, 0.0), (1_000.0, 0.0)];
    let config = Config::default();
    let site = Site {
        links: &listed,
        interferers: &[wifi(0.0)],
        ..Site::of(&config, &positions)
    };
    let medium = Medium::new(&site, Seed(1));
    let reached: Vec<usize> = medium.interferers().map(|(_, nodes)| nodes).collect();
    assert_eq!(reached, [2]);
}
