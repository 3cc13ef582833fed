//! A text is JSON or an error, and a value comes back from every form that it can be brought into.
#![no_main]

use codehatch_protocol::{RawJson, tag_text, untag_text};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let tagged_text = tag_text(text);
    let untagged_text = untag_text(text);
    let Ok(raw) = RawJson::parse(text) else {
        assert_eq!(tagged_text, text);
        return;
    };
    RawJson::parse(untagged_text).expect("untagging keeps JSON well-formed");
    let tagged = raw.to_tagged_value();
    let back = RawJson::from_tagged_value(&tagged).expect("as deep as the text");
    assert_eq!(back.to_tagged_value(), tagged);
    assert_eq!(
        RawJson::parse(back.get()).map(|again| again.is_standard()),
        Ok(back.is_standard())
    );
    let again = RawJson::parse(untag_text(&tagged_text)).expect("as well-formed as the text");
    assert_eq!(again.to_tagged_value(), tagged);
    if raw.get().len() < 4_096 {
        // serde_json goes no deeper than 128 levels.
        if let Ok(parsed) = serde_json::from_str::<Value>(&tagged_text) {
            assert_eq!(parsed, tagged);
        }
    }
    if let Ok(exact) = raw.to_value() {
        let written = RawJson::from_value(&exact).expect("as deep as the text");
        assert_eq!(written.to_value().as_ref(), Ok(&exact));
        assert_eq!(raw.deserialize::<Value>().as_ref(), Ok(&exact));
        assert_eq!(RawJson::from_serialize(&exact).as_ref(), Ok(&written));
    }
    for (name, value) in raw.object_members() {
        assert!(RawJson::parse(value).is_ok());
        assert!(!raw.is_standard() || raw.member(&name).is_some());
    }
});
