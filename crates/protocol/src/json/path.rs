//! Where in a value something is, such as `items[3].name`.

use std::fmt;

use super::text;

/// Steps shown at either end of a long path.
const SHOWN: usize = 8;

/// Characters of a name that are shown.
const SHOWN_NAME: usize = 40;

/// The way from a value down to a part of it. Grows from its lower end, as an error climbs up to its caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    /// Innermost first.
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Index(usize),
    Name(String),
}

impl Path {
    /// The part lies in the element of an array at this index.
    pub(crate) fn in_element(&mut self, index: usize) {
        self.steps.push(Step::Index(index));
    }

    /// The part lies in the member of an object with this name.
    pub(crate) fn in_member(&mut self, name: &str) {
        self.steps.push(Step::Name(shortened(name)));
    }

    /// As [`in_member`](Self::in_member), with the name as it stands between its quotes.
    pub(crate) fn in_raw_member(&mut self, raw_name: &str) {
        self.in_member(&text::decode_lossy(raw_name));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(SHOWN_NAME) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|each| each.is_alphanumeric() || matches!(each, '_' | '-' | '…'))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.steps.len();
        for (place, step) in self.steps.iter().rev().enumerate() {
            let from_end = count.saturating_sub(place);
            if place >= SHOWN && from_end > SHOWN {
                if place == SHOWN {
                    f.write_str("[…]")?;
                }
                continue;
            }
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Name(name) if !is_plain(name) => write!(f, "[{name:?}]")?,
                Step::Name(name) if place == 0 => f.write_str(name)?,
                Step::Name(name) => write!(f, ".{name}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_from_the_outermost_step_inwards() {
        let mut path = Path::default();
        path.in_member("first name");
        path.in_element(3);
        path.in_raw_member(r"it\u0065ms");
        path.in_member("args");
        assert_eq!(path.to_string(), "args.items[3][\"first name\"]");
    }

    #[test]
    fn long_names_and_long_paths_are_cut() {
        let mut path = Path::default();
        path.in_member(&"x".repeat(100));
        for index in 0..1_000 {
            path.in_element(index);
        }
        let middle = "[999][998][997][996][995][994][993][992][…][6][5][4][3][2][1][0]";
        assert_eq!(path.to_string(), format!("{middle}.{}…", "x".repeat(40)));
    }
}
