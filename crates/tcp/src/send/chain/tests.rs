use super::*;

/// A buffer type that can be neither copied nor cloned.
struct Owned([u8; 5]);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn chain<D: AsRef<[u8]>, const N: usize>(start: u32) -> Chain<D, [ChainSlot<D>; N]> {
    let mut chain = Chain::new([ChainSlot::EMPTY; N]);
    chain.begin(SeqNum(start));
    chain
}

fn read<D: AsRef<[u8]>, const N: usize>(
    chain: &Chain<D, [ChainSlot<D>; N]>,
    start: SeqNum,
    len: u32,
) -> ([u8; 16], usize) {
    let mut out = [0; 16];
    let count = chain.read(SeqRange::new(start, start + len), &mut out);
    (out, count)
}

#[test]
fn a_stream_crosses_buffers_the_table_and_the_sequence_wrap() {
    let mut start = SeqNum(u32::MAX - 100);
    let mut chain = chain::<Owned, 3>(start.0);
    for round in 0..60u8 {
        assert!(chain.push(Owned([round; 5])).is_ok());
        assert!(chain.push(Owned([round + 1; 5])).is_ok());
        assert_eq!(chain.range().len(), 10);
        let (out, count) = read(&chain, start + 3, 4);
        assert_eq!(
            (count, &out[..4]),
            (4, &[round, round, round + 1, round + 1][..])
        );
        assert!(!chain.free_before(start + 4));
        assert!(chain.reclaim().is_none(), "a byte of it is needed");
        assert_eq!(read(&chain, start + 4, 16).1, 6);
        assert!(chain.free_before(start + 7));
        assert_eq!(chain.reclaim().map(|b| b.0), Some([round; 5]));
        assert!(chain.reclaim().is_none());
        assert_eq!(read(&chain, start + 7, 16).1, 3);
        chain.clear();
        assert_eq!(chain.reclaim().map(|b| b.0), Some([round + 1; 5]));
        start += 10;
        assert_eq!(chain.end(), start);
    }
}

#[test]
fn a_slot_is_free_when_its_buffer_was_taken_back() {
    let mut chain = chain::<&'static [u8], 2>(0);
    assert_eq!(chain.push(b"ab"), Ok(()));
    assert_eq!(chain.push(b""), Ok(()));
    assert_eq!(chain.push(b"ef"), Err(&b"ef"[..]));
    assert!(chain.free_before(SeqNum(2)));
    assert_eq!(chain.room(), 0);
    assert_eq!(chain.reclaim(), Some(&b"ab"[..]));
    assert_eq!(chain.reclaim(), Some(&b""[..]), "nothing of it is needed");
    assert_eq!(chain.reclaim(), None);
    assert_eq!(chain.push(b"ef"), Ok(()));
    assert_eq!(read(&chain, SeqNum(2), 9).1, 2);
    assert_eq!(read(&chain, SeqNum(4), 9).1, 0);
    let mut nothing = Chain::<&'static [u8], [ChainSlot<_>; 0]>::new([]);
    assert_eq!(nothing.push(b"x"), Err(&b"x"[..]));
}

#[test]
fn the_pieces_are_the_application_s_own_memory() {
    static FIRST: [u8; 6] = *b"abcdef";
    static SECOND: [u8; 4] = *b"ghij";
    let mut chain = chain::<&'static [u8], 2>(7);
    chain.push(&FIRST).unwrap();
    chain.push(&SECOND).unwrap();
    let mut expected = [(&raw const FIRST[2], 4), (&raw const SECOND[0], 2)].into_iter();
    chain.show(SeqRange::new(SeqNum(9), SeqNum(15)), |piece| {
        assert_eq!(Some((piece.as_ptr(), piece.len())), expected.next());
    });
    assert_eq!(expected.next(), None);
}
