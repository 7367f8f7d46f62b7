use std::boxed::Box;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use redpoll_base::Memory;
use redpoll_wire::ieee802154::FrameHeader;

use super::*;

enum Heap {}

impl Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

/// The key of the examples of IEEE 802.15.4-2006 annex C and of RFC 3610.
const KEY: [u8; 16] = [
    0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf,
];
/// The sender of the examples of annex C.
const EXTENDED: [u8; 8] = [0xac, 0xde, 0x48, 0, 0, 0, 0, 1];
const PREFIX: [u8; 6] = [2, 0x72, 0x70, 0, 0, 0];

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    let pair = |pair: &[u8]| {
        let text = core::str::from_utf8(pair).unwrap();
        u8::from_str_radix(text, 16).unwrap()
    };
    digits.chunks(2).map(pair).collect()
}

fn node(level: SecurityLevel, key: Key, eui64: [u8; 8], counter: u32) -> Security<Heap> {
    let config = SecurityConfig {
        level,
        key,
        cipher: &SoftwareAes,
        eui64,
        eui64_prefix: Some(PREFIX),
        counter_stored: counter,
        counter_stretch: 1_000,
    };
    let memory = SecurityMemory {
        replay: vec![None; 2].into(),
        names: vec![None; 1].into(),
    };
    let mut security = Security::new(config, memory);
    store(&mut security);
    security
}

fn store(security: &mut Security<Heap>) {
    if let Some(end) = security.poll_counter() {
        security.on_counter_stored(end);
    }
}

fn buffer(frame: &[u8]) -> FrameBuf {
    let mut buffer = FrameBuf::new();
    buffer.copy_from(frame).unwrap();
    buffer
}

fn open(security: &mut Security<Heap>, frame: &[u8]) -> Result<Vec<u8>, Refusal> {
    let parsed = FrameHeader::parse(frame).unwrap();
    let mut clear = FrameBuf::new();
    security.open(&parsed.0, parsed.1, frame, &mut clear)?;
    Ok(clear.to_vec())
}

fn eui64(short: u16) -> [u8; 8] {
    derived(PREFIX, short)
}

/// Returns a data frame from 0x0011 to 0x0022.
fn frame(payload: &[u8]) -> Vec<u8> {
    [&hex("41 98 2a 70 72 22 00 11 00"), payload].concat()
}

/// IEEE 802.15.4-2006 §C.2.1: a beacon at level 2.
#[test]
fn a_beacon_is_authenticated_as_in_the_standard() {
    let clear = "d0 84 21 43 01 00 00 00 00 48 de ac";
    let content = "55 cf 00 00 51 52 53 54";
    let plain = hex(&["00", clear, content].concat());
    let sealed = hex(&[
        "08",
        clear,
        "02 05 00 00 00",
        content,
        "22 3b c1 ec 84 1a b5 53",
    ]
    .concat());
    check_vector(SecurityLevel::Mic64, &plain, &sealed);
}

/// IEEE 802.15.4-2006 §C.2.3: a MAC command at level 6, whose identifier is in the clear.
#[test]
fn a_command_is_encrypted_as_in_the_standard() {
    let clear = "dc 84 21 43 02 00 00 00 00 48 de ac ff ff 01 00 00 00 00 48 de ac";
    let plain = hex(&["23", clear, "01 ce"].concat());
    let sealed = hex(&["2b", clear, "06 05 00 00 00 01 d8 4f de 52 90 61 f9 c6 f1"].concat());
    check_vector(SecurityLevel::EncMic64, &plain, &sealed);
}

fn check_vector(level: SecurityLevel, plain: &[u8], sealed: &[u8]) {
    let key = Key::new(0, KEY);
    let mut sender = node(level, key, EXTENDED, 5);
    let mut buffer = buffer(plain);
    assert_eq!(sender.seal(&mut buffer), Ok(()));
    assert_eq!(*buffer, *sealed);
    let mut receiver = node(level, key, [0; 8], 0);
    assert_eq!(open(&mut receiver, sealed), Ok(plain.to_vec()));
}

struct Block;

impl Aes for Block {
    fn encrypt(&self, key: &[u8; 16], block: &mut [u8; 16]) {
        use aes::cipher::{BlockEncrypt, KeyInit};
        aes::Aes128::new(&(*key).into()).encrypt_block(block.into());
    }
}

