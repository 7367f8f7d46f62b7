//! Search for the pairs of nodes within reach of each other, without a comparison of all pairs.
//! Nodes are sorted into square cells as wide as the reach, and only the nine cells around a node
//! are searched.

/// Calls `found(a, b, distance)` for every ordered pair of different points at most `reach` apart:
/// in ascending order of `a`, then of `b`.
pub fn for_each_pair_within(
    points: &[(f64, f64)],
    reach: f64,
    mut found: impl FnMut(usize, usize, f64),
) {
    // The width has a minimum, because a tiny reach would create a huge number of cells.
    let width = reach.max(1e-3);
    let cell = |(x, y): (f64, f64)| -> (i64, i64) {
        (libm::floor(x / width) as i64, libm::floor(y / width) as i64)
    };
    let mut sorted: Vec<((i64, i64), usize)> = points
        .iter()
        .enumerate()
        .map(|(index, point)| (cell(*point), index))
        .collect();
    sorted.sort_unstable();

    let mut near: Vec<usize> = Vec::new();
    for (a, &point) in points.iter().enumerate() {
        near.clear();
        let (cx, cy) = cell(point);
        for x in cx.saturating_sub(1)..=cx.saturating_add(1) {
            // The three cells of a column are adjacent in `sorted`.
            let first = sorted.partition_point(|(cell, _)| *cell < (x, cy.saturating_sub(1)));
            let column = &sorted[first..];
            near.extend(
                column
                    .iter()
                    .take_while(|(cell, _)| *cell <= (x, cy.saturating_add(1)))
                    .map(|(_, index)| *index),
            );
        }
        near.sort_unstable();
        for &b in &near {
            let distance = distance(point, points[b]);
            if a != b && distance <= reach {
                found(a, b, distance);
            }
        }
    }
}

fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
    libm::hypot(a.0 - b.0, a.1 - b.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Rng;

    #[test]
    fn finds_the_pairs_of_an_exhaustive_search() {
        let mut rng = Rng::new(3);
        let mut coordinate = || f64::from(rng.below(2_000)) / 10.0 - 100.0;
        let points: Vec<_> = (0..200).map(|_| (coordinate(), coordinate())).collect();
        for reach in [0.0, 7.5, 40.0, 1_000.0] {
            let mut expected = Vec::new();
            for (a, &p) in points.iter().enumerate() {
                for (b, &q) in points.iter().enumerate() {
                    if a != b && distance(p, q) <= reach {
                        expected.push((a, b));
                    }
                }
            }
            let mut pairs = Vec::new();
            for_each_pair_within(&points, reach, |a, b, _| pairs.push((a, b)));
            assert_eq!(pairs, expected, "reach {reach}");
        }
    }
}
