//! Docstrings: what a tool says of itself, as text that `help()` shows unchanged.

use super::visible::{is_hidden, is_plain, push_escape};

/// Writes one docstring into `out`, four spaces in. Lines are added in order; [`Docstring::end`] closes it.
///
/// More than one line starts on the line below the quotes, so that `inspect.getdoc` finds the right margin
/// whatever the text's own indentation is, and no line of it ever starts at column 0.
#[derive(Debug)]
pub(crate) struct Docstring<'o> {
    out: &'o mut String,
    /// Blank lines that were asked for and are written only if text follows.
    blank: usize,
    /// Where the literal and its text start, once there is one.
    first: Option<(usize, usize)>,
    /// Whether there is a second line.
    many: bool,
}

impl<'o> Docstring<'o> {
    pub(crate) fn new(out: &'o mut String) -> Self {
        Self {
            out,
            blank: 0,
            first: None,
            many: false,
        }
    }

    /// Bytes written so far, with what stood before.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// Adds a blank line, unless nothing stands before or after it.
    pub(crate) fn blank(&mut self) {
        if self.first.is_some() {
            self.blank = 1;
        }
    }

    /// Adds text that may have several lines. Space at the ends of lines is dropped.
    pub(crate) fn text(&mut self, text: &str) {
        for line in text.split('\n') {
            let line = line.trim_end();
            if line.is_empty() {
                self.blank += usize::from(self.first.is_some());
            } else {
                self.line("", line);
            }
        }
    }

    /// Adds one line, `indent` deeper than the text. Line ends in `text` are shown as escapes.
    pub(crate) fn line(&mut self, indent: &str, text: &str) {
        let literal = self.out.len();
        if self.first.is_none() {
            self.out.push_str("    \"\"\"");
        } else {
            self.many = true;
        }
        for _ in 0..=self.blank {
            self.out.push('\n');
        }
        self.blank = 0;
        self.out.push_str("    ");
        self.out.push_str(indent);
        let start = self.out.len();
        push_escaped(self.out, text);
        self.first.get_or_insert((literal, start));
    }

    /// Closes the docstring. Writes nothing if there was no text.
    pub(crate) fn end(self) {
        let Some((literal, start)) = self.first else {
            return;
        };
        // A quote at the end would join those that close the literal.
        if self.many || self.out.ends_with('"') {
            self.out.push_str("\n    \"\"\"\n");
        } else {
            let only = self.out.split_off(start);
            self.out.truncate(literal);
            self.out.push_str("    \"\"\"");
            self.out.push_str(&only);
            self.out.push_str("\"\"\"\n");
        }
    }
}

/// Appends one line for a literal in three double quotes.
fn push_escaped(out: &mut String, text: &str) {
    if is_plain(text, [b'"', b'\\', b'\\']) {
        out.push_str(text);
        return;
    }
    let mut quotes = false;
    for c in text.chars() {
        match c {
            // Two quotes never stand together, so three never do.
            '"' if quotes => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("    "),
            c if is_hidden(c) => {
                out.push('\\');
                push_escape(out, c);
            }
            c => out.push(c),
        }
        quotes = c == '"' && !quotes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc(text: &str) -> String {
        let mut out = String::new();
        let mut doc = Docstring::new(&mut out);
        doc.text(text);
        doc.end();
        out
    }

    #[test]
    fn quotes_and_backslashes_cannot_end_the_docstring() {
        assert_eq!(
            doc(r#"Match \d+ in C:\new; say """stop""" or "end""#),
            concat!(
                "    \"\"\"\n",
                "    Match \\\\d+ in C:\\\\new; say \"\\\"\"stop\"\\\"\" or \"end\"\n",
                "    \"\"\"\n"
            )
        );
    }

    #[test]
    fn no_line_starts_at_column_zero() {
        assert_eq!(
            doc("\n\nOne\r\n  two\n\n\nthree\0\u{2028}x \n\n"),
            "    \"\"\"\n    One\n      two\n\n\n    three\\\\x00\\\\u2028x\n    \"\"\"\n"
        );
    }

    #[test]
    fn a_single_line_stands_between_its_quotes() {
        assert_eq!(doc("Reads. \n"), "    \"\"\"Reads.\"\"\"\n");
        assert_eq!(doc("Ends in \\"), "    \"\"\"Ends in \\\\\"\"\"\n");
    }

    #[test]
    fn no_text_is_no_docstring() {
        assert_eq!(doc(" \n "), "");
    }
}