/// RFC 3610 §8, packet vectors 1 to 3; in software, and over a block cipher.
#[test]
fn ccm_is_that_of_the_rfc() {
    let ciphers: [&dyn CcmStar; 2] = [&SoftwareAes, &BlockAes(Block)];
    let vectors = [
        (
            3,
            0x1e,
            "58 8c 97 9a 61 c6 63 d2 f0 66 d0 c2 c0 f9 89 80 6d 5f 6b 61 da c3 84",
            "17 e8 d1 2c fd f9 26 e0",
        ),
        (
            4,
            0x1f,
            "72 c9 1a 36 e1 35 f8 cf 29 1c a8 94 08 5c 87 e3 cc 15 c4 39 c9 e4 3a 3b",
            "a0 91 d5 6e 10 40 09 16",
        ),
        (
            5,
            0x20,
            "51 b1 e5 f4 4a 19 7d 1d a4 6b 0f 8e 2d 28 2a e8 71 e8 38 bb 64 da 85 96 57",
            "4a da a7 6f bd 9f b0 c5",
        ),
    ];
    for (cipher, (number, last, secret, code)) in ciphers
        .into_iter()
        .flat_map(|cipher| vectors.map(|vector| (cipher, vector)))
    {
        let counter = number as u8;
        let mut nonce = [0; 13];
        nonce.copy_from_slice(&hex("00 00 00 03 02 01 00 a0 a1 a2 a3 a4 a5"));
        nonce[3] = counter;
        nonce[4] = counter - 1;
        nonce[5] = counter - 2;
        nonce[6] = counter - 3;
        let open: Vec<u8> = (0..8).collect();
        let plain: Vec<u8> = (8..=last).collect();
        let (mut message, mut mic) = (plain.clone(), [0; 8]);
        let sealed = cipher.seal(&KEY, &nonce, &open, &mut message, &mut mic);
        assert_eq!(sealed, Ok(()));
        assert_eq!((&message[..], &mic[..]), (&hex(secret)[..], &hex(code)[..]));
        assert!(cipher.open(&KEY, &nonce, &open, &mut message, &mic));
        assert_eq!(message, plain);
    }
}

#[test]
fn a_cipher_refuses_a_code_of_another_length() {
    let mut mic = [0; 6];
    let sealed = SoftwareAes.seal(&KEY, &[0; 13], &[], &mut [], &mut mic);
    assert_eq!(sealed, Err(CipherFault));
    assert!(!SoftwareAes.open(&KEY, &[0; 13], &[], &mut [], &mic));
}

#[test]
fn every_level_and_key_is_opened_by_its_neighbour() {
    for (level, index) in SecurityLevel::ALL
        .into_iter()
        .flat_map(|level| [(level, 0), (level, 9)])
    {
        let key = Key::new(index, KEY);
        let mut sender = node(level, key, eui64(0x11), 7);
        let mut receiver = node(level, key, eui64(0x22), 0);
        let longest = FrameBuf::CAPACITY - 9 - sender.overhead();
        for len in [0, 1, 15, 16, 17, longest] {
            let plain = frame(&vec![0x5a; len]);
            let mut sealed = buffer(&plain);
            assert_eq!(sender.seal(&mut sealed), Ok(()));
            assert_eq!(sealed.len(), plain.len() + sender.overhead());
            let hidden = sealed[9..].windows(3).all(|w| w != [0x5a; 3]);
            assert_eq!(hidden || len < 3, level.encrypts() || len < 3);
            assert_eq!(open(&mut receiver, &sealed), Ok(plain));
        }
        let mut too_long = buffer(&frame(&vec![0; longest + 1]));
        assert_eq!(sender.seal(&mut too_long), Err(SealError::TooLong));
    }
}

