//! Memory of simulated nodes: boxed slices.

use redpoll_base::Memory;

#[derive(Debug)]
pub enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
    const JOINS_FRAGMENTS: bool = true;
}

pub fn buffer(len: usize) -> Box<[u8]> {
    vec![0; len].into_boxed_slice()
}
