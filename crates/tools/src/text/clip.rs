//! Cuts text to what a reader is shown.

/// The first `max` characters of `text`, and how many follow.
pub(crate) fn clip(text: &str, max: usize) -> (&str, usize) {
    if text.len() <= max {
        return (text, 0);
    }
    match text.char_indices().nth(max) {
        None => (text, 0),
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
    }
}

/// The first sentence of `text`: up to a full stop before white space, or the first blank line.
pub(crate) fn first_sentence(text: &str) -> &str {
    let text = text.trim_start();
    let paragraph = text.find("\n\n").map_or(text, |end| &text[..end]);
    let bytes = paragraph.as_bytes();
    let end = bytes
        .windows(2)
        .position(|pair| matches!(pair, [b'.' | b'!' | b'?', b' ' | b'\n' | b'\t' | b'\r']));
    end.map_or(paragraph, |end| &paragraph[..=end]).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_and_the_rest_is_counted() {
        assert_eq!(clip("äöü", 3), ("äöü", 0));
        assert_eq!(clip("äöüß", 3), ("äöü", 1));
        assert_eq!(clip("", 0), ("", 0));
    }

    #[test]
    fn a_sentence_ends_at_a_stop_before_space_or_at_a_blank_line() {
        assert_eq!(
            first_sentence("Reads v1.2 files. Then more."),
            "Reads v1.2 files."
        );
        assert_eq!(first_sentence("Title\n\nBody."), "Title");
        assert_eq!(first_sentence("No stop"), "No stop");
    }
}
