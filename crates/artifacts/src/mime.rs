//! Media types: guessed from names and bytes, and which of them are text. Never touches the bytes.

/// For bytes that are no text and whose name says nothing.
pub(crate) const BINARY: &str = "application/octet-stream";
/// For text whose name says nothing.
const TEXT: &str = "text/plain";

/// Whether tools pass contents of this type as text; all others go as base64.
///
/// `text/*`, JSON, XML and JavaScript, and what is built on the first two. Parameters do not matter.
pub(crate) fn is_text(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            &*essence,
            "application/json" | "application/xml" | "application/javascript"
        )
}

/// The media type that a name's extension stands for.
pub(crate) fn of_name(name: &str) -> Option<&'static str> {
    let file = name.rsplit('/').next()?;
    let (_, extension) = file.rsplit_once('.')?;
    let sources = match &*extension.to_ascii_lowercase() {
        // The registry has these as video, as `application/…`, or not at all; programs write text to them.
        "ts" | "tsx" => Some("text/x-typescript"),
        "sql" => Some("text/x-sql"),
        "sh" | "bash" => Some("text/x-shellscript"),
        "tex" => Some("text/x-tex"),
        "jsonl" | "ndjson" => Some("text/x-ndjson"),
        "ipynb" => Some("application/json"),
        _ => None,
    };
    sources.or_else(|| mime_guess::from_ext(extension).first_raw())
}

/// Finds out whether bytes that come in pieces are text: valid UTF-8 without control characters other
/// than white space, backspace and escape, as terminals write them.
#[derive(Debug)]
pub(crate) struct TextCheck {
    /// Start of a character that was cut at the end of a piece.
    cut: Vec<u8>,
    text: bool,
}

impl TextCheck {
    pub(crate) fn new() -> Self {
        Self {
            cut: Vec::new(),
            text: true,
        }
    }

    pub(crate) fn add(&mut self, mut piece: &[u8]) {
        // At most three bytes of a character can be missing.
        while self.text && !self.cut.is_empty() && !piece.is_empty() {
            let (head, tail) = piece.split_at(1);
            piece = tail;
            self.cut.extend_from_slice(head);
            match str::from_utf8(&self.cut) {
                Ok(_) => self.cut.clear(),
                Err(fault) => self.text = fault.error_len().is_none(),
            }
        }
        if !self.text {
            return;
        }
        if let Err(fault) = str::from_utf8(piece) {
            self.text = fault.error_len().is_none();
            self.cut.extend_from_slice(&piece[fault.valid_up_to()..]);
        }
        self.text &= !piece.iter().any(|&byte| is_binary(byte));
    }

    pub(crate) fn mime_type(&self) -> &'static str {
        if self.text && self.cut.is_empty() {
            TEXT
        } else {
            BINARY
        }
    }
}

fn is_binary(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_bytes(pieces: &[&[u8]]) -> &'static str {
        let mut check = TextCheck::new();
        for piece in pieces {
            check.add(piece);
        }
        check.mime_type()
    }

    #[test]
    fn names_say_what_they_hold() {
        for (name, mime_type) in [
            ("report.csv", Some("text/csv")),
            ("a.b/plot.PNG", Some("image/png")),
            ("query.sql", Some("text/x-sql")),
            ("app.ts", Some("text/x-typescript")),
            ("data.json", Some("application/json")),
            ("README", None),
            ("x.csv/README", None),
            ("x.unheard-of", None),
        ] {
            assert_eq!(of_name(name), mime_type, "{name}");
        }
    }

    #[test]
    fn text_types_are_told_from_binary_ones() {
        for text in [
            "text/csv",
            "TEXT/plain; charset=utf-8",
            "application/json;v=1",
            "image/svg+xml",
        ] {
            assert!(is_text(text), "{text}");
        }
        for binary in [
            "",
            "image/png",
            "application/octet-stream",
            "application/yaml",
            "json",
        ] {
            assert!(!is_text(binary), "{binary}");
        }
    }

    #[test]
    fn bytes_are_text_only_if_all_of_them_are() {
        assert_eq!(of_bytes(&[]), TEXT);
        assert_eq!(of_bytes(&["\u{feff}a\r\n\u{1b}[1mé".as_bytes()]), TEXT);
        assert_eq!(of_bytes(&[b"a\0b"]), BINARY);
        assert_eq!(of_bytes(&["é".repeat(9).as_bytes(), &[0xc3]]), BINARY);
        assert_eq!(of_bytes(&[&[0xc3], b"a"]), BINARY);
    }

    proptest! {
        #[test]
        fn where_the_pieces_are_cut_does_not_matter(
            text in prop_oneof![any::<String>().prop_map(String::into_bytes), any::<Vec<u8>>()],
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            at.push(text.len());
            at.sort_unstable();
            let mut start = 0;
            let pieces: Vec<&[u8]> = at
                .iter()
                .map(|&end| &text[std::mem::replace(&mut start, end)..end])
                .collect();
            prop_assert_eq!(of_bytes(&pieces), of_bytes(&[&text]));
        }
    }
}
