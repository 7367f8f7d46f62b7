use super::*;

const PREFIX: Addr = Addr([0xfd; 16]);

#[test]
fn only_sixteen_contexts_of_at_most_128_bits() {
    let mut contexts = Contexts::new();
    assert!(!contexts.set(16, PREFIX, 64));
    assert!(!contexts.set(0, PREFIX, 129));
    assert!(contexts.set(15, PREFIX, 128));
    assert_eq!(contexts.lookup(16), None);
    assert_eq!(contexts.for_compression().count(), 1);
    contexts.remove(15);
    contexts.remove(99);
    assert_eq!(contexts.lookup(15), None);
}

#[test]
fn the_prefix_wins_and_the_identifier_fills_up() {
    let join = |len| {
        let mut contexts = Contexts::new();
        contexts.set(0, PREFIX, len);
        contexts.lookup(0).unwrap().join([0x11; 8]).0
    };
    assert_eq!(join(64), [[0xfd; 8], [0x11; 8]].concat()[..]);
    // RFC 6282 §3.1.1: bits between the prefix and the identifier are zero.
    assert_eq!(join(56)[..8], [0xfd, 0xfd, 0xfd, 0xfd, 0xfd, 0xfd, 0xfd, 0]);
    assert_eq!(join(68)[8..10], [0xf1, 0x11]);
    assert_eq!(join(128), PREFIX.0);
    assert_eq!(join(0)[..8], [0; 8]);
}
