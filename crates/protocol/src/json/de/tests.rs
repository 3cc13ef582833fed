use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::*;
use crate::MAX_NESTING;

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).expect("well-formed")
}

fn read<'de, T: Deserialize<'de>>(value: &'de RawJson) -> Result<T, String> {
    value.deserialize().map_err(|error| error.to_string())
}

#[derive(Debug, Deserialize, PartialEq)]
struct Order {
    id: i128,
    paid: bool,
    note: Option<String>,
    items: Vec<Item>,
    #[serde(default)]
    shape: Shape,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Item {
    name: String,
    price: f64,
    weight: f32,
    place: (i8, u16),
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Shape {
    #[default]
    Empty,
    Circle(f64),
    Line(i64, i64),
    Box {
        width: u64,
    },
    Wrapped(Name),
}

#[derive(Debug, Deserialize, PartialEq)]
struct Name(char);

#[test]
fn a_structure_is_read_with_all_its_parts() {
    let value = raw(
        r#"{"extra":[{"a":1e999}],"id":-170141183460469231731687303715884105728,"paid":true,"note":null,
            "items":[{"name":"\u00e9t\u00e9 \ud83d\ude00","price":NaN,"weight":1,"place":[-1,65535]},
                     {"name":"","price":-Infinity,"weight":0.1,"place":[0,0]}]}"#,
    );
    let order: Order = value.deserialize().expect("fits");
    assert!(order.items.first().is_some_and(|item| item.price.is_nan()));
    let without_nan = Order {
        items: order.items.into_iter().skip(1).collect(),
        ..order
    };
    let expected = Order {
        id: i128::MIN,
        paid: true,
        note: None,
        items: vec![Item {
            name: String::new(),
            price: f64::NEG_INFINITY,
            weight: 0.1,
            place: (0, 0),
        }],
        shape: Shape::Empty,
    };
    assert_eq!(without_nan, expected);
}

#[test]
fn variants_of_every_form_are_read() {
    for (text, shape) in [
        (r#""empty""#, Shape::Empty),
        (r#"{"empty":null}"#, Shape::Empty),
        (r#"{"circle":2}"#, Shape::Circle(2.0)),
        (r#"{"line":[1,-2]}"#, Shape::Line(1, -2)),
        (r#"{"b\u006fx":{"width":3}}"#, Shape::Box { width: 3 }),
        (r#"{"wrapped":"x"}"#, Shape::Wrapped(Name('x'))),
    ] {
        assert_eq!(read(&raw(text)), Ok(shape), "{text}");
    }
}

#[test]
fn text_without_escapes_is_borrowed() {
    let value = raw(r#"{"k":"v"}"#);
    let map: BTreeMap<&str, &str> = value.deserialize().expect("no escapes");
    assert_eq!(map, BTreeMap::from([("k", "v")]));
    let text = raw("\"ab\"");
    let bytes: &[u8] = text.deserialize().expect("no escapes");
    assert_eq!(bytes, b"ab");
}

#[test]
fn wide_integers_go_where_they_are_asked_for() {
    let big = "340282366920938463463374607431768211455";
    assert_eq!(read(&raw(big)), Ok(u128::MAX));
    assert_eq!(read(&raw("-7")), Ok(-7i128));
    assert_eq!(read(&raw("18446744073709551615")), Ok(u64::MAX));
    insta::assert_snapshot!(read::<i128>(&raw(big)).unwrap_err(), @"integer of 39 digits does not fit i128");
    insta::assert_snapshot!(read::<u128>(&raw(&format!("-{big}"))).unwrap_err(), @"integer of 39 digits does not fit u128");
    insta::assert_snapshot!(read::<u64>(&raw(big)).unwrap_err(), @"integer of 39 digits does not fit 64 bits");
    insta::assert_snapshot!(read::<f64>(&raw(big)).unwrap_err(), @"integer of 39 digits does not fit 64 bits");
    insta::assert_snapshot!(read::<u8>(&raw("256")).unwrap_err(), @"invalid value: integer `256`, expected u8");
    insta::assert_snapshot!(read::<i64>(&raw("1.0")).unwrap_err(), @"invalid type: floating point `1.0`, expected i64");
}

#[test]
fn a_float_never_becomes_an_infinity() {
    assert_eq!(read(&raw("1e308")), Ok(1e308));
    assert_eq!(read(&raw("1e-400")), Ok(0.0));
    assert_eq!(read(&raw("16777217.0")), Ok(16_777_216.0f32));
    insta::assert_snapshot!(read::<f64>(&raw("1e400")).unwrap_err(), @"float is outside the range of f64");
    insta::assert_snapshot!(read::<f32>(&raw("1e39")).unwrap_err(), @"float is outside the range of f32");
    insta::assert_snapshot!(read::<Value>(&raw("-1e400")).unwrap_err(), @"float is outside the range of f64");
}

#[test]
fn non_finite_numbers_fit_float_fields_only() {
    assert_eq!(read(&raw("Infinity")), Ok(f64::INFINITY));
    assert_eq!(read(&raw("-Infinity")), Ok(f32::NEG_INFINITY));
    assert!(read::<f32>(&raw("NaN")).is_ok_and(f32::is_nan));
    insta::assert_snapshot!(read::<Value>(&raw("NaN")).unwrap_err(), @"NaN and infinities fit only a float field");
    insta::assert_snapshot!(read::<u8>(&raw("Infinity")).unwrap_err(), @"NaN and infinities fit only a float field");
}

#[test]
fn every_error_names_the_path() {
    let error = |text: &str| read::<BTreeMap<String, Vec<Order>>>(&raw(text)).unwrap_err();
    let order =
        |rest: &str| format!(r#"{{"my orders":[{{"id":1,"paid":true,"items":[{rest}]}}]}}"#);
    insta::assert_snapshot!(error(&order(r#"{"name":"\ud800"}"#)), @r#"["my orders"][0].items[0].name: string has a lone surrogate, which is no character"#);
    insta::assert_snapshot!(error(&order(r#"{"name":"","place":[1,2,3]}"#)), @r#"["my orders"][0].items[0].place: array has more than 2 elements"#);
    insta::assert_snapshot!(error(&order(r#"{"name":"","place":[300,2]}"#)), @r#"["my orders"][0].items[0].place[0]: invalid value: integer `300`, expected i8"#);
    insta::assert_snapshot!(error(&order("{},7")), @r#"["my orders"][0].items[0]: missing field `name`"#);
    insta::assert_snapshot!(error(r#"{"\udc00":[]}"#), @"[\"\u{fffd}\"]: string has a lone surrogate, which is no character");
    let shape = |text: &str| read::<BTreeMap<String, Shape>>(&raw(text)).unwrap_err();
    insta::assert_snapshot!(shape(r#"{"a":{"line":[1,true]}}"#), @"a.line[1]: invalid type: boolean `true`, expected i64");
    insta::assert_snapshot!(shape(r#"{"a":{"box":{"width":-1}}}"#), @"a.box.width: invalid value: integer `-1`, expected u64");
    insta::assert_snapshot!(shape(r#"{"a":{"empty":null,"circle":1}}"#), @"a.circle: object has more members than expected");
    insta::assert_snapshot!(shape(r#"{"a":{}}"#), @"a: object is empty, expected one member named as a variant");
    insta::assert_snapshot!(shape(r#"{"a":7}"#), @"a: invalid type: value that is neither, expected a string or an object with one member");
}

#[test]
fn the_path_can_begin_with_a_name_of_its_own() {
    let error = raw("[1,[2,\"x\"]]")
        .deserialize::<(i64, Vec<i64>)>()
        .unwrap_err()
        .within("args");
    assert_eq!(error.path(), "args[1][1]");
    insta::assert_snapshot!(error, @r#"args[1][1]: invalid type: string "x", expected i64"#);
}

#[test]
fn names_of_members_are_read_as_keys_of_other_types() {
    let value = raw(r#"{"1":"a","-2":"b"}"#);
    assert_eq!(
        read(&value),
        Ok(BTreeMap::from([
            (1i64, "a".to_owned()),
            (-2, "b".to_owned())
        ]))
    );
    assert_eq!(
        read(&raw(r#"{"true":1}"#)),
        Ok(BTreeMap::from([(true, 1u8)]))
    );
    assert_eq!(
        read(&raw(r#"{"340282366920938463463374607431768211455":1}"#)),
        Ok(BTreeMap::from([(u128::MAX, 1u8)]))
    );
    insta::assert_snapshot!(read::<BTreeMap<u8, u8>>(&raw(r#"{"x":1}"#)).unwrap_err(), @r#"x: invalid type: string "x", expected u8"#);
    insta::assert_snapshot!(read::<BTreeMap<u8, u8>>(&raw(r#"{" 1":1}"#)).unwrap_err(), @r#"[" 1"]: invalid type: string " 1", expected u8"#);
}

#[test]
fn the_last_of_two_equal_names_counts_in_a_map() {
    assert_eq!(
        read(&raw(r#"{"a":1,"a":2}"#)),
        Ok(BTreeMap::from([("a".to_owned(), 2u8)]))
    );
}

#[test]
fn the_deepest_nesting_fits_a_small_stack() {
    #[derive(Deserialize)]
    struct Node {
        next: Option<Box<Self>>,
    }
    let arrays = raw(&format!(
        "{}1{}",
        "[".repeat(MAX_NESTING),
        "]".repeat(MAX_NESTING)
    ));
    let objects = raw(&format!(
        "{}null{}",
        r#"{"next":"#.repeat(MAX_NESTING),
        "}".repeat(MAX_NESTING)
    ));
    let work = move || {
        let value: Value = arrays.deserialize().expect("at the limit");
        assert_eq!(RawJson::from_serialize(&value), Ok(arrays));
        let mut node: Node = objects.deserialize().expect("at the limit");
        let mut depth = 1;
        while let Some(next) = node.next {
            node = *next;
            depth += 1;
        }
        depth
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(work);
    assert_eq!(
        thread.expect("spawns").join().expect("no overflow"),
        MAX_NESTING
    );
}
