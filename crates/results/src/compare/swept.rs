//! Points of sweeps by their varied keys. The name of a case consists of its scenario and the
//! changed keys, such as `line-3 mac.min_be=1 tcp.mss=4 frames`. A key with several values among
//! the cases of a file was swept; a key with one value was set.

use std::collections::BTreeMap;

/// The scenario and the changed keys in a case's name.
#[derive(Debug, PartialEq)]
pub(crate) struct Point<'n> {
    pub(crate) scene: &'n str,
    pub(crate) keys: BTreeMap<&'n str, &'n str>,
}

impl<'n> Point<'n> {
    /// Parses a name. A value may contain spaces, a key does not.
    pub(crate) fn of(name: &'n str) -> Point<'n> {
        let starts = name.match_indices(' ').filter(|(at, _)| {
            let word = name[at + 1..].split(' ').next().unwrap_or_default();
            word.split_once('=').is_some_and(|(key, _)| is_key(key))
        });
        let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
        let ends = starts.iter().skip(1).copied().chain([name.len()]);
        let keys = starts.iter().zip(ends).filter_map(|(start, end)| {
            let pair = name.get(start + 1..end)?;
            pair.split_once('=')
        });
        Point {
            scene: starts.first().map_or(name, |first| &name[..*first]),
            keys: keys.collect(),
        }
    }

    fn at(&self, keys: &[&str]) -> Vec<Option<&'n str>> {
        keys.iter().map(|key| self.keys.get(key).copied()).collect()
    }

    fn rest(&self, without: &[&str]) -> String {
        let kept = self.keys.iter().filter(|(key, _)| !without.contains(key));
        kept.fold(self.scene.to_owned(), |text, (key, value)| {
            format!("{text} {key}={value}")
        })
    }
}

/// Returns the values of `keys` at a point as text, or its scenario if there are no keys.
pub(crate) fn short_name(point: &Point<'_>, keys: &[&str]) -> String {
    let words = keys.iter().map(|key| {
        let value = point.keys.get(key).copied().unwrap_or("default");
        format!("{key} = {value}")
    });
    match words.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => point.scene.to_owned(),
        words => words,
    }
}

fn is_key(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(is_part)
}

/// Returns the keys that have several values among the points.
pub(crate) fn swept<'n>(points: &[Point<'n>]) -> Vec<&'n str> {
    let mut keys: Vec<&str> = points
        .iter()
        .flat_map(|it| it.keys.keys().copied())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|key| {
        points
            .iter()
            .any(|it| it.keys.get(key) != points[0].keys.get(key))
    });
    keys
}

/// Pairs the cases of two sweeps over the same keys that have equal values of these keys. The name
/// of a pair has these values and the other settings of both cases. Returns no pairs if the swept
/// keys differ or no key is swept.
pub(super) fn pairs(a: &[String], b: &[String]) -> Vec<(String, [usize; 2])> {
    let [of_a, of_b] = [a, b].map(|names| -> Vec<Point<'_>> {
        let points = names.iter().map(|name| Point::of(name));
        points.collect()
    });
    let keys = swept(&of_a);
    if keys.is_empty() || keys != swept(&of_b) {
        return Vec::new();
    }
    let found = of_a.iter().enumerate().filter_map(|(at, point)| {
        let values = point.at(&keys);
        let mut same = of_b
            .iter()
            .enumerate()
            .filter(|(_, it)| it.at(&keys) == values);
        let (place, other) = same.next()?;
        let words = keys
            .iter()
            .zip(values)
            .filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        let words: Vec<String> = words.collect();
        let name = format!(
            "{}: {} and {}",
            words.join(" "),
            point.rest(&keys),
            other.rest(&keys)
        );
        Some((name, [at, place]))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &[&str]) -> Vec<String> {
        text.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn names_are_taken_apart() {
        let point = Point::of("line-3 mac.min_be=1 tcp.mss=4 frames nodes.node-1.role=border");
        assert_eq!(point.scene, "line-3");
        let keys = [
            ("mac.min_be", "1"),
            ("nodes.node-1.role", "border"),
            ("tcp.mss", "4 frames"),
        ];
        assert_eq!(point.keys, BTreeMap::from(keys));
        assert_eq!(Point::of("two words").scene, "two words");
    }

    #[test]
    fn sweeps_over_the_same_keys_meet_where_their_values_do() {
        let a = names(&[
            "line-3 tcp.mss=2 frames",
            "line-3 tcp.mss=4 frames",
            "line-3 tcp.mss=5 frames",
        ]);
        let b = names(&[
            "line-3 mac.min_be=1 tcp.mss=4 frames",
            "line-3 mac.min_be=1 tcp.mss=2 frames",
        ]);
        let found = pairs(&a, &b);
        let places: Vec<[usize; 2]> = found.iter().map(|(_, places)| *places).collect();
        assert_eq!(places, [[0, 1], [1, 0]]);
        assert_eq!(
            found[0].0,
            "tcp.mss=2 frames: line-3 and line-3 mac.min_be=1"
        );
    }

    #[test]
    fn sweeps_over_other_keys_do_not() {
        let a = names(&["line-3 tcp.mss=2 frames", "line-3 tcp.mss=4 frames"]);
        let b = names(&["line-3 mac.min_be=1", "line-3 mac.min_be=2"]);
        assert_eq!(pairs(&a, &b), []);
        assert_eq!(
            pairs(&names(&["office", "line-3"]), &names(&["pair", "line-2"])),
            []
        );
    }
}
