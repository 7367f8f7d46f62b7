//! Copying without a panic.

/// Copies what fits of `from` to the front of `to`; says how much.
pub(crate) fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let len = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) {
        to.copy_from_slice(from);
    }
    len
}
