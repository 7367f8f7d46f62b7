//! Messages: Matter's message header and protocol header (4.4), and the messages of BDX (11.21.5,
//! 11.21.6). Numbers are little-endian.

/// Bytes of the longest datagram: headers, a block counter, a block.
pub const DATAGRAM_MAX: usize = HEADER + PROTOCOL + ACK + COUNTER + super::BLOCK_MAX;

/// Length of flags, session, security flags and message counter in bytes.
const HEADER: usize = 8;
/// Length of exchange flags, opcode, exchange ID and protocol ID in bytes.
const PROTOCOL: usize = 6;
const ACK: usize = 4;
const COUNTER: usize = 4;

/// Exchange flags (4.4.3.1): the message is from the initiator of the exchange; it has an
/// acknowledgment; it requests an acknowledgment.
const INITIATOR: u8 = 1;
const ACKNOWLEDGES: u8 = 2;
const RELIABLE: u8 = 4;

const SECURE_CHANNEL: u16 = 0;
const BDX: u16 = 2;

#[derive(Clone, Debug)]
pub(super) struct Datagram {
    bytes: [u8; DATAGRAM_MAX],
    len: usize,
}

impl Datagram {
    pub(super) const EMPTY: Datagram = Datagram {
        bytes: [0; DATAGRAM_MAX],
        len: 0,
    };

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Appends bytes. Bytes that do not fit would be left out, but no message is that long.
    fn put(&mut self, bytes: &[u8]) {
        let end = (self.len + bytes.len()).min(DATAGRAM_MAX);
        let len = end - self.len;
        self.bytes[self.len..end].copy_from_slice(&bytes[..len]);
        self.len = end;
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Body<'a> {
    /// An acknowledgment without data (4.11.7.1, MRP Standalone Acknowledgement).
    Ack,
    /// The receiver wants the image, from `offset` on, in blocks of at most `block`.
    ReceiveInit {
        block: u16,
        offset: u32,
    },
    /// The sender has `length` bytes, and sends them in blocks of `block`.
    ReceiveAccept {
        block: u16,
        length: u32,
    },
    BlockQuery {
        counter: u32,
    },
    Block {
        counter: u32,
        bytes: &'a [u8],
        is_last: bool,
    },
    BlockAckEof {
        counter: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message<'a> {
    pub(super) counter: u32,
    pub(super) exchange: u16,
    pub(super) from_initiator: bool,
    pub(super) is_reliable: bool,
    pub(super) acknowledges: Option<u32>,
    pub(super) body: Body<'a>,
}

/// Proposed transfer control: version 0, the receiver drives.
const RECEIVER_DRIVES: u8 = 0x20;
/// Bits of the range control: a length follows, an offset follows, both have 64 bits (not used).
const HAS_LENGTH: u8 = 1;
const HAS_OFFSET: u8 = 2;
const IS_WIDE: u8 = 0x10;
/// The name of the file, which is irrelevant.
const FILE: &[u8] = b"image";

impl Message<'_> {
    pub(super) fn write(&self) -> Datagram {
        let mut out = Datagram::EMPTY;
        // No addresses in the header; session 1, without security flags.
        out.put(&[0, 1, 0, 0]);
        out.put(&self.counter.to_le_bytes());
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(self.from_initiator, INITIATOR)
            | flag(self.acknowledges.is_some(), ACKNOWLEDGES)
            | flag(self.is_reliable, RELIABLE);
        let (protocol, opcode) = match self.body {
            Body::Ack => (SECURE_CHANNEL, 0x10),
            Body::ReceiveInit { .. } => (BDX, 0x04),
            Body::ReceiveAccept { .. } => (BDX, 0x05),
            Body::BlockQuery { .. } => (BDX, 0x10),
            Body::Block { is_last, .. } => (BDX, if is_last { 0x12 } else { 0x11 }),
            Body::BlockAckEof { .. } => (BDX, 0x14),
        };
        out.put(&[flags, opcode]);
        out.put(&self.exchange.to_le_bytes());
        out.put(&protocol.to_le_bytes());
        if let Some(counter) = self.acknowledges {
            out.put(&counter.to_le_bytes());
        }
        match self.body {
            Body::Ack => {}
            Body::ReceiveInit { block, offset } => {
                out.put(&[RECEIVER_DRIVES, HAS_OFFSET]);
                out.put(&block.to_le_bytes());
                out.put(&offset.to_le_bytes());
                out.put(&(FILE.len() as u16).to_le_bytes());
                out.put(FILE);
            }
            Body::ReceiveAccept { block, length } => {
                out.put(&[RECEIVER_DRIVES, HAS_LENGTH]);
                out.put(&block.to_le_bytes());
                out.put(&length.to_le_bytes());
            }
            Body::BlockQuery { counter } | Body::BlockAckEof { counter } => {
                out.put(&counter.to_le_bytes());
            }
            Body::Block { counter, bytes, .. } => {
                out.put(&counter.to_le_bytes());
                out.put(bytes);
            }
        }
        out
    }
}

impl<'a> Message<'a> {
    /// Returns the message in a datagram; `None` if it is unknown or malformed.
    pub(super) fn read(datagram: &'a [u8]) -> Option<Message<'a>> {
        let mut rest = datagram;
        let [0, 1, 0, 0] = take::<4>(&mut rest)? else {
            return None;
        };
        let counter = u32::from_le_bytes(take(&mut rest)?);
        let [flags, opcode] = take(&mut rest)?;
        if flags & !(INITIATOR | ACKNOWLEDGES | RELIABLE) != 0 {
            return None;
        }
        let exchange = u16::from_le_bytes(take(&mut rest)?);
        let protocol = u16::from_le_bytes(take(&mut rest)?);
        let acknowledges = match flags & ACKNOWLEDGES {
            0 => None,
            _ => Some(u32::from_le_bytes(take(&mut rest)?)),
        };
        Some(Message {
            counter,
            exchange,
            from_initiator: flags & INITIATOR != 0,
            is_reliable: flags & RELIABLE != 0,
            acknowledges,
            body: body(protocol, opcode, rest)?,
        })
    }
}

fn body(protocol: u16, opcode: u8, mut rest: &[u8]) -> Option<Body<'_>> {
    let body = match (protocol, opcode) {
        (SECURE_CHANNEL, 0x10) => Body::Ack,
        (BDX, 0x04) => {
            let [control, range] = take(&mut rest)?;
            let block = u16::from_le_bytes(take(&mut rest)?);
            if control & RECEIVER_DRIVES == 0 || range & IS_WIDE != 0 {
                return None;
            }
            let offset = match range & HAS_OFFSET {
                0 => 0,
                _ => u32::from_le_bytes(take(&mut rest)?),
            };
            // The remaining fields, a length and the file's name, are irrelevant.
            Body::ReceiveInit { block, offset }
        }
        (BDX, 0x05) => {
            let [_, range] = take(&mut rest)?;
            let block = u16::from_le_bytes(take(&mut rest)?);
            if range & (IS_WIDE | HAS_LENGTH) != HAS_LENGTH {
                return None;
            }
            let length = u32::from_le_bytes(take(&mut rest)?);
            Body::ReceiveAccept { block, length }
        }
        (BDX, 0x10) => Body::BlockQuery {
            counter: u32::from_le_bytes(take(&mut rest)?),
        },
        (BDX, 0x11 | 0x12) => {
            let counter = u32::from_le_bytes(take(&mut rest)?);
            // Only the last block may be empty; otherwise a transfer might never end.
            let is_last = opcode == 0x12;
            if rest.len() > super::BLOCK_MAX || rest.is_empty() && !is_last {
                return None;
            }
            Body::Block {
                counter,
                bytes: rest,
                is_last,
            }
        }
        (BDX, 0x14) => Body::BlockAckEof {
            counter: u32::from_le_bytes(take(&mut rest)?),
        },
        _ => return None,
    };
    Some(body)
}

/// Removes the first `N` bytes and returns them; `None` if there are fewer.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn messages_survive_the_wire() {
        let bodies = [
            Body::Ack,
            Body::ReceiveInit {
                block: 1_024,
                offset: 70_000,
            },
            Body::ReceiveAccept {
                block: 512,
                length: 386_000,
            },
            Body::BlockQuery { counter: 7 },
            Body::Block {
                counter: 7,
                bytes: &[9; 1_024],
                is_last: false,
            },
            Body::Block {
                counter: 8,
                bytes: &[],
                is_last: true,
            },
            Body::BlockAckEof { counter: 8 },
        ];
        for (index, body) in bodies.into_iter().enumerate() {
            let message = Message {
                counter: 0x0102_0304,
                exchange: 0x0506,
                from_initiator: index % 2 == 0,
                is_reliable: index > 0,
                acknowledges: (index % 3 == 0).then_some(0x0708_090a),
                body,
            };
            let datagram = message.write();
            assert_eq!(Message::read(datagram.as_slice()), Some(message));
            // The file's name is not read, so a message may end within it. A message that ends
            // earlier is not parsed.
            let needed = datagram.len - if index == 1 { FILE.len() + 2 } else { 0 };
            for end in 0..needed {
                assert_ne!(Message::read(&datagram.as_slice()[..end]), Some(message));
            }
        }
        let block = Body::Block {
            counter: 1,
            bytes: &[0; 1_024],
            is_last: false,
        };
        let message = Message {
            counter: 1,
            exchange: 1,
            from_initiator: false,
            is_reliable: true,
            acknowledges: Some(1),
            body: block,
        };
        let datagram = message.write();
        assert_eq!(datagram.len, DATAGRAM_MAX);
        let mut long = std::vec::Vec::from(datagram.as_slice());
        long.push(0);
        assert_eq!(Message::read(&long), None);
    }
}
