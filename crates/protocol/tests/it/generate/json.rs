//! JSON texts: as Python writes them, and as nobody would but everybody may.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use codehatch_protocol::RawJson;

/// Text with whatever is special to some reader of it.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        "\"",
        "\\",
        "/",
        "\0",
        "\u{1f}",
        "\u{7f}",
        "\n",
        "\r",
        "\t",
        "\u{8}",
        "\u{c}",
        "\u{2028}",
        "\u{feff}",
        "\u{fdd0}",
        "\u{fdd0}d800",
        "\u{fffd}",
        "\u{10ffff}",
        "é",
        "日本",
        "😀",
        "\\u0041",
        "kind",
    ]);
    let piece = prop_oneof![2 => any::<String>(), 3 => special.prop_map(str::to_owned), 2 => "[a-z ]{0,20}"];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

/// A value that Python holds, to be written as its `json` module writes it.
#[derive(Clone, Debug)]
enum Python {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    List(Vec<Self>),
    Dict(BTreeMap<String, Self>),
}

impl Serialize for Python {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i128(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Str(value) => serializer.serialize_str(value),
            Self::List(values) => serializer.collect_seq(values),
            Self::Dict(members) => {
                let mut map = serializer.serialize_map(None)?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

fn python_value() -> impl Strategy<Value = Python> {
    let scalar = prop_oneof![
        Just(Python::None),
        any::<bool>().prop_map(Python::Bool),
        any::<i64>().prop_map(|value| Python::Int(value.into())),
        any::<i128>().prop_map(Python::Int),
        any::<f64>().prop_map(Python::Float),
        (-1e18f64..1e18).prop_map(Python::Float),
        (-1.0f64..1.0).prop_map(Python::Float),
        text().prop_map(Python::Str),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Python::List),
            prop::collection::btree_map(text(), inner, 0..6).prop_map(Python::Dict),
        ]
    })
}

/// A value to the byte as Python writes it, without white space and without `ensure_ascii`.
pub(crate) fn python_json(object: bool) -> BoxedStrategy<RawJson> {
    let written = |value: Python| RawJson::from_serialize(&value).expect("not deep");
    if object {
        let members = prop::collection::btree_map(text(), python_value(), 0..5);
        return members
            .prop_map(move |members| written(Python::Dict(members)))
            .boxed();
    }
    python_value().prop_map(written).boxed()
}

/// The inside of a string: every escape there is, surrogates in and out of order.
fn raw_string() -> impl Strategy<Value = String> {
    let simple = prop::sample::select(vec![
        "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t",
    ]);
    let unit = prop_oneof![
        any::<u16>(),
        0xD800u16..0xE000,
        Just(0xFDD0),
        prop::sample::select(vec![0xD83D, 0xDE00]),
    ];
    let unit = (unit, any::<bool>()).prop_map(|(unit, upper)| {
        if upper {
            format!("\\u{unit:04X}")
        } else {
            format!("\\u{unit:04x}")
        }
    });
    let plain =
        text().prop_map(|text| text.replace(|each| matches!(each, '"' | '\\' | ..='\u{1f}'), "_"));
    let piece = prop_oneof![simple.prop_map(str::to_owned), unit, plain];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,25})",
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
        prop::sample::select(vec![
            "NaN",
            "Infinity",
            "-Infinity",
            "-0",
            "-0.0",
            "1e400",
            "-1e400",
            "1e-400",
            "0e999999",
            "9007199254740993",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "5e-324",
            "2.4703282292062327e-324",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
        ])
        .prop_map(str::to_owned),
    ]
}

/// A value as nobody would write it but everybody may, on one line or on several.
pub(crate) fn any_json(line_breaks: bool) -> impl Strategy<Value = String> {
    let breaks = if line_breaks {
        vec!["\n", "\r\n"]
    } else {
        vec![" ", "\t"]
    };
    let space = prop_oneof![6 => Just(""), 1 => prop::sample::select(breaks), 1 => Just(" \t")];
    let scalar = prop_oneof![
        prop::sample::select(vec!["null", "true", "false"]).prop_map(str::to_owned),
        number(),
        raw_string().prop_map(|raw| format!("\"{raw}\"")),
    ];
    let name = prop_oneof![
        raw_string(),
        prop::sample::select(vec!["a", "b", "\\u0061"]).prop_map(str::to_owned)
    ];
    scalar.prop_recursive(5, 40, 5, move |inner| {
        let spaced = (space.clone(), inner, space.clone())
            .prop_map(|(before, value, after)| format!("{before}{value}{after}"));
        let member = (space.clone(), name.clone(), space.clone(), spaced.clone())
            .prop_map(|(before, name, after, value)| format!("{before}\"{name}\"{after}:{value}"));
        let elements = prop::collection::vec(spaced, 0..5);
        let members = prop::collection::vec(member, 0..5);
        let empty = space.clone();
        prop_oneof![
            elements.prop_map(|elements| format!("[{}]", elements.join(","))),
            members.prop_map(|members| format!("{{{}}}", members.join(","))),
            empty.prop_map(|space| format!("[{space}]")),
        ]
    })
}
