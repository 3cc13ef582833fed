//! Finds how far a string or a number goes on without anything special in it, many bytes at a time.

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Bytes at the start of `bytes` that a JSON string holds as they are: up to the first `"`, `\` or control
/// character.
///
/// Most strings end within a few bytes, so the first 64 go by words of 8, without a set-up cost. Longer ones go by
/// blocks of 64, which the compiler turns into vector instructions.
#[inline]
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    let (head, tail) = bytes.split_at(bytes.len().min(64));
    match first_special(head) {
        Some(at) => at,
        None if tail.is_empty() => bytes.len(),
        None => head.len().saturating_add(long_run(tail)),
    }
}

/// Digits at the start of `bytes`, a word of 8 at a time.
#[inline]
pub(crate) fn digit_run(bytes: &[u8]) -> usize {
    let mut run = 0usize;
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let values = u64::from_le_bytes(*word) ^ ONES.wrapping_mul(0x30);
        // The values of digits are below 10. Only what is none carries into the byte above it.
        let no_digit = (values.wrapping_add(ONES.wrapping_mul(0x76)) | values) & HIGHS;
        if no_digit != 0 {
            return run.saturating_add(lowest_byte(no_digit));
        }
        run = run.saturating_add(8);
        rest = tail;
    }
    let tail = rest.iter().take_while(|byte| byte.is_ascii_digit());
    run.saturating_add(tail.count())
}

#[inline(never)]
fn long_run(bytes: &[u8]) -> usize {
    let (blocks, tail) = bytes.as_chunks::<64>();
    let mut run = 0usize;
    for block in blocks {
        if block
            .iter()
            .fold(false, |found, &byte| found | is_special(byte))
        {
            return run.saturating_add(first_special(block).unwrap_or_default());
        }
        run = run.saturating_add(block.len());
    }
    run.saturating_add(first_special(tail).unwrap_or(tail.len()))
}

#[inline]
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut at = 0usize;
    for word in words {
        let found = special_bits(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at.saturating_add(lowest_byte(found)));
        }
        at = at.saturating_add(8);
    }
    let found = tail.iter().position(|&byte| is_special(byte))?;
    Some(at.saturating_add(found))
}

/// The place of the lowest byte that is marked by its highest bit.
#[inline]
fn lowest_byte(marks: u64) -> usize {
    usize::try_from(marks.trailing_zeros() / 8).unwrap_or_default()
}

/// Sets the highest bit of each byte that is special. Bytes above the lowest such one may be wrongly set, since
/// subtracting borrows from them; the lowest is right.
#[inline]
fn special_bits(word: u64) -> u64 {
    let quote = word ^ (ONES.wrapping_mul(0x22));
    let backslash = word ^ (ONES.wrapping_mul(0x5C));
    let below_space = word.wrapping_sub(ONES.wrapping_mul(0x20)) & !word;
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    (below_space | is_quote | is_backslash) & HIGHS
}

#[inline]
fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_byte_is_judged_right_at_each_place_of_a_long_text() {
        for at in 0..200 {
            for byte in 0..=u8::MAX {
                let mut text = [b'x'; 200];
                if let Some(place) = text.get_mut(at) {
                    *place = byte;
                }
                let expected = if is_special(byte) { at } else { text.len() };
                assert_eq!(plain_run(&text), expected, "byte {byte} at {at}");
            }
        }
    }

    #[test]
    fn each_byte_is_told_from_a_digit_at_each_place() {
        for at in 0..20 {
            for byte in 0..=u8::MAX {
                let mut text = *b"09876543210987654321";
                if let Some(place) = text.get_mut(at) {
                    *place = byte;
                }
                let expected = if byte.is_ascii_digit() {
                    text.len()
                } else {
                    at
                };
                assert_eq!(digit_run(&text), expected, "byte {byte} at {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_run_ends_where_a_byte_by_byte_search_ends_it(bytes in prop::collection::vec(any::<u8>(), 0..300), skip in 0usize..64) {
            let bytes = bytes.get(skip..).unwrap_or_default();
            let expected = bytes.iter().position(|&byte| is_special(byte)).unwrap_or(bytes.len());
            prop_assert_eq!(plain_run(bytes), expected);
        }
    }
}
