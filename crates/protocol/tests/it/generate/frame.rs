//! Frames with anything in their fields.

use proptest::{option, prelude::*};

use codehatch_protocol::{
    BlockResult, CallId, CallTimeout, Chunk, Done, ExitCode, Extensions, GuestFrame, HostFrame,
    Image, Interrupt, Log, Output, Packages, RawJson, Ready, ResultContent, Run, Stream, ToolCall,
    ToolErrorPayload, ToolResult,
};

use super::json::{any_json, python_json, text};

/// What the values in frames are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Whatever may be on a line.
    Any,
    /// What Python would write, and nothing that the reference does not know.
    Reference,
}

fn value(values: Values) -> BoxedStrategy<RawJson> {
    match values {
        Values::Any => any_json(false)
            .prop_map(|text| RawJson::parse(text).expect("well-formed"))
            .boxed(),
        Values::Reference => python_json(false),
    }
}

fn args(values: Values) -> BoxedStrategy<RawJson> {
    match values {
        Values::Any => prop::collection::vec((text(), value(values)), 0..4)
            .prop_map(|members| RawJson::from_members(members).expect("not deep"))
            .boxed(),
        Values::Reference => python_json(true),
    }
}

fn call_id(values: Values) -> BoxedStrategy<CallId> {
    let string = prop_oneof!["[0-9a-f]{32}", text()]
        .prop_filter_map("short", |text| CallId::from_text(&text).ok());
    match values {
        Values::Reference => string.boxed(),
        Values::Any => {
            let scalar = any_json(false)
                .prop_filter_map("short scalar", |text| CallId::from_json(&text).ok());
            prop_oneof![string, scalar].boxed()
        }
    }
}

fn extensions(values: Values) -> BoxedStrategy<Extensions> {
    match values {
        Values::Any => prop::collection::vec(text(), 0..4)
            .prop_map(Extensions::from_iter)
            .boxed(),
        Values::Reference => Just(Extensions::NONE).boxed(),
    }
}

fn packages() -> impl Strategy<Value = Packages> {
    let providers =
        prop::collection::vec((text(), text()), 0..4).prop_map(|pairs| pairs.into_iter().collect());
    prop::collection::vec((text(), providers), 0..5).prop_map(|pairs| pairs.into_iter().collect())
}

fn result() -> impl Strategy<Value = Option<BlockResult>> {
    let content = prop_oneof![
        value(Values::Any).prop_map(ResultContent::Value),
        text().prop_map(ResultContent::Repr),
    ];
    let result =
        (text(), content).prop_map(|(type_name, content)| BlockResult { type_name, content });
    option::of(result)
}

/// The number of a block, which the reference does not have.
fn block(values: Values) -> BoxedStrategy<Option<i64>> {
    match values {
        Values::Any => option::of(any::<i64>()).boxed(),
        Values::Reference => Just(None).boxed(),
    }
}

/// A frame from a guest.
pub(crate) fn guest_frame(values: Values) -> BoxedStrategy<GuestFrame> {
    let exit_code = || any::<i64>().prop_map(ExitCode::new);
    let ready = (any::<i64>(), text(), packages(), extensions(values)).prop_map(
        |(protocol_version, python_version, packages, extensions)| {
            GuestFrame::Ready(Ready {
                protocol_version,
                python_version,
                packages,
                extensions,
            })
        },
    );
    let timeout = option::of(any::<f64>().prop_filter_map("a timeout", CallTimeout::from_seconds));
    let call =
        (call_id(values), text(), args(values), timeout).prop_map(|(id, name, args, timeout)| {
            GuestFrame::ToolCall(ToolCall {
                id,
                name,
                args,
                timeout,
            })
        });
    let log = (text(), text()).prop_map(|(level, msg)| GuestFrame::Log(Log { level, msg }));
    let result = match values {
        Values::Any => result().boxed(),
        Values::Reference => Just(None).boxed(),
    };
    let done = (exit_code(), any::<bool>(), result, block(values)).prop_map(
        |(exit_code, background_work, result, block)| {
            GuestFrame::Done(Done {
                exit_code,
                background_work,
                result,
                block,
            })
        },
    );
    let output = (text(), text(), exit_code()).prop_map(|(stdout, stderr, exit_code)| {
        GuestFrame::Output(Output {
            stdout,
            stderr,
            exit_code,
        })
    });
    let known = prop_oneof![ready, call, log, done, output];
    if values == Values::Reference {
        return known.boxed();
    }
    let image =
        (text(), text()).prop_map(|(mime_type, data)| GuestFrame::Image(Image { mime_type, data }));
    let stream = prop::sample::select(vec![Stream::Stdout, Stream::Stderr]);
    let chunk =
        (stream, text()).prop_map(|(stream, data)| GuestFrame::Chunk(Chunk { stream, data }));
    prop_oneof![5 => known, 1 => image, 1 => chunk].boxed()
}

/// A frame from a host.
pub(crate) fn host_frame(values: Values) -> BoxedStrategy<HostFrame> {
    let run = (text(), extensions(values), block(values)).prop_map(|(code, extensions, block)| {
        HostFrame::Run(Run {
            code,
            extensions,
            block,
        })
    });
    let error = (
        text(),
        text(),
        option::of(text()),
        option::of(any::<i64>()),
        value(values),
    )
        .prop_map(
            |(type_name, message, trace, status_code, body)| ToolErrorPayload {
                type_name,
                message,
                trace,
                status_code,
                body,
            },
        );
    let result = (
        call_id(values),
        any::<bool>(),
        value(values),
        option::of(error),
    )
        .prop_map(|(id, ok, value, error)| {
            HostFrame::ToolResult(ToolResult {
                id,
                ok,
                value,
                error,
            })
        });
    let interrupt = text().prop_map(|message| HostFrame::Interrupt(Interrupt { message }));
    prop_oneof![run, result, Just(HostFrame::Shutdown), interrupt].boxed()
}
