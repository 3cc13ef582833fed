//! Frames come back as they were sent.

use std::borrow::Cow;

use proptest::prelude::*;

use codehatch_protocol::{Caps, Frame, GuestFrame, HostFrame, Line, LineSplitter, ProtocolVersion};

use crate::generate::{Values, guest_frame, host_frame, loose_frame, mutated};

fn line(frame: &Frame) -> Vec<u8> {
    let mut line = Vec::new();
    frame
        .encode(ProtocolVersion::LATEST, &mut line)
        .expect("known to the version");
    line
}

fn any_frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        guest_frame(Values::Any).prop_map(Frame::from),
        host_frame(Values::Any).prop_map(Frame::from),
    ]
}

proptest! {
    #[test]
    fn a_guests_frame_is_decoded_as_it_was_encoded(frame in guest_frame(Values::Any)) {
        let line = line(&frame.clone().into());
        prop_assert_eq!(GuestFrame::decode(&line, Caps::default()), Ok(frame));
    }

    #[test]
    fn a_hosts_frame_is_decoded_as_it_was_encoded(frame in host_frame(Values::Any)) {
        let line = line(&frame.clone().into());
        prop_assert_eq!(HostFrame::decode(&line, Caps::default()), Ok(frame));
    }

    #[test]
    fn a_frame_is_one_line(frame in any_frame()) {
        let line = line(&frame);
        prop_assert_eq!(line.iter().position(|&byte| byte == b'\n'), Some(line.len() - 1));
    }

    #[test]
    fn frames_survive_a_stream(frames in prop::collection::vec(any_frame(), 0..8), size in 1usize..300) {
        let stream: Vec<u8> = frames.iter().flat_map(line).collect();
        let mut splitter = LineSplitter::new(Caps::default());
        let mut decoded = Vec::new();
        for chunk in stream.chunks(size) {
            splitter.push(chunk);
            while let Some(line) = splitter.next_line() {
                decoded.push(Frame::from_line(line, Caps::default()));
            }
        }
        prop_assert_eq!(decoded, frames.into_iter().map(Ok).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_accepted_can_be_sent_on(line in mutated(loose_frame())) {
        if let Ok(frame) = Frame::decode(&line, Caps::default()) {
            let again = self::line(&frame);
            let decoded = Frame::decode(&again, Caps::default());
            prop_assert_eq!(decoded.as_ref().map(self::line), Ok(again));
            // Line breaks between the tokens of a value became spaces.
            if !line.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
                prop_assert_eq!(decoded, Ok(frame));
            }
        }
    }

    #[test]
    fn it_does_not_matter_who_owns_the_line(line in mutated(loose_frame())) {
        let borrowed = Frame::decode(&line, Caps::default());
        let owned = Frame::from_line(Line::Whole(Cow::Owned(line)), Caps::default());
        prop_assert_eq!(borrowed, owned);
    }
}
