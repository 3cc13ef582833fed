//! Chooses how much of each namespace is shown, so that the whole fits the budget.

/// How much of a namespace is shown, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// Its name and the number of its functions.
    Pointer,
    /// The names of its functions.
    Names,
    /// Signatures and first sentences.
    Brief,
    /// Everything.
    Full,
}

/// Lengths of one namespace's text at each [`Detail`], in characters; `None` is longer than any budget.
pub(super) type Lengths = [Option<usize>; 4];

/// Chooses a detail for each namespace; `None` if not even the pointers fit into `room`.
///
/// All names come before any signature, and all signatures before any description. Where not all fit, those
/// that cost least are shown, so that as many namespaces as possible are.
pub(super) fn fit(lengths: &[Lengths], room: usize) -> Option<Vec<Detail>> {
    let mut used = lengths
        .iter()
        .map(|lengths| lengths[0])
        .sum::<Option<usize>>()
        .filter(|used| *used <= room)?;
    let mut chosen = vec![Detail::Pointer; lengths.len()];
    for (last, next) in [
        (Detail::Pointer, Detail::Names),
        (Detail::Names, Detail::Brief),
        (Detail::Brief, Detail::Full),
    ] {
        let mut order: Vec<_> = (0..lengths.len())
            .filter(|&index| chosen[index] == last)
            .filter_map(|index| Some((lengths[index][next as usize]?, index)))
            .collect();
        order.sort_unstable();
        for (length, index) in order {
            let now = lengths[index][last as usize].unwrap_or_default();
            let then = used - now + length;
            if then <= room {
                chosen[index] = next;
                used = then;
            }
        }
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: [Lengths; 2] = [
        [Some(1), Some(10), Some(50), Some(100)],
        [Some(1), Some(10), Some(60), Some(200)],
    ];

    #[test]
    fn everything_is_shown_where_it_fits() {
        assert_eq!(fit(&TWO, 300), Some(vec![Detail::Full; 2]));
    }

    #[test]
    fn names_come_before_signatures_and_these_before_descriptions() {
        let fitted = |room| fit(&TWO, room);
        assert_eq!(fitted(299), Some(vec![Detail::Full, Detail::Brief]));
        assert_eq!(fitted(110), Some(vec![Detail::Brief; 2]));
        assert_eq!(fitted(60), Some(vec![Detail::Brief, Detail::Names]));
        assert_eq!(fitted(20), Some(vec![Detail::Names; 2]));
        assert_eq!(fitted(11), Some(vec![Detail::Names, Detail::Pointer]));
        assert_eq!(fitted(1), None);
    }

    #[test]
    fn what_is_longer_than_any_budget_is_shown_by_its_names() {
        let lengths = [TWO[0], [Some(1), Some(10), None, None]];
        assert_eq!(
            fit(&lengths, usize::MAX),
            Some(vec![Detail::Full, Detail::Names])
        );
    }
}
