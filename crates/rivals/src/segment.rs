//! Reading segments whose checksum is not checked.

use redpoll_tcp::Segment;
use redpoll_wire::tcp::HeaderView;

/// Parses the segment in `bytes`; `None` if a length in its header is invalid.
pub(crate) fn parse_unverified(bytes: &[u8]) -> Option<Segment<'_>> {
    let header = HeaderView::parse(bytes).ok()?;
    Some(Segment::unverified(&header))
}