#[test]
fn frames_are_refused_by_name() {
    const LEVEL: SecurityLevel = SecurityLevel::EncMic32;
    let key = Key::new(1, KEY);
    let mut receiver = node(LEVEL, key, eui64(0x22), 0);
    let mut sender = node(LEVEL, key, eui64(0x11), 100);
    let seal = |sender: &mut Security<Heap>, from: u16| {
        let mut plain = frame(b"hello");
        plain[7..9].copy_from_slice(&from.to_le_bytes());
        let mut frame = buffer(&plain);
        sender.seal(&mut frame).unwrap();
        frame.to_vec()
    };

    assert_eq!(
        open(&mut receiver, &frame(b"hello")),
        Err(Refusal::Unsecured)
    );
    let (first, second) = (seal(&mut sender, 0x11), seal(&mut sender, 0x11));
    // A frame with three of its four MIC bytes is malformed, and so is a frame of version 0.
    let cut = &first[..9 + 6 + 3];
    assert_eq!(open(&mut receiver, cut), Err(Refusal::Malformed));
    let mut old = first.clone();
    old[1] &= 0xcf;
    assert_eq!(open(&mut receiver, &old), Err(Refusal::Malformed));

    assert!(open(&mut receiver, &second).is_ok());
    assert_eq!(open(&mut receiver, &second), Err(Refusal::Replayed));
    assert_eq!(open(&mut receiver, &first), Err(Refusal::OldCounter));

    let mut low = node(SecurityLevel::Mic64, key, eui64(0x11), 900);
    let low = seal(&mut low, 0x11);
    assert_eq!(open(&mut receiver, &low), Err(Refusal::Level));

    let mut other = node(LEVEL, Key::new(2, KEY), eui64(0x11), 900);
    let other = seal(&mut other, 0x11);
    assert_eq!(open(&mut receiver, &other), Err(Refusal::UnknownKey));

    let mut foe = node(LEVEL, Key::new(1, [7; 16]), eui64(0x11), 900);
    let foe = seal(&mut foe, 0x11);
    assert_eq!(open(&mut receiver, &foe), Err(Refusal::Unauthenticated));

    // The highest counter is reserved, so a frame with it is refused.
    let mut last = second.clone();
    last[10..14].copy_from_slice(&[0xff; 4]);
    assert_eq!(open(&mut receiver, &last), Err(Refusal::OldCounter));
}

/// A rejected frame does not change the counter, so an attacker cannot block a neighbour.
#[test]
fn a_frame_without_authentication_changes_no_counter() {
    let key = Key::new(1, KEY);
    let level = SecurityLevel::EncMic32;
    let mut receiver = node(level, key, eui64(0x22), 0);
    let mut foe = node(level, Key::new(1, [7; 16]), eui64(0x11), 1_000_000);
    let mut forged = buffer(&frame(b"x"));
    foe.seal(&mut forged).unwrap();
    for _ in 0..10 {
        let refused = open(&mut receiver, &forged);
        assert_eq!(refused, Err(Refusal::Unauthenticated));
    }
    assert_eq!(receiver.neighbours(), 0);
    let mut sender = node(level, key, eui64(0x11), 0);
    let mut honest = buffer(&frame(b"x"));
    sender.seal(&mut honest).unwrap();
    assert!(open(&mut receiver, &honest).is_ok());
}

#[test]
fn a_full_table_refuses_newcomers_and_keeps_those_it_knows() {
    let key = Key::new(1, KEY);
    let level = SecurityLevel::EncMic32;
    let mut receiver = node(level, key, eui64(0x22), 0);
    let sealed = |short: u16, counter: u32| {
        let mut plain = frame(b"x");
        plain[7..9].copy_from_slice(&short.to_le_bytes());
        let mut frame = buffer(&plain);
        let mut sender = node(level, key, eui64(short), counter);
        sender.seal(&mut frame).unwrap();
        frame.to_vec()
    };
    assert!(open(&mut receiver, &sealed(1, 0)).is_ok());
    assert!(open(&mut receiver, &sealed(2, 0)).is_ok());
    assert_eq!(open(&mut receiver, &sealed(3, 0)), Err(Refusal::NoRoom));
    assert!(open(&mut receiver, &sealed(1, 1)).is_ok());
    assert_eq!(open(&mut receiver, &sealed(2, 0)), Err(Refusal::Replayed));
    assert!(receiver.forget_neighbour(eui64(2)));
    assert!(open(&mut receiver, &sealed(3, 0)).is_ok());
}

