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
    /// detection, the limit for unresolved neighbours, queue statistics, pauses for forwarding
    /// neighbours, and SYN cookies.
    const ROUTES: bool = Self::Forwards::IS_POSSIBLE;

    /// Whether nodes with this kind of memory can have a radio. If not, all packets of a node pass
    /// its host side, and the compiler omits the code of the link and of neighbour discovery.
    const HAS_RADIO: bool = true;

    /// Whether nodes with this kind of memory can have UDP sockets. If not, the compiler omits the
    /// code.
    const HAS_UDP: bool = true;

    /// Whether nodes with this kind of memory can reassemble IPv6 fragments (RFC 8200 §4.5). If
    /// not, the compiler omits the code.
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

/// Memory in `static` storage of a node without a radio, all of whose packets pass its host side.
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
