//! What a call of a small Rust function costs in process. Aim: 2 µs. `cargo bench -p codehatch-function`

use std::convert::Infallible;

use codehatch_function::{FunctionProvider, FunctionTool};
use codehatch_protocol::RawJson;
use codehatch_tools::{ToolProvider, ToolRequest};
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Point {
    x: f64,
    y: f64,
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Length {
    name: String,
    length: f64,
}

fn main() {
    divan::main();
}

/// From the text of the arguments to the text of the result, the check of the text included.
#[divan::bench]
fn small_struct(bencher: divan::Bencher<'_, '_>) {
    let length = FunctionTool::new("length", async |point: Point| {
        Ok::<_, Infallible>(Length {
            length: point.x.hypot(point.y),
            name: point.name,
        })
    });
    let provider = FunctionProvider::builder().tool(length).build();
    let provider = provider.expect("a valid tool");
    bencher.bench(|| {
        let request = ToolRequest {
            tool: "length".to_owned(),
            args: RawJson::parse(r#"{"x":3.0,"y":4.5,"name":"north"}"#).expect("well-formed"),
        };
        provider
            .call(request)
            .now_or_never()
            .expect("it does not wait")
    });
}
