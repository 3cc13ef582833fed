use std::borrow::Cow;

use serde_json::json;

use super::*;
use crate::MAX_NESTING;

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).expect("well-formed")
}

/// Values that `Value` cannot hold, and what stands for them.
const TAGGED: [(&str, &str); 10] = [
    (
        "18446744073709551616",
        "{\"\u{FDD0}number\":\"18446744073709551616\"}",
    ),
    (
        "-9223372036854775809",
        "{\"\u{FDD0}number\":\"-9223372036854775809\"}",
    ),
    ("1e400", "{\"\u{FDD0}number\":\"1e400\"}"),
    ("-1E-400", "{\"\u{FDD0}number\":\"-1E-400\"}"),
    ("NaN", "{\"\u{FDD0}number\":\"NaN\"}"),
    ("[1,-Infinity]", "[1,{\"\u{FDD0}number\":\"-Infinity\"}]"),
    ("\"a\\ud800\\n\"", "\"a\u{FDD0}d800\\n\""),
    ("\"\u{FDD0}\"", "\"\u{FDD0}\u{FDD0}\""),
    ("{\"\\udfff\":0}", "{\"\u{FDD0}dfff\":0}"),
    (
        "{\"\u{FDD0}number\":\"NaN\"}",
        "{\"\u{FDD0}\u{FDD0}number\":\"NaN\"}",
    ),
];

#[test]
fn what_a_value_holds_is_held_exactly() {
    let text = r#"{"a":[null,true,false,0,-0,18446744073709551615,-9223372036854775808,0.1,-0.0,1e2],"\u00e9":"\ud83d\ude00","a":{}}"#;
    assert_eq!(raw(text).to_value(), Ok(json!({"a": {}, "é": "😀"})));
    let numbers = raw("[0,-0,18446744073709551615,-9223372036854775808,0.1,-0.0,1e2]");
    assert_eq!(
        numbers.to_value(),
        Ok(json!([0, 0, u64::MAX, i64::MIN, 0.1, -0.0, 100.0]))
    );
}

#[test]
fn what_a_value_cannot_hold_is_an_error_with_its_path() {
    let error = |text: &str| raw(text).to_value().unwrap_err().to_string();
    insta::assert_snapshot!(error("18446744073709551616"), @"integer of 20 digits does not fit 64 bits");
    insta::assert_snapshot!(error(r#"{"a":[0,{"b c":-1e400}]}"#), @r#"a[1]["b c"]: float is outside the range of f64"#);
    insta::assert_snapshot!(error(r#"[[],[{"a":1},1e-400]]"#), @"[1][1]: float is outside the range of f64");
    insta::assert_snapshot!(error(r#"{"x":{},"y":NaN}"#), @"y: NaN and infinities fit only a float field");
    insta::assert_snapshot!(error(r#"["\ud800"]"#), @"[0]: string has a lone surrogate, which is no character");
    insta::assert_snapshot!(error(r#"{"a":1,"b\udc00":2}"#), @"[\"b\u{fffd}\"]: string has a lone surrogate, which is no character");
}

#[test]
fn what_a_value_cannot_hold_is_tagged() {
    for (text, tagged) in TAGGED {
        let value: Value = serde_json::from_str(tagged).expect("standard");
        assert_eq!(raw(text).to_tagged_value(), value, "{text}");
        assert_eq!(tag_text(text), tagged, "{text}");
    }
}

#[test]
fn tags_are_taken_out_again() {
    for (text, tagged) in TAGGED {
        let value: Value = serde_json::from_str(tagged).expect("standard");
        let back = RawJson::from_tagged_value(&value).expect("not deep");
        assert_eq!(back, raw(text), "{text}");
        assert_eq!(back.facts(), raw(text).facts(), "{text}");
        assert_eq!(untag_text(tagged), text, "{text}");
    }
}

#[test]
fn a_plain_value_is_written_as_it_is() {
    for (_, text) in TAGGED {
        let value: Value = serde_json::from_str(text).expect("standard");
        let written = RawJson::from_value(&value).expect("not deep");
        assert_eq!(Ok(&written), RawJson::from_serialize(&value).as_ref());
        assert_eq!(written.to_value(), Ok(value));
        assert_eq!(written.facts(), raw(text).facts());
    }
}

#[test]
fn what_only_looks_like_a_tag_stays() {
    for text in [
        "{\"\u{FDD0}number\":\"1,2\"}",
        "{\"\u{FDD0}number\":\" 1\"}",
        "{\"\u{FDD0}number\":1}",
        "{\"\u{FDD0}number\":\"NaN\",\"a\":1}",
        "{\"number\":\"NaN\"}",
        "\"\u{FDD0}\"",
        "\"\u{FDD0}d7ff\"",
        "\"\u{FDD0}+d80\"",
        "\"\u{FDD0}d8é\"",
    ] {
        let value: Value = serde_json::from_str(text).expect("standard");
        let back = RawJson::from_tagged_value(&value).expect("not deep");
        assert_eq!(untag_text(text), text);
        assert_eq!(back.to_value(), raw(text).to_value(), "{text}");
    }
}

#[test]
fn escaped_marks_count_as_marks() {
    assert_eq!(tag_text(r#"["\ufdd0"]"#), "[\"\u{FDD0}\u{FDD0}\"]");
    assert_eq!(
        untag_text(r#"["\ufdd0\uFDD0","\ufdd0D83D\ud83d"]"#),
        "[\"\u{FDD0}\",\"\\ud83d\\ud83d\"]"
    );
    assert_eq!(
        untag_text(r#" { "\ufdd0n\u0075mber" : "1e400" } "#),
        " 1e400 "
    );
}

#[test]
fn text_that_needs_no_change_is_borrowed() {
    for text in [
        r#" {"a": [1, "\u00e9\ud83d\ude00", 1.50]} "#,
        "not json",
        "[1",
        "",
        "{\"a\":NaN",
        "1 2",
    ] {
        assert!(
            matches!(tag_text(text), Cow::Borrowed(same) if same == text),
            "{text}"
        );
        assert!(
            matches!(untag_text(text), Cow::Borrowed(same) if same == text),
            "{text}"
        );
    }
}

#[test]
fn the_integer_minus_zero_stays_an_integer() {
    assert_eq!(tag_text("[-0,-0.0]"), "[0,-0.0]");
}

#[test]
fn tags_fit_at_the_deepest_level() {
    let nest = |inner: &str| {
        format!(
            "{}{inner}{}",
            "[".repeat(MAX_NESTING),
            "]".repeat(MAX_NESTING)
        )
    };
    let text = nest("NaN");
    let tagged = tag_text(&text);
    assert_eq!(tagged, nest("{\"\u{FDD0}number\":\"NaN\"}"));
    assert_eq!(untag_text(&tagged), text);
    let value = raw(&text).to_tagged_value();
    assert_eq!(RawJson::from_tagged_value(&value), Ok(raw(&text)));
    let too_deep = RawJson::from_tagged_value(&json!([value])).expect_err("too deep");
    insta::assert_snapshot!(too_deep, @"value nested deeper than 1000 levels");
}

#[test]
fn serde_json_rounds_floats_as_python_does() {
    // Without its feature `float_roundtrip` it is a bit off for some of these.
    for text in [
        "0.31212312312312315",
        "31.245270191439438",
        "121.48791951161945",
        "9007199254740993.0",
    ] {
        let value: f64 = serde_json::from_str(text).expect("standard");
        assert_eq!(Ok(value), text.parse(), "{text}");
    }
}
