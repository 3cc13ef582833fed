//! A list that is nearly always empty or of one.

/// Keeps its first item in place, so that the usual list costs no memory of its own.
#[derive(Clone, Debug)]
pub(super) struct Few<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self {
            first: None,
            rest: Vec::new(),
        }
    }
}

impl<T: Copy> Few<T> {
    pub(super) fn push(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.rest.push(item);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.first.iter().chain(&self.rest).copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
