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

/// Lengths of one namespace's text at each [`Detail`], in characters.
pub(super) type Lengths = [usize; 4];

/// Chooses a detail for each namespace; `None` if not even the pointers fit into `room`.
///
/// All names come before any signature, and all signatures before any description. Where not all fit, those
/// that cost least are shown, so that as many namespaces as possible are.
pub(super) fn fit(lengths: &[Lengths], room: usize) -> Option<Vec<Detail>> {
    let mut used: usize = lengths.iter().map(|lengths| lengths[0]).sum();
    if used > room {
        return None;
    }
    let mut chosen = vec![Detail::Pointer; lengths.len()];
    for next in [Detail::Names, Detail::Brief, Detail::Full] {
        let at = next as usize;
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&index| lengths[index][at]);
        for index in order {
            let step = used - lengths[index][chosen[index] as usize] + lengths[index][at];
            if chosen[index] as usize + 1 == at && step <= room {
                chosen[index] = next;
                used = step;
            }
        }
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_shown_where_it_fits() {
        let lengths = [[1, 10, 50, 100], [1, 10, 60, 200]];
        assert_eq!(fit(&lengths, 300), Some(vec![Detail::Full; 2]));
    }

    #[test]
    fn names_come_before_signatures_and_these_before_descriptions() {
        let lengths = [[1, 10, 50, 100], [1, 10, 60, 200]];
        let fitted = |room| fit(&lengths, room);
        assert_eq!(fitted(299), Some(vec![Detail::Full, Detail::Brief]));
        assert_eq!(fitted(110), Some(vec![Detail::Brief; 2]));
        assert_eq!(fitted(60), Some(vec![Detail::Brief, Detail::Names]));
        assert_eq!(fitted(20), Some(vec![Detail::Names; 2]));
        assert_eq!(fitted(11), Some(vec![Detail::Names, Detail::Pointer]));
        assert_eq!(fitted(1), None);
    }
}
