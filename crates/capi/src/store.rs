//! The kind of memory of the nodes, by which the compiler omits code for absent features.

use redpoll_base::Memory;
#[cfg(not(feature = "radio"))]
use redpoll_base::NeverForwards;

/// The memory that the caller passes, valid during the life of a node.
#[derive(Debug)]
pub enum Store {}

impl Memory for Store {
    type Buffer = &'static mut [u8];
    type Table<T: 'static> = &'static mut [T];
    #[cfg(feature = "radio")]
    type Forwards = bool;
    #[cfg(not(feature = "radio"))]
    type Forwards = NeverForwards;

    const HAS_RADIO: bool = cfg!(feature = "radio");
    const HAS_UDP: bool = cfg!(feature = "full");
}
