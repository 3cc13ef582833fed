//! Any bytes are a frame or an error; a frame survives being sent on, and nobody's copy is different.
#![no_main]

use std::borrow::Cow;

use codehatch_protocol::{Caps, Frame, GuestFrame, Line, ProtocolVersion};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let caps = Caps::default().with_frame_bytes(64 * 1024);
    let decoded = GuestFrame::decode(line, caps);
    let owned = GuestFrame::from_line(Line::Whole(Cow::Owned(line.to_vec())), caps);
    assert_eq!(decoded, owned);
    let Ok(frame) = decoded else {
        return;
    };
    assert_eq!(Frame::decode(line, caps), Ok(Frame::Guest(frame.clone())));
    for version in [ProtocolVersion::V1, ProtocolVersion::LATEST] {
        let mut again = Vec::new();
        frame
            .encode(version, &mut again)
            .expect("a guest's frame has every version's form");
        assert_eq!(
            again.iter().position(|&byte| byte == b'\n'),
            Some(again.len() - 1)
        );
        let decoded =
            GuestFrame::decode(&again, Caps::default()).expect("it was written well-formed");
        // Line breaks between the tokens of a value became spaces.
        let is_one_line = !line.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
        if version == ProtocolVersion::LATEST && is_one_line {
            assert_eq!(decoded, frame);
        }
        let mut once_more = Vec::new();
        decoded.encode(version, &mut once_more).expect("as before");
        assert_eq!(once_more, again);
    }
});
