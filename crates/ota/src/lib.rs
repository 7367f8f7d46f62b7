//! What a leaf does to fetch a firmware image over the air: HTTP/1.1 with ranges
//! (RFC 9110 §14), gone on with from what is in flash after a connection that was lost, a
//! reboot, or a new parent.
//!
//! There is no I/O here, no clock and no heap. [`Fetch`] makes the request of one connection
//! and reads its answer; [`Pages`] makes pages of flash of the bytes that come. What outlives
//! a reboot is [`Have`], which is to be kept beside the image: how much of it is written,
//! how long it is, and the server's name for its version, so that no half of one image is
//! ever joined with half of another.
//!
//! ```
//! use redpoll_ota::{Fetch, Have, Pages};
//!
//! let (mut flash, mut page) = (Vec::new(), [0; 4]);
//! let mut have = Have::default();
//! let answers: [&[u8]; 2] = [
//!     // The connection breaks behind seven bytes.
//!     b"HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 9\r\n\r\nfirmwar",
//!     b"HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes 4-8/9\r\n\
//!       Content-Length: 5\r\n\r\nware!",
//! ];
//! for answer in answers {
//!     let mut fetch = Fetch::new(have);
//!     let mut request = [0; 128];
//!     let len = fetch.request("server", "/image", &mut request).unwrap();
//!     assert_eq!(request[..len].windows(6).any(|at| at == b"Range:"), have.bytes > 0);
//!
//!     let taken = fetch.head(answer).unwrap().expect("the head is whole");
//!     let mut pages = Pages::new(&mut page, fetch.offset());
//!     let body = fetch.body(&answer[taken..]);
//!     pages.push(body, |_, page| Ok::<_, ()>(flash.extend_from_slice(page))).unwrap();
//!     if fetch.is_whole() {
//!         pages.finish(|_, page| Ok::<_, ()>(flash.extend_from_slice(page))).unwrap();
//!     }
//!     have = fetch.have(pages.durable());
//! }
//! assert!(have.is_whole());
//! assert_eq!(flash, b"firmware!");
//! ```
//!
//! | I want to change | open |
//! | --- | --- |
//! | what is asked, and what an answer may say | `fetch.rs` |
//! | which heads of answers are understood | `head.rs` |
//! | when flash is written | `pages.rs` |
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]
#![warn(missing_docs)]

mod fetch;
mod head;
mod pages;

pub use fetch::{Fetch, HEAD_MAX, Have, Refused, TooLong};
pub use head::{ETAG_MAX, ETag};
pub use pages::Pages;
