//! RFC 6528: initial sequence numbers.

use std::collections::BTreeSet;

use redpoll_base::{Addr, Duration, Instant};
use redpoll_tcp::{Endpoint, IsnGenerator};

fn endpoint(host: u8, port: u16) -> Endpoint {
    Endpoint::new(Addr([host; 16]), port)
}

/// RFC 9293 §3.4.1: the clock ticks every 4 microseconds, so that a later connection between the
/// same ends has a higher initial number.
#[test]
fn the_same_pair_of_ends_moves_with_the_clock() {
    let generator = IsnGenerator::new(*b"sixteen secrets!");
    let (local, remote) = (endpoint(1, 49152), endpoint(2, 80));
    let start = Instant::from_millis(123);
    let first = generator.isn(start, &local, &remote);
    for s in [1u64, 60, 3600] {
        let later = generator.isn(start + Duration::from_secs(s), &local, &remote);
        assert_eq!(later, first + (s * 250_000) as u32);
    }
}

/// Numbers of different ends or under different secrets are unrelated.
#[test]
fn every_part_of_the_name_matters() {
    let now = Instant::ZERO;
    let mut seen = BTreeSet::new();
    for secret in [[1; 16], [2; 16]] {
        let generator = IsnGenerator::new(secret);
        for port in 0..200 {
            let pairs = [
                (endpoint(1, port), endpoint(2, 80)),
                (endpoint(1, 1000), endpoint(2, 1000 + port + 1)),
                (endpoint(1, 2000), endpoint(10 + port as u8, 80)),
                (endpoint(10 + port as u8, 2000), endpoint(1, 80)),
            ];
            for (local, remote) in pairs {
                seen.insert(generator.isn(now, &local, &remote).0);
            }
        }
    }
    assert_eq!(seen.len(), 2 * 200 * 4);
    // Bits are balanced: about half of each are set.
    for bit in 0..32 {
        let set = seen.iter().filter(|isn| *isn >> bit & 1 == 1).count();
        assert!((680..920).contains(&set), "bit {bit}: {set} of 1600");
    }
}

#[test]
fn the_secret_is_not_printed() {
    let printed = format!("{:?}", IsnGenerator::new([0xab; 16]));
    assert_eq!(printed, "IsnGenerator { .. }");
}
