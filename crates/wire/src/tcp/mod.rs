//! The TCP header (RFC 9293 §3.1), its options (RFC 9293 §3.2) and sequence numbers
//! (RFC 9293 §3.4).
//!
//! [`HeaderView`] reads a header in place, with checked lengths. [`OptionList`] reads
//! its options, either [strictly](OptionList::strict) or as a
//! [receiver](OptionList::lenient). The crate `redpoll-tcp` processes headers and options.
//!
//! ```
//! use redpoll_wire::tcp::{Flags, HeaderView, SeqNum};
//!
//! let syn = [
//!     0xc0, 0, 0, 80, 0, 0, 0, 7, 0, 0, 0, 0, 0x60, 0x02, 0x10, 0, 0, 0, 0, 0, // fixed part
//!     2, 4, 1, 206, // maximum segment size: 462 bytes
//! ];
//! let header = HeaderView::parse(&syn)?;
//! assert_eq!((header.dst_port(), header.seq()), (80, SeqNum(7)));
//! assert_eq!(header.flags(), Flags::SYN);
//! assert_eq!(header.options().lenient().next(), Some((2, &[1, 206][..])));
//! # Ok::<(), redpoll_wire::Error>(())
//! ```

mod flags;
mod header;
mod options;
mod seq;

#[cfg(test)]
mod tests;

pub use flags::Flags;
pub use header::{HeaderView, is_checksum_valid, two_words};
pub use options::{LenientOptions, OptionItem, OptionList, StrictOptions, kind};
pub use seq::{SeqNum, SeqRange};
