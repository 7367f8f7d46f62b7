use std::vec::Vec;

use super::*;
use crate::Error;
use redpoll_base::Addr;

fn segment(options: &[u8], payload: &[u8]) -> Vec<u8> {
    let offset = (20 + options.len()) as u8 / 4;
    #[rustfmt::skip]
    let fixed = [
        0xc0, 1, 0, 80, 0xfe, 0xdc, 0xba, 0x98, 1, 0x23, 0x45, 0x67,
        offset << 4 | 0x0a, 0x18, 7, 0x38, 0xab, 0xcd, 0, 9,
    ];
    [&fixed, options, payload].concat()
}

#[test]
fn every_field_is_read() {
    let bytes = segment(&[2, 4, 1, 206], b"abc");
    let header = HeaderView::parse(&bytes).unwrap();
    assert_eq!((header.src_port(), header.dst_port()), (0xc001, 80));
    assert_eq!(header.seq(), SeqNum(0xfedc_ba98));
    assert_eq!(header.ack(), Some(SeqNum(0x0123_4567)));
    assert_eq!(header.numbers(), (header.seq(), header.ack_field()));
    assert_eq!(header.flags(), Flags::ACK.with(Flags::PSH));
    assert_eq!((header.header_len(), header.reserved()), (24, 0x0a));
    assert_eq!((header.window(), header.checksum()), (0x0738, 0xabcd));
    assert_eq!(header.urgent_pointer(), 9);
    assert_eq!(header.options(), OptionList(&[2, 4, 1, 206]));
    assert_eq!((header.payload(), header.payload_len()), (&b"abc"[..], 3));
    assert!(header.is_complete());
}

#[test]
fn an_acknowledgment_number_counts_only_with_its_bit() {
    let mut bytes = segment(&[], &[]);
    bytes[13] = Flags::SYN.0;
    let header = HeaderView::parse(&bytes).unwrap();
    assert_eq!(header.ack(), None);
    assert_eq!(header.ack_field(), SeqNum(0x0123_4567));
}

#[test]
fn impossible_lengths_are_errors() {
    let whole = segment(&[1; 8], b"abcd");
    for len in 0..20 {
        let part = &whole[..len];
        assert_eq!(HeaderView::parse(part), Err(Error::Truncated), "{len}");
        assert_eq!(HeaderView::parse_partial(part, 40), Err(Error::Truncated));
    }
    for len in 20..28 {
        assert_eq!(HeaderView::parse(&whole[..len]), Err(Error::Length));
        assert_eq!(HeaderView::parse_partial(&whole, len), Err(Error::Length));
    }
    for words in 0..16 {
        let mut bytes = whole.clone();
        bytes[12] = words << 4;
        let is_good = (5..=8).contains(&words);
        let expected = (!is_good).then_some(Error::Length);
        assert_eq!(HeaderView::parse(&bytes).err(), expected, "{words}");
        let partial = HeaderView::parse_partial(&bytes, bytes.len());
        assert_eq!(partial.err(), expected, "{words}");
    }
}

#[test]
fn a_part_of_a_segment_has_the_lengths_of_the_whole() {
    let whole = segment(&[2, 4, 1, 206], b"abcdef");
    for len in 20..=whole.len() {
        let header = HeaderView::parse_partial(&whole[..len], whole.len()).unwrap();
        assert_eq!((header.header_len(), header.payload_len()), (24, 6));
        assert_eq!(header.is_complete(), len >= 24, "{len}");
        let options: &[u8] = if len >= 24 { &whole[20..24] } else { &[] };
        assert_eq!(header.options(), OptionList(options));
        assert_eq!(header.payload(), whole.get(24..len).unwrap_or(&[]));
    }
    // Bytes after the end of the segment are not part of its payload.
    let header = HeaderView::parse_partial(&whole, 26).unwrap();
    assert_eq!((header.payload(), header.payload_len()), (&b"ab"[..], 2));
    let all = HeaderView::parse_partial(&whole, whole.len());
    assert_eq!(all, HeaderView::parse(&whole));
}

