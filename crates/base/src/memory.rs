//! Memory that the caller provides.
//!
//! Engines use buffers and tables that the caller allocated: `static` arrays on a microcontroller,
//! boxed slices on a host. They are generic over the *kind* of memory, never over its size, so that
//! code is not compiled once per buffer size.

/// A buffer of bytes that an engine owns or borrows exclusively. Its length must not change while
/// an engine holds it.
pub trait Bytes: AsRef<[u8]> + AsMut<[u8]> {}
impl<T: AsRef<[u8]> + AsMut<[u8]>> Bytes for T {}

/// A kind of memory: how a caller holds byte buffers and tables. On a host the natural
/// implementation uses `Box<[u8]>` and `Box<[T]>`.
pub trait Memory {
    /// A buffer of bytes.
    type Buffer: Bytes;
    /// A table of `T`, of fixed length.
    type Table<T: 'static>: AsRef<[T]> + AsMut<[T]>;
    /// Whether a node with this kind of memory forwards packets of other nodes: `bool` if
    /// its configuration decides, [`NeverForwards`] if the node can only be a leaf.
    type Forwards: Forwarding;

    /// Whether nodes with this kind of memory can be routers. If not, the compiler omits the code
    /// for forwarding, registrations, packets of sleepy neighbours, ECN marks by random early
    /// detection, the limit for unresolved neighbours, queue statistics, pauses in which neighbours
    /// forward a datagram, and SYN cookies.
    const ROUTES: bool = Self::Forwards::IS_POSSIBLE;

    /// Whether nodes with this kind of memory can have a radio. If not, all packets pass through
    /// the node's host side, and the compiler omits the code of the link and of neighbour
    /// discovery.
    const HAS_RADIO: bool = true;

    /// Whether nodes with this kind of memory can have UDP sockets. If not, the compiler omits the
    /// code for UDP sockets.
    const HAS_UDP: bool = true;

    /// Whether nodes with this kind of memory can reassemble IPv6 fragments (RFC 8200 §4.5). If
    /// not, the compiler omits the code for reassembly.
    const JOINS_FRAGMENTS: bool = false;
}

/// The type of a setting that makes a node forward packets of other nodes.
pub trait Forwarding: Copy + Default + Into<bool> {
    /// Whether this type has a value that converts to `true`.
    const IS_POSSIBLE: bool;
}

impl Forwarding for bool {
    const IS_POSSIBLE: bool = true;
}

/// The setting of a node that can only be a leaf: it never forwards packets of other nodes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NeverForwards;

impl Forwarding for NeverForwards {
    const IS_POSSIBLE: bool = false;
}

impl From<NeverForwards> for bool {
    fn from(_: NeverForwards) -> bool {
        false
    }
}

/// A kind of memory whose tables and buffers are references to `static` storage.
pub trait StaticKind: Memory<Buffer = &'static mut [u8]> {
    /// Makes a table of this kind from a static slice.
    fn table<T: 'static>(table: &'static mut [T]) -> Self::Table<T>;
}

/// Memory in `static` storage, as on a microcontroller.
#[derive(Debug)]
pub enum StaticMemory {}

impl Memory for StaticMemory {
    type Buffer = &'static mut [u8];
    type Table<T: 'static> = &'static mut [T];
    type Forwards = bool;
}

impl StaticKind for StaticMemory {
    fn table<T: 'static>(table: &'static mut [T]) -> Self::Table<T> {
        table
    }
}

/// Memory in `static` storage of a node that is only a leaf.
#[derive(Debug)]
pub enum LeafMemory {}

impl Memory for LeafMemory {
    type Buffer = &'static mut [u8];
    type Table<T: 'static> = &'static mut [T];
    type Forwards = NeverForwards;
}

impl StaticKind for LeafMemory {
    fn table<T: 'static>(table: &'static mut [T]) -> Self::Table<T> {
        table
    }
}

/// Memory in `static` storage of a node without a radio, all of whose packets pass through its host
/// side.
#[derive(Debug)]
pub enum HostMemory {}

impl Memory for HostMemory {
    type Buffer = &'static mut [u8];
    type Table<T: 'static> = &'static mut [T];
    type Forwards = NeverForwards;

    const HAS_RADIO: bool = false;
}

impl StaticKind for HostMemory {
    fn table<T: 'static>(table: &'static mut [T]) -> Self::Table<T> {
        table
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    /// Returns the abilities of a node with memory `M`: routes, a radio, UDP sockets, fragments.
    fn abilities<M: Memory>() -> [bool; 4] {
        [M::ROUTES, M::HAS_RADIO, M::HAS_UDP, M::JOINS_FRAGMENTS]
    }

    #[test]
    fn the_kind_of_memory_decides_which_code_is_compiled() {
        assert_eq!(abilities::<StaticMemory>(), [true, true, true, false]);
        assert_eq!(abilities::<LeafMemory>(), [false, true, true, false]);
        assert_eq!(abilities::<HostMemory>(), [false, false, true, false]);
        assert!(!bool::from(NeverForwards) && !bool::default());
    }

    #[test]
    fn a_table_of_each_kind_is_the_slice_it_was_made_from() {
        fn check<M: StaticKind>() {
            let slice = std::boxed::Box::leak(std::boxed::Box::new([1_u32, 2, 3]));
            let place = slice.as_ptr();
            let mut table = M::table(slice);
            table.as_mut()[1] = 7;
            assert_eq!(table.as_ref(), [1, 7, 3]);
            assert_eq!(table.as_ref().as_ptr(), place);
        }
        check::<StaticMemory>();
        check::<LeafMemory>();
        check::<HostMemory>();
    }
}
