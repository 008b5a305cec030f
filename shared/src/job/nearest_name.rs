//! "Did you mean": the known name that a mistyped one is closest to.

/// Longer names are not compared: they are no typing mistakes, and the comparison is quadratic.
const MAX_COMPARED_CHARS: usize = 48;

/// The known name that `name` was probably meant to be.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().count() > MAX_COMPARED_CHARS {
        return None;
    }
    let folded = fold(name);
    known
        .into_iter()
        .map(|candidate| (distance(&folded, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `user_id`, `user-id`, `UserID` and `userId` are one name in the eyes of a sender.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|character| !matches!(character, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Optimal string alignment: insertions, deletions, replacements and swapped neighbours.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut two_back = vec![0; right.len() + 1];
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for (row, &l) in left.iter().enumerate() {
        let mut current = vec![row + 1; right.len() + 1];
        for (column, &r) in right.iter().enumerate() {
            let mut best = (previous[column] + usize::from(l != r)).min(previous[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && l == right[column - 1] && left[row - 1] == r {
                best = best.min(two_back[column - 1] + 1);
            }
            current[column + 1] = best;
        }
        two_back = std::mem::replace(&mut previous, current);
    }
    previous[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["deliveryId", "templateId", "userId", "to"];

    #[test]
    fn other_spellings_and_small_mistakes_are_recognised() {
        for (typed, meant) in [
            ("user_id", "userId"),
            ("UserID", "userId"),
            ("usreId", "userId"),
            ("templatId", "templateId"),
            ("delivery-id", "deliveryId"),
            ("too", "to"),
        ] {
            assert_eq!(nearest(typed, KNOWN), Some(meant), "{typed}");
        }
    }

    #[test]
    fn unrelated_names_are_not_guessed_at() {
        for typed in ["address", "", "cc", "x"] {
            assert_eq!(nearest(typed, ["deliveryId", "templateId", "userId"]), None, "{typed}");
        }
        assert_eq!(nearest(&"u".repeat(100_000), KNOWN), None);
    }

    #[test]
    fn swapped_neighbours_count_as_one_mistake() {
        assert_eq!(distance(&['a', 'b'], &['b', 'a']), 1);
        assert_eq!(distance(&[], &['b', 'a']), 2);
        assert_eq!(distance(&['k'], &['k']), 0);
    }
}
