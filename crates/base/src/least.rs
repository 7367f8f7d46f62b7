//! The minimum of an iterator.

/// Returns the item with the smallest key, the first if several have it. `min_by_key` contains the
/// code of the caller's iterator twice, for the first item and for the others.
pub fn least<K: PartialOrd, T>(items: impl IntoIterator<Item = (K, T)>) -> Option<T> {
    let mut least: Option<(K, T)> = None;
    for (key, item) in items {
        if least.as_ref().is_none_or(|(least, _)| key < *least) {
            least = Some((key, item));
        }
    }
    Some(least?.1)
}

#[cfg(test)]
mod tests {
    use super::least;

    #[test]
    fn the_first_of_the_least_is_found() {
        assert_eq!(least([(3, 'a'), (1, 'b'), (2, 'c'), (1, 'd')]), Some('b'));
        assert_eq!(least::<u8, char>([]), None);
    }
}
