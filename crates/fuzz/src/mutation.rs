//! Random inputs: random bytes, or a seed input with a few changes.

use redpoll_base::Rng;

/// Maximum length of an input of random bytes, in bytes.
const LONGEST: u32 = 400;
/// Maximum length of an input after its changes, in bytes.
const MOST: usize = 4_096;
/// Byte values at the limits of typical fields.
const EDGES: [u8; 8] = [0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xfe, 0xff];

/// A source of inputs for one target. The same seed gives the same inputs.
#[derive(Debug)]
pub struct Mutator {
    rng: Rng,
    seeds: Vec<Vec<u8>>,
}

impl Mutator {
    pub fn new(seed: u64, seeds: Vec<Vec<u8>>) -> Mutator {
        Mutator {
            rng: Rng::new(seed),
            seeds,
        }
    }

    /// Writes the next input.
    pub fn next(&mut self, input: &mut Vec<u8>) {
        input.clear();
        match self.below(self.seeds.len() as u32 + 1) as usize {
            0 => {
                // Short inputs are more frequent, because most headers are short.
                let most = 1 + self.below(LONGEST);
                let len = self.below(most);
                input.extend((0..len).map(|_| self.rng.next_u32() as u8));
            }
            n => {
                input.extend_from_slice(&self.seeds[n - 1]);
                for _ in 0..=self.below(6) {
                    self.change(input);
                }
                input.truncate(MOST);
            }
        }
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        if input.is_empty() {
            input.push(self.rng.next_u32() as u8);
        }
        let len = input.len() as u32;
        let at = self.below(len) as usize;
        let some = 1 + self.below(len.min(32)) as usize;
        let end = input.len().min(at + some);
        match self.below(7) {
            0 => input[at] ^= 1 << self.below(8),
            1 => input[at] = self.rng.next_u32() as u8,
            2 => input[at] = EDGES[self.below(EDGES.len() as u32) as usize],
            3 => input.truncate(at),
            4 => drop(input.drain(at..end)),
            5 => input.extend_from_within(at..end),
            _ => {
                // Replace the rest by a part of another input.
                let other = self.below(self.seeds.len() as u32) as usize;
                let other = &self.seeds[other];
                input.truncate(at);
                input.extend_from_slice(other.get(at..).unwrap_or(other));
            }
        }
    }

    /// Returns a random number below `bound`, or 0 if `bound` is 0.
    fn below(&mut self, bound: u32) -> u32 {
        self.rng.next_u32().checked_rem(bound).unwrap_or(0)
    }
}
