//! The largest stack of an image: the frames of the longest chain of calls, computed from its code.
//! Calls through pointers are not included; a leaf uses them only to inspect its own stack, and in
//! a board's functions to read and write a byte.
//!
//! The node is in the frame of a function that never returns. This frame therefore counts as static
//! memory, with the image's variables, and the frames below it count as stack.

use std::collections::{BTreeMap, BTreeSet};

use super::image::{Image, Symbol};
use super::thumb;
use crate::report::{self, Failure, Outcome};

/// Function at which the image begins.
const WHOLE: &str = "reset";
const MAIN: &str = "image_main";
/// Function that serves one message after another. The chain of calls below it is the stack of a
/// node whose construction is complete.
const SERVING: &str = "redpoll_firmware::leaf::serve";
/// Bytes that must be free below the longest chain.
const MARGIN: u64 = 192;
/// The promised limit of a leaf's static memory, with one connection of 2 × 1,848 bytes.
const STATIC_MOST: u64 = 12 << 10;
/// The promised limit of the stack in bytes from the function [`SERVING`] on.
const SERVING_MOST: u64 = 2 << 10;
/// A function allocates its frame within this number of halfwords of code.
const PROLOGUE: usize = 16;

/// A chain of functions that call one another, and the bytes of the frame of each.
pub type Chain = Vec<(String, u64)>;

#[derive(Debug, Default)]
pub struct Stack {
    /// Stack from the start on, including the construction of the node.
    whole: Chain,
    /// Stack from the function [`SERVING`] on.
    serving: Chain,
    /// The callers of the serving function, which never return.
    above: Chain,
    /// Bytes of the image's variables.
    variables: u64,
    /// Bytes of the processor's RAM.
    room: u64,
}

impl Stack {
    pub fn of(image: &Image) -> Stack {
        let callees = callees(image);
        Stack {
            whole: longest(image, WHOLE, &callees),
            serving: longest(image, SERVING, &callees),
            above: between(image, WHOLE, SERVING, &callees),
            variables: image.variables,
            room: image.stack_room,
        }
    }

    /// Returns the bytes of variables, and of the frames of functions that never return.
    pub fn static_bytes(&self) -> u64 {
        self.variables + bytes(&self.above)
    }

    /// Returns the stack in bytes of the longest chain of calls in a leaf that serves HTTP.
    pub fn serving_bytes(&self) -> u64 {
        bytes(&self.serving)
    }

    /// Returns the stack in bytes of the longest of all chains of calls.
    pub fn whole_bytes(&self) -> u64 {
        bytes(&self.whole)
    }

    pub fn print(&self) {
        let title = format!(
            "chain of calls with the largest stack, in a leaf that serves HTTP: {} bytes",
            self.serving_bytes()
        );
        let mut rows = vec![vec![title, "stack frame, bytes".to_owned()]];
        for (name, frame) in &self.serving {
            rows.push(vec![name.clone(), frame.to_string()]);
        }
        rows.push(vec![
            "largest stack of any chain of calls".to_owned(),
            self.whole_bytes().to_string(),
        ]);
        rows.push(vec![
            "stack that the image reserves".to_owned(),
            self.room.to_string(),
        ]);
        rows.push(vec![
            "memory in use before the calls: static variables, and the stack of the calling functions".to_owned(),
            self.static_bytes().to_string(),
        ]);
        report::print_table(&rows);
    }

    /// Checks that the image reserves the stack that it may use.
    pub fn check(&self) -> Outcome {
        let needs = self.whole_bytes().saturating_add(MARGIN);
        if self.whole.is_empty() || self.serving.is_empty() || self.above.is_empty() {
            return Err(Failure::new(
                "size: no chain of calls is found in the leaf's image",
            ));
        }
        Failure::unless_empty(
            "size: a leaf exceeds the project's limits",
            self.exceeding(),
        )?;
        if needs > self.room {
            return Err(Failure::new(format!(
                "size: a leaf can use {} bytes of stack and must leave {MARGIN} of the {} \
                 available bytes free; functions on the chain of calls with the largest stack, with their \
                 stack in bytes: {}",
                self.whole_bytes(),
                self.room,
                self.whole
                    .iter()
                    .map(|(name, frame)| format!("{name} {frame}"))
                    .collect::<Vec<_>>()
                    .join(", "),
            )));
        }
        Ok(())
    }
}

impl Stack {
    /// Returns the parts above their promised limits.
    fn exceeding(&self) -> Vec<String> {
        let limits = [
            ("static memory", self.static_bytes(), STATIC_MOST),
            (
                "stack of a leaf that serves HTTP",
                self.serving_bytes(),
                SERVING_MOST,
            ),
        ];
        let over = limits.into_iter().filter(|(_, bytes, most)| bytes > most);
        over.map(|(what, bytes, most)| {
            format!("{what}: {bytes} bytes, more than the limit of {most}")
        })
        .collect()
    }
}

/// Returns the bytes of the variables of an image whose network stack lies in the frame of its main
/// function, and of the frames from reset to this function.
pub fn memory_of_main(image: &Image) -> u64 {
    let frames = [WHOLE, MAIN].into_iter().filter_map(|name| {
        let symbol = image.symbol_named(name)?;
        Some(frame(image, symbol))
    });
    image.variables + frames.sum::<u64>()
}

fn bytes(chain: &[(String, u64)]) -> u64 {
    chain.iter().map(|(_, frame)| frame).sum()
}

type Callees<'i> = BTreeMap<u64, Vec<&'i Symbol>>;

