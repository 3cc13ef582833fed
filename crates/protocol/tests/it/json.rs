//! Values keep what they hold on every way out of their text and back.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use codehatch_protocol::{FromJsonFault, JsonType, RawJson, tag_text, untag_text};

use crate::generate::{any_json, mutated, python_json, text};

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).expect("well-formed")
}

proptest! {
    #[test]
    fn a_tagged_value_comes_back(text in any_json(true)) {
        let value = raw(&text).to_tagged_value();
        let back = RawJson::from_tagged_value(&value).expect("not deep");
        prop_assert_eq!(back.to_tagged_value(), value);
    }

    #[test]
    fn a_tagged_text_is_what_the_tagged_value_is_written_as(text in any_json(true)) {
        let tagged = tag_text(&text);
        let parsed: Value = serde_json::from_str(&tagged).expect("standard JSON");
        prop_assert_eq!(parsed, raw(&text).to_tagged_value());
    }

    #[test]
    fn a_tagged_text_comes_back(text in any_json(true)) {
        let back = untag_text(&tag_text(&text)).into_owned();
        prop_assert_eq!(raw(&back).to_tagged_value(), raw(&text).to_tagged_value());
        // By way of a library's own writer, too.
        let written = raw(&text).to_tagged_value().to_string();
        prop_assert_eq!(raw(&untag_text(&written)).to_tagged_value(), raw(&text).to_tagged_value());
    }

    #[test]
    fn no_text_makes_tagging_panic(bytes in mutated(any_json(true).prop_map(String::into_bytes))) {
        let text = String::from_utf8_lossy(&bytes);
        let tagged = tag_text(&text);
        let untagged = untag_text(&text);
        prop_assert_eq!(RawJson::parse(&*text).is_ok(), serde_json::from_str::<Value>(&tagged).is_ok());
        prop_assert_eq!(RawJson::parse(&*text).is_ok(), RawJson::parse(untagged).is_ok());
    }

    #[test]
    fn an_exact_value_is_the_tagged_one_unless_that_has_tags(text in any_json(true)) {
        let value = raw(&text);
        let tagged = value.to_tagged_value();
        let has_marks = tagged.to_string().contains('\u{FDD0}');
        match value.to_value() {
            Ok(exact) => {
                prop_assert!(has_marks || exact == tagged);
                let written = RawJson::from_value(&exact).expect("not deep");
                prop_assert_eq!(written.to_value(), Ok(exact.clone()));
                prop_assert_eq!(RawJson::from_serialize(&exact), Ok(written));
            }
            // Also of a member whose name comes again, which the tagged value has not any more.
            Err(error) => prop_assert!(tag_text(&text) != text, "{}", error),
        }
    }

    #[test]
    fn reading_into_a_value_is_laxer_for_underflows_alone(text in any_json(true)) {
        let value = raw(&text);
        match (value.deserialize::<Value>(), value.to_value()) {
            (Ok(read), Ok(exact)) => prop_assert_eq!(read, exact),
            (Err(read), Ok(_)) => prop_assert!(false, "{}", read),
            (read, Err(exact)) if exact.fault() != (&FromJsonFault::FloatOutOfRange { wanted: "f64" }) => {
                prop_assert_eq!(read, Err(exact));
            }
            // An underflow is read as zero, as everywhere.
            (_, Err(_)) => {}
        }
    }

    #[test]
    fn every_float_comes_back(value in any::<f64>()) {
        let back: f64 = RawJson::from_serialize(&value).expect("a float").deserialize().expect("a float");
        prop_assert!(back.to_bits() == value.to_bits() || back.is_nan() && value.is_nan());
    }

    #[test]
    fn every_short_float_comes_back(value in any::<f32>()) {
        let back: f32 = RawJson::from_serialize(&value).expect("a float").deserialize().expect("a float");
        prop_assert!(back.to_bits() == value.to_bits() || back.is_nan() && value.is_nan());
    }

    #[test]
    fn every_integer_comes_back(signed in any::<i128>(), unsigned in any::<u128>()) {
        let value = RawJson::from_serialize(&(signed, unsigned)).expect("integers");
        prop_assert_eq!(value.deserialize(), Ok((signed, unsigned)));
    }

    #[test]
    fn every_text_comes_back(text in text()) {
        let value = RawJson::from_serialize(&text).expect("text");
        prop_assert_eq!(value.deserialize(), Ok(text));
    }

    #[test]
    fn an_object_is_its_members(text in any_json(true)) {
        let value = raw(&text);
        let members: Vec<_> = value
            .object_members()
            .map(|(name, value)| (name.into_owned(), raw(value)))
            .collect();
        prop_assert!(members.is_empty() || value.json_type() == JsonType::Object);
        let last: BTreeMap<_, _> = members.iter().cloned().collect();
        if value.is_standard() {
            let found = last.keys().map(|name| value.member(name).map(|value| (name.clone(), value)));
            prop_assert_eq!(found.collect::<Option<BTreeMap<_, _>>>(), Some(last));
        }
        let rebuilt = RawJson::from_members(members.iter().map(|(name, value)| (name, value))).expect("not deep");
        let again: Vec<_> = rebuilt
            .object_members()
            .map(|(name, value)| (name.into_owned(), raw(value)))
            .collect();
        prop_assert_eq!(again, members);
    }

    #[test]
    fn what_python_writes_is_taken(value in python_json(false)) {
        prop_assert_eq!(RawJson::parse(value.get()), Ok(value));
    }
}
