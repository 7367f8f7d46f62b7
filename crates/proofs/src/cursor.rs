//! Compares the write cursor of `redpoll-wire` with a list, for every sequence of operations on a
//! small buffer.

use crate::{Model, hash_of};
use redpoll_wire::cursor::{Cursor, Reader};

const BUFFER: usize = 6;

/// An operation of the cursor.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Write this many bytes.
    Put(usize),
    /// Write 8 bits.
    PutU8,
    /// Write 16 bits, high byte first.
    PutU16,
    /// Write 32 bits, high byte first.
    PutU32,
    /// Write 16 bits, low byte first.
    PutU16Le,
    /// Write zeros.
    Zeros(usize),
    /// Replace 16 bits at a position.
    Patch(usize),
}

/// The effects of the operations. The cursor borrows its buffer, so each check uses a new cursor.
#[derive(Clone, Debug, Default)]
pub struct World {
    buffer: [u8; BUFFER],
    position: usize,
    written: Vec<u8>,
}

/// The model. A test can replace `patch_u16` by a faulty function.
pub struct CursorModel {
    /// Replaces 16 bits, and returns whether these bits were written before.
    pub patch: fn(&mut Cursor<'_>, usize, u16) -> bool,
}

/// The model of `redpoll-wire`.
pub const REAL: CursorModel = CursorModel {
    patch: |out, position, value| out.patch_u16(position, value).is_ok(),
};

impl Model for CursorModel {
    type Action = Action;
    type World = World;

    fn start(&self) -> World {
        World::default()
    }

    fn actions(&self, _: &World) -> Vec<Action> {
        let mut actions = vec![
            Action::PutU8,
            Action::PutU16,
            Action::PutU32,
            Action::PutU16Le,
        ];
        for len in 0..=BUFFER + 1 {
            actions.extend([Action::Put(len), Action::Zeros(len), Action::Patch(len)]);
        }
        actions
    }

    fn step(&self, world: &mut World, action: Action) -> Result<(), String> {
        let World {
            buffer,
            position,
            written,
        } = world;
        let mut out = Cursor::new(buffer);
        out.reserve(*position).map_err(|_| "no room".to_owned())?;
        let mut more: Vec<u8> = Vec::new();
        let done = match action {
            Action::Put(len) => {
                more.extend((1..=len).map(|n| n as u8));
                out.put(&more).is_ok()
            }
            Action::PutU8 => {
                more.push(0x11);
                out.put_u8(0x11).is_ok()
            }
            Action::PutU16 => {
                more.extend([0x12, 0x34]);
                out.put_u16(0x1234).is_ok()
            }
            Action::PutU32 => {
                more.extend([0x12, 0x34, 0x56, 0x78]);
                out.put_u32(0x1234_5678).is_ok()
            }
            Action::PutU16Le => {
                more.extend([0x34, 0x12]);
                out.put_u16_le(0x1234).is_ok()
            }
            Action::Zeros(len) => {
                more.resize(len, 0);
                out.put_zeros(len).is_ok()
            }
            Action::Patch(at) => {
                let is_inside = at + 2 <= written.len();
                if is_inside {
                    written[at..at + 2].copy_from_slice(&[0xab, 0xcd]);
                }
                if (self.patch)(&mut out, at, 0xabcd) != is_inside {
                    return Err(format!(
                        "patch at byte {at} of {} written bytes did not return {is_inside}",
                        written.len()
                    ));
                }
                true
            }
        };
        let fits = written.len() + more.len() <= BUFFER;
        if fits {
            written.extend(more);
        }
        if done != fits {
            return Err(format!(
                "the bytes fit: {fits}; the cursor wrote them: {done}"
            ));
        }
        if out.written() != *written || out.remaining() != BUFFER - written.len() {
            return Err(format!("{:?} instead of {written:?}", out.written()));
        }
        *position = out.position();
        read_again(written)
    }

    fn key(&self, world: &World) -> u64 {
        hash_of(&(world.position, &world.written))
    }

    fn copy(&self, world: &World) -> Option<World> {
        Some(world.clone())
    }
}

/// Reads the bytes in every sequence of one-byte and two-byte pieces; no read may pass the end.
fn read_again(bytes: &[u8]) -> Result<(), String> {
    for pattern in 0..1u32 << bytes.len() {
        let mut input = Reader::new(bytes);
        let mut read = Vec::new();
        for bit in 0..=bytes.len() {
            let left = bytes.len() - read.len();
            let wide = pattern >> bit & 1 == 1;
            let got = match wide {
                true => input.u16().map(|value| value.to_be_bytes().to_vec()),
                false => input.u8().map(|value| vec![value]),
            };
            if got.is_ok() != (left > usize::from(wide)) {
                let count = 1 + usize::from(wide);
                return Err(format!(
                    "a read of {count} of {left} remaining bytes: {got:?}"
                ));
            }
            read.extend(got.unwrap_or_default());
        }
        if !bytes.starts_with(&read) || input.rest() != &bytes[read.len()..] {
            return Err(format!("{read:?} was read from {bytes:?}"));
        }
    }
    Ok(())
}
