//! Which arrays and objects are open, a bit each.

use super::error::JsonFault;

/// Deepest nesting of arrays and objects in one value. Enforced wherever JSON is read or written.
///
/// Python's own encoder gives up near 1,000 levels, so a well-behaved guest never meets this limit.
pub const MAX_NESTING: usize = 1_000;

/// Bits that remember whether each open level is an object. There is room for a level more than the limit.
const STACK_WORDS: usize = MAX_NESTING.div_ceil(64);
const _: () = assert!(STACK_WORDS * 64 > MAX_NESTING);

/// The open arrays and objects of one value.
#[derive(Debug)]
pub(super) struct Levels {
    limit: usize,
    /// Of every open level but the innermost.
    outer: [u64; STACK_WORDS],
    /// Of the innermost level, which is looked at most.
    innermost: bool,
    depth: usize,
    deepest: usize,
}

impl Levels {
    /// Nothing open yet, and at most `limit` levels to come.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            outer: [0; STACK_WORDS],
            innermost: false,
            depth: 0,
            deepest: 0,
        }
    }

    #[inline]
    pub(super) fn open(&mut self, is_object: bool) -> Result<(), JsonFault> {
        if self.depth >= self.limit {
            return Err(JsonFault::TooDeep { limit: self.limit });
        }
        let bit = 1u64 << (self.depth % 64);
        if let Some(word) = self.outer.get_mut(self.depth / 64) {
            *word = if self.innermost {
                *word | bit
            } else {
                *word & !bit
            };
        }
        self.innermost = is_object;
        self.depth = self.depth.saturating_add(1);
        self.deepest = self.deepest.max(self.depth);
        Ok(())
    }

    #[inline]
    pub(super) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        let word = self.outer.get(self.depth / 64).copied().unwrap_or_default();
        self.innermost = word & 1 << (self.depth % 64) != 0;
    }

    /// Whether the innermost open level is an object; `None` if none is open.
    #[inline]
    pub(super) fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.innermost)
    }

    /// The most levels that were ever open at once.
    pub(super) fn deepest(&self) -> u16 {
        u16::try_from(self.deepest).unwrap_or(u16::MAX)
    }
}
