//! Memory of simulated nodes, on the heap.
//!
//! A large mesh has many buffers and table entries that no node ever uses. Therefore a buffer
//! occupies memory from its first use on, and a growing table has as many entries as it needs. A
//! node sees the same lengths and contents as with memory that is allocated at the start.

use std::ops::{Deref, DerefMut};

use redpoll_base::Memory;

#[derive(Debug)]
pub enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = LazyBuffer;
    type Table<T: 'static> = HeapTable<T>;
    type Forwards = bool;
    const JOINS_FRAGMENTS: bool = true;
}

/// The contents of all buffers that no node has used yet.
static ZEROS: [u8; LAZY_MAX] = [0; LAZY_MAX];
/// Maximum length of a buffer whose allocation waits for its first use.
const LAZY_MAX: usize = 16 * 1_024;

/// A zeroed buffer that is allocated on the first mutable access.
#[derive(Debug)]
pub enum LazyBuffer {
    /// A buffer of this length, at most `LAZY_MAX`, without a mutable access so far.
    Unused(usize),
    Allocated(Box<[u8]>),
}

impl AsRef<[u8]> for LazyBuffer {
    fn as_ref(&self) -> &[u8] {
        match self {
            LazyBuffer::Unused(len) => &ZEROS[..*len],
            LazyBuffer::Allocated(bytes) => bytes,
        }
    }
}

impl AsMut<[u8]> for LazyBuffer {
    fn as_mut(&mut self) -> &mut [u8] {
        if let LazyBuffer::Unused(len) = *self {
            *self = LazyBuffer::Allocated(vec![0; len].into());
        }
        match self {
            LazyBuffer::Unused(_) => &mut [],
            LazyBuffer::Allocated(bytes) => bytes,
        }
    }
}

impl Default for LazyBuffer {
    fn default() -> Self {
        buffer(0)
    }
}

pub fn buffer(len: usize) -> LazyBuffer {
    match len {
        0..=LAZY_MAX => LazyBuffer::Unused(len),
        _ => LazyBuffer::Allocated(vec![0; len].into()),
    }
}

/// A table of fixed length, or one that grows.
#[derive(Debug)]
pub struct HeapTable<T> {
    entries: Vec<T>,
    growth: Option<Growth<T>>,
}

#[derive(Debug)]
struct Growth<T> {
    limit: usize,
    is_used: fn(&T) -> bool,
    empty: fn() -> T,
}

impl<T> HeapTable<Option<T>> {
    /// Returns an empty table that grows up to `limit` entries. Its user must fill the entries in
    /// order: the table grows when its last entry is used.
    pub fn growing(limit: usize) -> Self {
        let growth = Growth {
            limit,
            is_used: Option::is_some,
            empty: || None,
        };
        HeapTable {
            entries: Vec::new(),
            growth: Some(growth),
        }
    }
}

impl<T> HeapTable<T> {
    pub fn limit(&self) -> usize {
        let growth = self.growth.as_ref();
        growth.map_or(self.entries.len(), |growth| growth.limit)
    }

    /// Adds unused entries, if the last entry is used.
    fn grow(&mut self) {
        let Some(growth) = &self.growth else {
            return;
        };
        let len = self.entries.len();
        if self.entries.last().is_none_or(growth.is_used) && len < growth.limit {
            // Grows by a quarter, because most tables stop growing soon.
            let more = (len / 4).max(4).min(growth.limit - len);
            self.entries.reserve_exact(more);
            self.entries.extend((0..more).map(|_| (growth.empty)()));
        }
    }
}

impl<T> AsRef<[T]> for HeapTable<T> {
    fn as_ref(&self) -> &[T] {
        &self.entries
    }
}

impl<T> AsMut<[T]> for HeapTable<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self.grow();
        &mut self.entries
    }
}

impl<T> Deref for HeapTable<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_ref()
    }
}

impl<T> DerefMut for HeapTable<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut()
    }
}

impl<T> Default for HeapTable<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for HeapTable<T> {
    fn from(mut entries: Vec<T>) -> Self {
        entries.shrink_to_fit();
        HeapTable {
            entries,
            growth: None,
        }
    }
}

impl<T> FromIterator<T> for HeapTable<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        Vec::from_iter(entries).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_allocated_on_its_first_use() {
        for len in [0, 1, 1_280, LAZY_MAX] {
            let mut lazy = buffer(len);
            assert_eq!(lazy.as_ref(), vec![0; len]);
            assert!(matches!(lazy, LazyBuffer::Unused(_)), "{len}");
            assert_eq!(lazy.as_mut(), vec![0; len]);
            lazy.as_mut().fill(7);
            assert_eq!(lazy.as_ref(), vec![7; len]);
        }
        let large = buffer(LAZY_MAX + 1);
        assert_eq!(large.as_ref(), vec![0; LAZY_MAX + 1]);
    }

    /// Compares a growing table with a full one, while entries are used in order and cleared.
    #[test]
    fn a_growing_table_differs_from_a_full_one_only_in_its_memory() {
        for limit in [0, 1, 4, 5, 100] {
            let mut growing: HeapTable<Option<usize>> = HeapTable::growing(limit);
            let mut full: HeapTable<Option<usize>> = vec![None; limit].into();
            assert_eq!((growing.limit(), full.limit()), (limit, limit));
            assert_eq!(growing.len(), 0);
            for used in 0..=limit {
                let present = growing.as_mut().get_mut(used).map(|it| *it = Some(used));
                let expected = full.as_mut().get_mut(used).map(|it| *it = Some(used));
                assert_eq!(present, expected, "{used} of {limit}");
                let all = growing.len();
                assert_eq!(growing.as_ref(), &full.as_ref()[..all]);
                assert!(all <= limit && all <= used + 1 + (used / 4).max(4));
            }
            growing.as_mut().fill(None);
            full.as_mut().fill(None);
            assert_eq!(growing.as_ref(), full.as_ref());
        }
    }
}
