//! Bytes as hexadecimal digits.

use std::fmt::Write as _;

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("memory");
        text
    })
}

pub(crate) fn from_hexadecimal(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| digit.try_into().ok())
                .expect("a digit")
        })
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect()
}
