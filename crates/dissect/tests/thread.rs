//! Secured frames of a Thread network. The keys are the test vector of the Thread specification.

use redpoll_base::{Addr, checksum::Checksum};
use redpoll_mac::security::{CcmStar, SoftwareAes};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, fcs};
use redpoll_wire::ipv6::{Ipv6Header, addr, next_header};
use redpoll_wire::sixlowpan::{Contexts, iphc};

use redpoll_dissect::capture::{Captured, Trailer};
use redpoll_dissect::{Dissector, Keys, Reading};

const NETWORK_KEY: [u8; 16] = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes();
/// The keys of sequence 0.
const MLE_KEY: [u8; 16] = 0x5445_f415_8fd7_5912_1758_09f8_b57a_66a4_u128.to_be_bytes();
const MAC_KEY: [u8; 16] = 0xde89_c53a_f382_b421_e0fd_e5a9_bae3_bef0_u128.to_be_bytes();

/// Level 5: encrypted, with a MIC of four bytes.
const LEVEL: u8 = 5;
const EUI64: [u8; 8] = [0xca, 0xfe, 1, 2, 3, 4, 5, 6];
const SHORT: u16 = 0x0400;
const MLE_PORT: u16 = 19_788;

/// Returns `message` in encrypted form, followed by its MIC.
fn sealed(key: &[u8; 16], counter: u32, open: &[u8], message: &[u8]) -> Vec<u8> {
    let nonce = [&EUI64[..], &counter.to_be_bytes(), &[LEVEL]].concat();
    let (mut message, mut mic) = (message.to_vec(), [0; 4]);
    let nonce = nonce.try_into().unwrap();
    SoftwareAes
        .seal(key, &nonce, open, &mut message, &mut mic)
        .unwrap();
    message.extend(mic);
    message
}

fn link_local() -> Addr {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&[0xfe, 0x80]);
    bytes[8..].copy_from_slice(&EUI64);
    bytes[8] ^= 2;
    Addr(bytes)
}

/// Returns the address in fd00:db8::/64, the mesh-local prefix, of the node with a short address.
fn mesh_local(short: u16) -> Addr {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&[0xfd, 0, 0x0d, 0xb8]);
    bytes[11..14].copy_from_slice(&[0xff, 0xfe, 0]);
    bytes[14..].copy_from_slice(&short.to_be_bytes());
    Addr(bytes)
}

/// Returns a broadcast frame with an MLE advertisement, which reveals the short address of its
/// sender and the mesh-local prefix.
fn advertisement() -> Vec<u8> {
    let (src, dst) = (link_local(), addr::LINK_LOCAL_ALL_NODES);
    // Key identifier mode 2: the key source is the sequence, the index follows.
    let counter = 1_u32;
    let mut auxiliary = vec![LEVEL | 2 << 3];
    auxiliary.extend(counter.to_le_bytes());
    auxiliary.extend([0, 0, 0, 0, 1]);
    let [high, low] = SHORT.to_be_bytes();
    let mut message = vec![4, 0, 2, high, low, 24, 10, 7, 8];
    message.extend(&mesh_local(0).0[..8]);
    let open = [&src.0[..], &dst.0, &auxiliary].concat();
    let mut body = vec![0];
    body.extend(&auxiliary);
    body.extend(sealed(&MLE_KEY, counter, &open, &message));

    let len = 8 + body.len() as u16;
    let mut datagram = [MLE_PORT, MLE_PORT, len, 0].map(u16::to_be_bytes).concat();
    datagram.extend(body);
    let mut sum = Checksum::pseudo_header(&src, &dst, next_header::UDP, len.into());
    sum.add(&datagram);
    datagram[6..8].copy_from_slice(&sum.finish().to_be_bytes());
    let ip = Ipv6Header {
        payload_len: len,
        next_header: next_header::UDP,
        hop_limit: 255,
        src,
        dst,
        ..Ipv6Header::default()
    };
    // An intra-PAN data frame from an extended to a short address, with an uncompressed packet.
    let mut frame = vec![0x41, 0xd8, 1, 0x70, 0x72, 0xff, 0xff];
    frame.extend(EUI64.iter().rev());
    frame.push(0x41);
    frame.extend(ip.to_bytes());
    frame.extend(datagram);
    frame
}

