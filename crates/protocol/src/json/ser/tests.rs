use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::*;
use crate::{MAX_NESTING, json::Scanner};

/// What is written, once it is sure that a scanner would say the same of it.
fn written<T: Serialize + ?Sized>(value: &T) -> String {
    let raw = RawJson::from_serialize(value).expect("can be written");
    let facts = Scanner::new(raw.get()).only_value();
    assert_eq!(facts, Ok(raw.facts()));
    raw.get().to_owned()
}

fn refusal<T: Serialize + ?Sized>(value: &T) -> String {
    RawJson::from_serialize(value)
        .expect_err("cannot be written")
        .to_string()
}

#[derive(Serialize)]
struct Everything<'a> {
    unit: (),
    flag: bool,
    text: &'a str,
    letter: char,
    option: (Option<u8>, Option<u8>),
    wide: (i128, u128),
    floats: [f64; 4],
    short: f32,
    tuple: Pair,
    new: New,
    variants: Vec<Variant>,
    empty: ([u8; 0], BTreeMap<String, u8>),
}

#[derive(Serialize)]
struct Pair(i8, i8);

#[derive(Serialize)]
struct New(u64);

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
enum Variant {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { field: u8 },
}

#[test]
fn every_form_is_written_as_serde_json_would() {
    let value = Everything {
        unit: (),
        flag: true,
        text: "a\"\né",
        letter: '\\',
        option: (None, Some(1)),
        wide: (i128::MIN, u128::MAX),
        floats: [1.0, -0.0, 1e16, 1e-7],
        short: 0.1,
        tuple: Pair(-1, 2),
        new: New(u64::MAX),
        variants: vec![
            Variant::Unit,
            Variant::Newtype(1),
            Variant::Tuple(1, 2),
            Variant::Struct { field: 3 },
        ],
        empty: ([], BTreeMap::new()),
    };
    let expected = concat!(
        r#"{"unit":null,"flag":true,"text":"a\"\né","letter":"\\","option":[null,1],"#,
        r#""wide":[-170141183460469231731687303715884105728,340282366920938463463374607431768211455],"#,
        r#""floats":[1.0,-0.0,1e+16,1e-07],"short":0.1,"tuple":[-1,2],"new":18446744073709551615,"#,
        r#""variants":["Unit",{"Newtype":1},{"Tuple":[1,2]},{"Struct":{"field":3}}],"empty":[[],{}]}"#,
    );
    assert_eq!(written(&value), expected);
}

#[test]
fn non_finite_floats_have_pythons_names() {
    let floats = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    assert_eq!(written(&floats), "[NaN,Infinity,-Infinity]");
    assert_eq!(written(&f32::NAN), "NaN");
    assert!(
        !RawJson::from_serialize(&floats)
            .expect("can be written")
            .is_standard()
    );
}

#[test]
fn bytes_are_an_array_of_integers() {
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(b"\x00\xff")
        }
    }
    assert_eq!(written(&Bytes), "[0,255]");
}

#[test]
fn keys_with_a_name_are_written_as_strings() {
    assert_eq!(
        written(&BTreeMap::from([(-1i128, 'a'), (2, 'b')])),
        r#"{"-1":"a","2":"b"}"#
    );
    assert_eq!(written(&BTreeMap::from([(true, 1)])), r#"{"true":1}"#);
    assert_eq!(written(&BTreeMap::from([('"', 1)])), r#"{"\"":1}"#);
    assert_eq!(written(&BTreeMap::from([(Some("x"), 1)])), r#"{"x":1}"#);
    assert_eq!(
        written(&BTreeMap::from([(Variant::Unit, 1)])),
        r#"{"Unit":1}"#
    );
}

#[test]
fn keys_without_a_name_are_refused() {
    struct FloatKey;
    impl Serialize for FloatKey {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry(&1.5, &())?;
            map.end()
        }
    }
    insta::assert_snapshot!(refusal(&BTreeMap::from([((), 1)])), @"map key must be a string, an integer or a boolean, not nothing");
    insta::assert_snapshot!(refusal(&BTreeMap::from([([1], 1)])), @"map key must be a string, an integer or a boolean, not an array");
    insta::assert_snapshot!(refusal(&BTreeMap::from([(Variant::Newtype(1), 1)])), @"map key must be a string, an integer or a boolean, not an enum variant with content");
    insta::assert_snapshot!(refusal(&FloatKey), @"map key must be a string, an integer or a boolean, not a float");
}

#[test]
fn every_error_names_the_path() {
    #[derive(Serialize)]
    struct Outer {
        list: Vec<BTreeMap<&'static str, Inner>>,
    }
    #[derive(Serialize)]
    enum Inner {
        Tuple(u8, BTreeMap<(), u8>),
        Struct { field: BTreeMap<(), u8> },
        Newtype(BTreeMap<(), u8>),
    }
    let bad = || BTreeMap::from([((), 1)]);
    let refused = |inner| {
        let list = vec![BTreeMap::new(), BTreeMap::from([("a \"b\"", inner)])];
        RawJson::from_serialize(&Outer { list })
            .expect_err("bad key")
            .within("result")
            .path()
    };
    assert_eq!(
        refused(Inner::Tuple(1, bad())),
        r#"result.list[1]["a \"b\""].Tuple[1]"#
    );
    assert_eq!(
        refused(Inner::Struct { field: bad() }),
        r#"result.list[1]["a \"b\""].Struct.field"#
    );
    assert_eq!(
        refused(Inner::Newtype(bad())),
        r#"result.list[1]["a \"b\""].Newtype"#
    );
}

#[test]
fn a_map_that_gives_its_parts_out_of_turn_is_refused() {
    struct Odd(&'static str);
    impl Serialize for Odd {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            for step in self.0.chars() {
                match step {
                    'k' => map.serialize_key("k")?,
                    _ => map.serialize_value("v")?,
                }
            }
            map.end()
        }
    }
    assert_eq!(written(&Odd("kvkv")), r#"{"k":"v","k":"v"}"#);
    insta::assert_snapshot!(refusal(&Odd("kk")), @"map gave two keys in a row");
    insta::assert_snapshot!(refusal(&Odd("v")), @"map gave a value without a key");
    insta::assert_snapshot!(refusal(&Odd("k")), @"map gave a key without a value");
}

#[test]
fn one_level_over_the_limit_is_refused_before_the_stack_ends() {
    struct Nested(usize);
    impl Serialize for Nested {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                0 => serializer.serialize_unit(),
                levels => serializer.collect_seq([Self(levels - 1)]),
            }
        }
    }
    let work = || {
        let deepest = RawJson::from_serialize(&Nested(MAX_NESTING)).map(|raw| raw.get().len());
        let too_deep =
            RawJson::from_serialize(&Nested(usize::MAX)).map_err(|error| error.fault().clone());
        (deepest, too_deep)
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(work);
    let (deepest, too_deep) = thread.expect("spawns").join().expect("no overflow");
    assert_eq!(deepest, Ok(2 * MAX_NESTING + 4));
    assert_eq!(too_deep, Err(ToJsonFault::TooDeep { limit: MAX_NESTING }));
}