#[test]
fn a_changed_byte_makes_the_checksum_wrong() {
    let (src, dst) = (Addr([1; 16]), Addr([2; 16]));
    let mut bytes = segment(&[1, 1, 1, 0], b"abc");
    bytes[16..18].fill(0);
    let mut sum = redpoll_base::checksum::Checksum::pseudo_header(&src, &dst, 6, 27);
    sum.add(&bytes);
    bytes[16..18].copy_from_slice(&sum.finish().to_be_bytes());
    assert!(is_checksum_valid(&src, &dst, &bytes));
    assert!(!is_checksum_valid(&src, &src, &bytes));
    for at in 0..bytes.len() {
        bytes[at] ^= 0x10;
        assert!(!is_checksum_valid(&src, &dst, &bytes), "{at}");
        bytes[at] ^= 0x10;
    }
}

#[test]
fn a_strict_reader_sees_every_item() {
    let bytes = [1, 2, 4, 1, 206, 4, 2, 254, 3, 9, 1, 0, 7, 7];
    let option = |kind, value| Ok(OptionItem::Option { kind, value });
    let items: Vec<_> = OptionList(&bytes).strict().collect();
    let expected = [
        Ok(OptionItem::Nop),
        option(kind::MSS, &[1, 206]),
        option(kind::SACK_PERMITTED, &[]),
        option(254, &[9]),
        Ok(OptionItem::Nop),
        Ok(OptionItem::End),
    ];
    assert_eq!(items, expected);
}

#[test]
fn both_readers_end_at_an_impossible_length() {
    for (tail, error) in [
        (&[99][..], Error::Truncated),
        (&[99, 0, 2, 4, 0, 1], Error::Length),
        (&[99, 1, 2, 4, 0, 1], Error::Length),
        (&[99, 200, 2, 4, 0, 1], Error::Length),
        (&[99, 3], Error::Length),
    ] {
        let bytes = [&[2, 4, 1, 206], tail].concat();
        let mut strict = OptionList(&bytes).strict();
        assert!(matches!(strict.next(), Some(Ok(_))));
        assert_eq!(strict.next(), Some(Err(error)), "{tail:?}");
        assert_eq!(strict.next(), None);
        let lenient: Vec<_> = OptionList(&bytes).lenient().collect();
        assert_eq!(lenient, [(kind::MSS, &[1, 206][..])]);
    }
}

#[test]
fn a_lenient_reader_skips_nops_and_stops_at_the_end() {
    let bytes = [1, 1, 8, 2, 3, 3, 7, 0, 2, 4, 1, 206];
    let list = OptionList(&bytes);
    let all: Vec<_> = list.lenient().collect();
    assert_eq!(all, [(8, &[][..]), (kind::WINDOW_SCALE, &[7])]);
    assert_eq!(list.find(kind::WINDOW_SCALE), Some(&[7][..]));
    assert_eq!(list.find(kind::MSS), None);
}

#[test]
fn flags_have_the_names_of_the_standard() {
    let all = Flags(0xff);
    let text = std::format!("{all:?} {:?}", Flags::NONE);
    assert_eq!(text, "SYN|FIN|RST|PSH|ACK|URG|ECE|CWR -");
    assert_eq!(all.without(Flags(0xfe)), Flags::FIN);
}

#[test]
fn an_impossible_data_offset_can_be_shown() {
    let mut bytes = segment(&[], &[]);
    for words in 0..16 {
        bytes[12] = words << 4 | 0x0a;
        let expected = Some(4 * usize::from(words));
        assert_eq!(HeaderView::announced_len(&bytes), expected);
    }
    assert_eq!(HeaderView::announced_len(&bytes[..19]), None);
}

#[test]
fn each_control_bit_has_its_own_question() {
    type Question = fn(Flags) -> bool;
    let questions: [(Flags, Question); 4] = [
        (Flags(0x01), Flags::fin),
        (Flags(0x02), Flags::syn),
        (Flags(0x04), Flags::rst),
        (Flags(0x10), Flags::ack),
    ];
    for (flag, is_set) in questions {
        assert!(is_set(flag) && is_set(Flags(0xff)), "{flag:?}");
        assert!(!is_set(Flags(0xff).without(flag)), "{flag:?}");
    }
    let both = Flags::SYN.with(Flags::FIN);
    assert_eq!(both.with(Flags::FIN), both);
    assert!(both.intersects(Flags::FIN.with(Flags::RST)));
    assert!(!both.contains(Flags::FIN.with(Flags::RST)));
    assert!(!both.intersects(Flags::RST.with(Flags::ACK)));
    assert!(!both.intersects(Flags::NONE) && both.contains(Flags::NONE));
}