#[test]
fn a_short_address_has_the_eui64_that_it_was_given_or_that_is_derived() {
    let key = Key::new(1, KEY);
    let level = SecurityLevel::EncMic32;
    let mut receiver = node(level, key, eui64(0x22), 0);
    receiver.config.eui64_prefix = None;
    let mut sender = node(level, key, EXTENDED, 0);
    let mut sealed = buffer(&frame(b"x"));
    sender.seal(&mut sealed).unwrap();
    let opened = open(&mut receiver, &sealed);
    assert_eq!(opened, Err(Refusal::UnknownSender));
    assert!(receiver.name_neighbour(0x11, EXTENDED));
    assert!(!receiver.name_neighbour(0x12, EXTENDED), "one entry");
    assert!(open(&mut receiver, &sealed).is_ok());
}

#[test]
fn a_network_changes_its_key_without_losing_a_frame() {
    let (old, new) = (Key::new(1, KEY), Key::new(2, [9; 16]));
    let level = SecurityLevel::EncMic32;
    let mut a = node(level, old, eui64(0x11), 500);
    let mut b = node(level, old, eui64(0x22), 0);
    let pass = |a: &mut Security<Heap>, b: &mut Security<Heap>| {
        let mut sealed = buffer(&frame(b"x"));
        a.seal(&mut sealed).unwrap();
        open(b, &sealed)
    };
    assert!(pass(&mut a, &mut b).is_ok());
    b.add_key(new).unwrap();
    assert!(pass(&mut a, &mut b).is_ok());
    a.add_key(new).unwrap();
    a.switch_key(2).unwrap();
    assert!(pass(&mut a, &mut b).is_ok());
    assert_eq!(b.neighbours(), 2, "one entry a key");
    b.switch_key(2).unwrap();
    b.remove_key(1).unwrap();
    assert_eq!(b.neighbours(), 1);
    assert!(pass(&mut a, &mut b).is_ok());
    a.switch_key(1).unwrap();
    assert_eq!(pass(&mut a, &mut b), Err(Refusal::UnknownKey));
}

#[test]
fn a_node_whose_counters_are_used_up_says_so_and_sends_nothing() {
    let key = Key::new(1, KEY);
    let mut sender = node(SecurityLevel::EncMic32, key, eui64(0x11), u32::MAX - 1);
    let mut sealed = buffer(&frame(b"x"));
    assert_eq!(sender.seal(&mut sealed), Ok(()));
    assert_eq!(&sealed[10..14], &[0xfe, 0xff, 0xff, 0xff]);
    for _ in 0..3 {
        store(&mut sender);
        let mut more = buffer(&frame(b"x"));
        assert_eq!(sender.seal(&mut more), Err(SealError::Exhausted));
    }
    assert!(sender.is_exhausted());
    assert_eq!((sender.counters.sealed, sender.counters.unsealed), (1, 3));
}

#[test]
fn no_frame_is_sent_before_the_counter_is_stored() {
    let key = Key::new(1, KEY);
    let mut sender = node(SecurityLevel::EncMic32, key, eui64(0x11), 0);
    for _ in 0..1_000 {
        sender.seal(&mut buffer(&frame(b"x"))).unwrap();
    }
    assert!(sender.waits());
    let refused = sender.seal(&mut buffer(&frame(b"x")));
    assert_eq!(refused, Err(SealError::NotStored));
    store(&mut sender);
    assert_eq!(sender.seal(&mut buffer(&frame(b"x"))), Ok(()));
}

#[test]
fn a_configuration_does_not_print_its_key() {
    let security = node(SecurityLevel::EncMic32, Key::new(3, KEY), EXTENDED, 0);
    let text = std::format!("{:?}", security.config).to_lowercase();
    for secret in ["193", "c1, c2", "c1c2", "194"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn every_refusal_has_its_own_counter_and_name() {
    for (i, why) in Refusal::ALL.into_iter().enumerate() {
        assert_eq!(why as usize, i);
        let mut counters = SecurityCounters::default();
        counters.refuse(why);
        assert!(counters.refusals().any(|it| it == (why, 1)));
        assert_eq!(counters.refusals().map(|(_, n)| n).sum::<u32>(), 1);
        let same = Refusal::ALL
            .into_iter()
            .filter(|r| r.to_string() == why.to_string());
        assert_eq!(same.count(), 1);
    }
}