fn callees(image: &Image) -> Callees<'_> {
    let mut callees: Callees<'_> = BTreeMap::new();
    for (from, to) in thumb::calls(&image.code, image.code_address) {
        if let (Some(caller), Some(callee)) = (image.symbol_at(from), image.symbol_at(to))
            && callee.address == to
            && callee.is_code
            && caller.address != to
        {
            callees.entry(caller.address).or_default().push(callee);
        }
    }
    callees
}

/// Returns the chain of calls with the largest sum of frames, from the function `name`.
fn longest(image: &Image, name: &str, callees: &Callees<'_>) -> Chain {
    let Some(root) = image.symbol_named(name) else {
        return Chain::new();
    };
    let mut known = BTreeMap::new();
    below(image, root, callees, &mut known)
}

/// Returns the functions on the path from `first` to `last`, without `last`.
fn between(image: &Image, first: &str, last: &str, callees: &Callees<'_>) -> Chain {
    let (Some(first), Some(last)) = (image.symbol_named(first), image.symbol_named(last)) else {
        return Chain::new();
    };
    let mut ways = vec![vec![first]];
    let mut seen = BTreeSet::from([first.address]);
    while let Some(way) = ways.pop() {
        let Some(here) = way.last() else { continue };
        for callee in callees.get(&here.address).into_iter().flatten() {
            if callee.address == last.address {
                let frames = way.iter().map(|it| (it.name.clone(), frame(image, it)));
                return frames.collect();
            }
            if seen.insert(callee.address) {
                ways.push([&way[..], &[*callee]].concat());
            }
        }
    }
    Chain::new()
}

/// Returns the longest chain below `symbol` in a call graph. The search does not enter a function
/// of the current chain again, because the code has no recursion.
fn below<'i>(
    image: &'i Image,
    symbol: &'i Symbol,
    callees: &Callees<'i>,
    known: &mut BTreeMap<u64, Chain>,
) -> Chain {
    if let Some(chain) = known.get(&symbol.address) {
        return chain.clone();
    }
    known.insert(symbol.address, Chain::new());
    let mut deepest = Chain::new();
    for callee in callees.get(&symbol.address).into_iter().flatten() {
        let chain = below(image, callee, callees, known);
        if bytes(&chain) > bytes(&deepest) {
            deepest = chain;
        }
    }
    deepest.insert(0, (symbol.name.clone(), frame(image, symbol)));
    known.insert(symbol.address, deepest.clone());
    deepest
}

fn frame(image: &Image, symbol: &Symbol) -> u64 {
    let at = symbol.address.saturating_sub(image.code_address) as usize;
    let code = image.code.get(at..).unwrap_or_default();
    let len = (symbol.size as usize).min(2 * PROLOGUE);
    frame_of(code, symbol.address, len)
}

/// Returns the bytes of stack that the first `len` bytes of `code` at `address` reserve (ARMv6-M
/// Architecture Reference Manual, A6.7.50, A6.7.67, A6.7.27, A6.7.5).
fn frame_of(code: &[u8], address: u64, len: usize) -> u64 {
    let word = |at: usize| -> Option<u32> {
        let bytes = code.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let mut constants = [0u32; 8];
    let mut sum = 0;
    for (index, pair) in code.chunks_exact(2).take(len / 2).enumerate() {
        let halfword = u16::from_le_bytes([pair[0], pair[1]]);
        let low = u64::from(halfword & 0xff);
        match halfword {
            // PUSH: registers 0 to 7, and the link register.
            0xb400..=0xb5ff => sum += 4 * u64::from((halfword & 0x1ff).count_ones()),
            // SUB (SP minus immediate).
            0xb080..=0xb0ff => sum += 4 * (low & 0x7f),
            // LDR (literal), from where the program counter is, aligned to a word.
            0x4800..=0x4fff => {
                let here = address + 2 * index as u64;
                let from = ((here + 4) & !3) + 4 * low - address;
                constants[usize::from(halfword >> 8 & 7)] = word(from as usize).unwrap_or(0);
            }
            // ADD (SP plus register): the register is negative if the code reserves a frame.
            _ if halfword & 0xffc7 == 0x4485 => {
                let by = constants[usize::from(halfword >> 3 & 7)] as i32;
                sum += u64::from(by.min(0).unsigned_abs());
            }
            _ => {}
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_leaf_keeps_its_limits() {
        let mut stack = Stack {
            serving: vec![("serve".to_owned(), SERVING_MOST)],
            above: vec![("run".to_owned(), 4_000)],
            variables: STATIC_MOST - 4_000,
            ..Stack::default()
        };
        assert!(stack.exceeding().is_empty());
        stack.variables += 1;
        assert_eq!(
            stack.exceeding(),
            ["static memory: 12289 bytes, more than the limit of 12288"]
        );
        stack.serving.push(("more".to_owned(), 8));
        assert_eq!(stack.exceeding().len(), 2);
    }

    #[test]
    fn frame_sizes_follow_from_prologues() {
        // push {r4, r5, r7, lr}; add r7, sp, #8; sub sp, #24
        let code = [0xb0, 0xb5, 0x02, 0xaf, 0x86, 0xb0];
        assert_eq!(frame_of(&code, 0x100, code.len()), 16 + 24);
        // push {r4, lr}; ldr r6, [pc, #0]; add sp, r6; nop; then -1000
        let code = [
            0x10, 0xb5, 0x01, 0x4e, 0xb5, 0x44, 0xc0, 0x46, 0x18, 0xfc, 0xff, 0xff,
        ];
        assert_eq!(frame_of(&code, 0x100, 8), 8 + 1000);
        // A stack frame that is released: ldr r6, [pc, #0]; add sp, r6; then 1000.
        let code = [0x00, 0x4e, 0xb5, 0x44, 0xe8, 0x03, 0x00, 0x00];
        assert_eq!(frame_of(&code, 0x100, 4), 0);
    }
}
