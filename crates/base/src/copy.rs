//! Copying without a panic.

/// Copies what fits of `from` to the front of `to`; says how much.
///
/// `copy_from_slice` panics where the lengths differ, and the optimiser leaves
/// that in where it cannot prove that they never do.
pub fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let len = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) {
        to.copy_from_slice(from);
    }
    len
}

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn what_fits_is_copied() {
        let mut to = [0; 3];
        assert_eq!((copy(&[1, 2, 3, 4], &mut to), to), (3, [1, 2, 3]));
        assert_eq!((copy(&[9], &mut to), to), (1, [9, 2, 3]));
        assert_eq!((copy(&[], &mut to), copy(&[7], &mut [])), (0, 0));
    }
}