/// Returns an encrypted data frame with a TCP segment between mesh-local addresses.
fn segment() -> Vec<u8> {
    let (src, dst) = (mesh_local(SHORT), mesh_local(0));
    let mut tcp = vec![0xc0, 0, 0x1b, 0x58, 0, 0, 0, 100, 0, 0, 0, 200, 0x50, 0x10];
    tcp.extend([7, 0x38, 0, 0, 0, 0]);
    let mut sum = Checksum::pseudo_header(&src, &dst, next_header::TCP, tcp.len() as u32);
    sum.add(&tcp);
    tcp[16..18].copy_from_slice(&sum.finish().to_be_bytes());
    let ip = Ipv6Header {
        payload_len: tcp.len() as u16,
        next_header: next_header::TCP,
        hop_limit: 64,
        src,
        dst,
        ..Ipv6Header::default()
    };
    let mut header = [0; 64];
    let mut out = Cursor::new(&mut header);
    let ends = (Address::Short(SHORT), Address::Short(0));
    let contexts = Contexts::with_prefix(mesh_local(0));
    iphc::compress(&ip, iphc::Upper::Other, ends.0, ends.1, &contexts, &mut out).unwrap();
    let message = [out.written(), &tcp].concat();

    // A secured intra-PAN data frame between short addresses, with key identifier mode 1.
    let counter = 2_u32;
    let mut frame = vec![0x69, 0x98, 2, 0x70, 0x72, 0, 0];
    frame.extend(SHORT.to_le_bytes());
    frame.push(LEVEL | 1 << 3);
    frame.extend(counter.to_le_bytes());
    frame.push(1);
    let protected = sealed(&MAC_KEY, counter, &frame, &message);
    frame.extend(protected);
    frame
}

/// Returns the summaries of the frames from a dissector with this network key.
fn shown(network_key: [u8; 16], frames: &[Vec<u8>]) -> Vec<String> {
    let mut reading = Reading::of(Addr::UNSPECIFIED);
    reading.keys = Keys::new(None, Vec::new(), [0; 6]).with_thread(network_key);
    let mut dissector = Dissector::new(reading);
    let line = |frame: &Vec<u8>| {
        let captured = Captured {
            trailer: Trailer::Crc16(fcs(frame)),
            ..Captured::of(frame)
        };
        dissector.captured(&captured, 0).summary()
    };
    frames.iter().map(line).collect()
}

#[test]
fn an_advertisement_reveals_the_sender_and_the_prefix_of_later_frames() {
    let shown = shown(NETWORK_KEY, &[advertisement(), segment()]);
    assert!(shown[0].contains("advertisement"), "{}", shown[0]);
    let ends = "fd00:db8::ff:fe00:400";
    assert!(shown[1].contains(ends), "{}", shown[1]);
    assert!(shown[1].contains("49152"), "{}", shown[1]);
}

#[test]
fn frames_before_the_advertisement_stay_encrypted() {
    let shown = shown(NETWORK_KEY, &[segment(), advertisement(), segment()]);
    assert!(!shown[0].contains("49152"), "{}", shown[0]);
    assert!(shown[2].contains("49152"), "{}", shown[2]);
}

#[test]
fn another_key_and_changed_frames_open_nothing() {
    let mut other = NETWORK_KEY;
    other[15] ^= 1;
    let lines = shown(other, &[advertisement(), segment()]);
    assert!(!lines[0].contains("advertisement") && !lines[1].contains("49152"));
    let whole = segment();
    for at in 16..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        let lines = shown(NETWORK_KEY, &[advertisement(), changed]);
        assert!(!lines[1].contains("49152"), "byte {at}: {}", lines[1]);
    }
}
