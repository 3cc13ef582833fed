//! One raw name as one Python identifier, by the rule that stubs have always used.

use std::borrow::Cow;

use super::suffix::suffix;

/// Longest name that a tool, namespace or parameter gets, in characters. A longer one is cut and ends in a
/// hash of the whole. Enforced here.
pub(crate) const MAX_NAME_CHARS: usize = 96;

/// Characters of the hash that a cut name ends in.
const CUT_SUFFIX_CHARS: usize = 8;

/// Whether `name` is one of Python's reserved words. Soft keywords (`match`, `type`, …) are ordinary names.
fn is_keyword(name: &str) -> bool {
    // By length: nearly every name is told apart without looking at it.
    match name.len() {
        2 => matches!(name, "as" | "if" | "in" | "is" | "or"),
        3 => matches!(name, "and" | "def" | "del" | "for" | "not" | "try"),
        4 => matches!(
            name,
            "None" | "True" | "elif" | "else" | "from" | "pass" | "with"
        ),
        5 => matches!(
            name,
            "False" | "async" | "await" | "break" | "class" | "raise" | "while" | "yield"
        ),
        6 => matches!(
            name,
            "assert" | "except" | "global" | "import" | "lambda" | "return"
        ),
        7 => name == "finally",
        8 => matches!(name, "continue" | "nonlocal"),
        _ => false,
    }
}

/// Whether `name` is an ASCII identifier and no keyword.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    matches!(bytes.next(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'_'))
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !is_keyword(name)
}

/// The identifier of a tool: lower case, `tool` if nothing else is left.
pub(crate) fn tool_ident(raw: &str) -> Cow<'_, str> {
    clean(raw, Case::Lower, "tool")
}

/// The identifier of a namespace: lower case, `toolset` if nothing else is left.
pub(crate) fn namespace_ident(raw: &str) -> Cow<'_, str> {
    clean(raw, Case::Lower, "toolset")
}

/// The identifier of a parameter: its case is kept, `arg` if nothing else is left.
pub(crate) fn parameter_ident(raw: &str) -> Cow<'_, str> {
    clean(raw, Case::Kept, "arg")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Lower,
    Kept,
}

/// Applies the rule: other characters become `_`, outer `_` go, a leading digit gets `_` before it and a
/// keyword `_` behind it. So no result but a digit's starts with `_`, and none but a keyword's ends in it.
fn clean<'a>(raw: &'a str, case: Case, fallback: &'a str) -> Cow<'a, str> {
    if is_clean(raw, case) {
        return Cow::Borrowed(raw);
    }
    let mapped: String = raw
        .chars()
        .map(|c| match c {
            'A'..='Z' if case == Case::Lower => c.to_ascii_lowercase(),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => c,
            _ => '_',
        })
        .collect();
    let stripped = mapped.trim_matches('_');
    let mut name = String::with_capacity(stripped.len() + 1);
    if stripped.is_empty() {
        name.push_str(fallback);
    } else if stripped.starts_with(|c: char| c.is_ascii_digit()) {
        name.push('_');
    }
    name.push_str(stripped);
    if is_keyword(&name) {
        name.push('_');
    }
    if name.len() > MAX_NAME_CHARS {
        name.truncate(MAX_NAME_CHARS - CUT_SUFFIX_CHARS - 1);
        name.push('_');
        name.push_str(&suffix(&[b"cut", raw.as_bytes()], CUT_SUFFIX_CHARS));
    }
    Cow::Owned(name)
}

/// Whether the rule leaves `raw` as it is.
fn is_clean(raw: &str, case: Case) -> bool {
    let bytes = raw.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    let letters = bytes.iter().all(|byte| match byte {
        b'A'..=b'Z' => case == Case::Kept,
        b'a'..=b'z' | b'0'..=b'9' | b'_' => true,
        _ => false,
    });
    letters
        && first.is_ascii_alphabetic()
        && *last != b'_'
        && raw.len() <= MAX_NAME_CHARS
        && !is_keyword(raw)
}

/// `text` as one word with capitals, `CreateIssue` of `create_issue`; empty if no letter or digit is in it.
pub(crate) fn camel_case(out: &mut String, text: &str) {
    let mut upper = true;
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            upper = true;
        } else if upper {
            out.push(c.to_ascii_uppercase());
            upper = c.is_ascii_digit();
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_follow_the_rule() {
        for (raw, name) in [
            ("list_issues", "list_issues"),
            ("getUser", "getuser"),
            ("doc.get", "doc_get"),
            ("__call__", "call"),
            ("2fa-reset", "_2fa_reset"),
            ("import", "import_"),
            ("None", "none"),
            ("match", "match"),
            ("print", "print"),
            ("größe", "gr__e"),
            ("名前", "tool"),
            ("--", "tool"),
            ("x\"\"\"; import os", "x_____import_os"),
        ] {
            assert_eq!(tool_ident(raw), name, "{raw}");
        }
        assert_eq!(namespace_ident("名前"), "toolset");
    }

    #[test]
    fn parameters_keep_their_case() {
        for (raw, name) in [
            ("zipCode", "zipCode"),
            ("X-Trace-Id", "X_Trace_Id"),
            ("from", "from_"),
            ("None", "None_"),
            ("None_", "None_"),
            ("__class__", "class_"),
            ("_call", "call"),
            ("self", "self"),
            ("1", "_1"),
            ("ключ", "arg"),
        ] {
            assert_eq!(parameter_ident(raw), name, "{raw}");
        }
    }

    #[test]
    fn a_long_name_is_cut_and_still_tells_its_last_letter() {
        let (a, b) = ("x".repeat(200) + "a", "x".repeat(200) + "b");
        let (a, b) = (tool_ident(&a).into_owned(), tool_ident(&b).into_owned());
        assert_eq!((a.len(), b.len()), (MAX_NAME_CHARS, MAX_NAME_CHARS));
        assert_ne!(a, b);
        let kept = "y".repeat(MAX_NAME_CHARS);
        assert_eq!(tool_ident(&kept), kept);
    }

    #[test]
    fn words_become_one_capitalised_word() {
        let camel = |text| {
            let mut out = String::new();
            camel_case(&mut out, text);
            out
        };
        assert_eq!(camel("create_issue"), "CreateIssue");
        assert_eq!(camel("pkg.mod.Page[Issue]"), "PkgModPageIssue");
        assert_eq!(camel("v2beta"), "V2beta");
        assert_eq!(camel("_2fa_reset"), "2FaReset");
        assert_eq!(camel("名前"), "");
    }
}
