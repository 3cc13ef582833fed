//! Short hashes that tell names apart.

use sha2::{Digest as _, Sha256};

/// RFC 4648's base 32 in lower case: every digit may stand in an identifier.
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The first `len` characters (at most 26) of the hash of `parts`, five bits each.
pub(crate) fn suffix(parts: &[&[u8]], len: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // The length keeps ("a", "bc") and ("ab", "c") apart.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let bytes = hash.finalize();
    let mut bits = bytes
        .iter()
        .take(16)
        .fold(0u128, |bits, &byte| bits << 8 | u128::from(byte));
    let mut out = String::with_capacity(len);
    for _ in 0..len {
        out.push(char::from(DIGITS[(bits & 31) as usize]));
        bits >>= 5;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_never_changes_between_releases() {
        assert_eq!(suffix(&[b"doc.get"], 6), suffix(&[b"doc.get"], 26)[..6]);
        assert_eq!(suffix(&[b"doc.get"], 6), "vkhtdu");
    }

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(suffix(&[b"a", b"bc"], 26), suffix(&[b"ab", b"c"], 26));
    }
}
