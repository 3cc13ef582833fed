//! How an error of a function becomes an exception in the model's program.

use std::{any::type_name, fmt::Display};

use codehatch_tools::ToolFault;

/// The kind of an error whose type has no name of its own.
const UNNAMED: &str = "ToolError";

/// A failure of a tool: what kind of error it is, and what it says.
///
/// Any error with a [`Display`] text turns into one (so `?` works); its kind is then its type's name, such
/// as `ParseIntError`. Return it yourself to choose the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    kind: String,
    message: String,
}

impl Failure {
    /// A failure of a kind, such as `NotFound`, with a message for the model.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
        }
    }
}

// As in anyhow, this works because `Failure` itself has no `Display`.
impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(kind_of(type_name::<E>()), error.to_string())
    }
}

impl From<Failure> for ToolFault {
    fn from(failure: Failure) -> Self {
        Self::Failed {
            kind: failure.kind,
            message: failure.message,
        }
    }
}

/// The name by which a Rust type is told apart: its last part, with its module where that is just `Error`.
fn kind_of(path: &str) -> String {
    let bare = path.split('<').next().unwrap_or_default();
    let mut parts = bare.rsplit("::");
    let name = parts.next().unwrap_or_default();
    match (name, parts.find(|part| *part != "error")) {
        ("Error", Some(module)) => format!("{}Error", camel_case(module)),
        ("String" | "Box" | "Cow" | "Arc" | "Report", _) => UNNAMED.to_owned(),
        (name, _) if name.starts_with(char::is_uppercase) => name.to_owned(),
        _ => UNNAMED.to_owned(),
    }
}

fn camel_case(module: &str) -> String {
    let mut out = String::with_capacity(module.len());
    for word in module.split('_') {
        let mut chars = word.chars();
        out.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(chars.as_str());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_called_by_its_type() {
        let parse = "x".parse::<i32>().expect_err("no number");
        assert_eq!(
            Failure::from(parse),
            Failure::new("ParseIntError", "invalid digit found in string")
        );
        let io = std::io::Error::other("disk");
        assert_eq!(Failure::from(io), Failure::new("IoError", "disk"));
        for plain in [Failure::from("text"), Failure::from("text".to_owned())] {
            assert_eq!(plain, Failure::new("ToolError", "text"));
        }
        let boxed: Box<dyn std::error::Error> = "text".into();
        assert_eq!(Failure::from(boxed), Failure::new("ToolError", "text"));
    }

    #[test]
    fn a_general_error_is_called_by_its_crate() {
        assert_eq!(kind_of("serde_json::error::Error"), "SerdeJsonError");
        assert_eq!(kind_of("my_shop::Error"), "MyShopError");
        assert_eq!(kind_of("reqwest::Error<T>"), "ReqwestError");
    }
}
