//! The three tools that a model's program keeps artifacts with.
//!
//! Their arguments and results are those of the reference: contents travel as JSON strings, text as it is
//! and everything else in base64.

mod specs;

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use codehatch_protocol::RawJson;
use codehatch_tools::{
    BoxFuture, Listing, ProviderError, ToolFault, ToolOutput, ToolProvider, ToolRequest,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    error::ArtifactError,
    mime,
    name::ArtifactName,
    store::{Artifact, ArtifactStore, SaveOptions},
};

/// `save_artifact`, `load_artifact` and `list_artifacts` over one store, at the top level of `tools`.
#[derive(Clone, Debug)]
pub struct ArtifactTools {
    store: Arc<dyn ArtifactStore>,
}

impl ArtifactTools {
    /// Offers what `store` keeps.
    pub fn new(store: Arc<dyn ArtifactStore>) -> Self {
        Self { store }
    }

    async fn save(&self, args: SaveArgs) -> Result<RawJson, ToolFault> {
        let name = name(&args.filename)?;
        let mut options = SaveOptions::default();
        if let Some(metadata) = args.custom_metadata {
            options = options.with_metadata(json(metadata.get())?);
        }
        let given = args
            .mime_type
            .as_deref()
            .filter(|mime_type| !mime_type.is_empty());
        let mime_type = given.or_else(|| mime::of_name(&args.filename));
        let bytes = if mime_type.is_some_and(mime::is_text) {
            Bytes::from(args.content)
        } else {
            decode(&args.content).map_err(|fault| not_base64(&args.filename, mime_type, &fault))?
        };
        let options = options.with_mime_type(mime_type.unwrap_or(mime::BINARY));
        let saved = self
            .store
            .save(&name, bytes, options)
            .await
            .map_err(fault)?;
        json(&saved.version.to_string())
    }

    async fn load(&self, args: LoadArgs) -> Result<RawJson, ToolFault> {
        let name = name(&args.filename)?;
        if let Some(artifact) = self.store.load(&name, args.version).await.map_err(fault)? {
            return content(&artifact);
        }
        let Some(version) = args.version else {
            return Ok(RawJson::null());
        };
        match self.store.versions(&name).await.map_err(fault)?.last() {
            None => Ok(RawJson::null()),
            Some(last) => Err(invalid(format!(
                "artifact `{name}` has no version {version}; its latest is {last}, and without \
                 `version` you get that"
            ))),
        }
    }

    async fn names(&self) -> Result<RawJson, ToolFault> {
        let names = self.store.list().await.map_err(fault)?;
        let names: Vec<&str> = names.iter().map(ArtifactName::as_str).collect();
        encode(&names)
    }
}

impl ToolProvider for ArtifactTools {
    fn namespace(&self) -> Option<&str> {
        None
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, ProviderError>> {
        Box::pin(async {
            Ok(Listing {
                tools: specs::all(),
                problems: Vec::new(),
            })
        })
    }

    fn call(&self, request: ToolRequest) -> BoxFuture<'_, Result<ToolOutput, ToolFault>> {
        Box::pin(async move {
            let value = match &*request.tool {
                specs::SAVE => self.save(arguments(&request)?).await,
                specs::LOAD => self.load(arguments(&request)?).await,
                specs::LIST => {
                    let ListArgs {} = arguments(&request)?;
                    self.names().await
                }
                other => Err(invalid(format!("there is no artifact tool `{other}`"))),
            };
            value.map(ToolOutput::from)
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaveArgs {
    filename: String,
    content: String,
    mime_type: Option<String>,
    custom_metadata: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadArgs {
    filename: String,
    version: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::empty_structs_with_brackets,
    reason = "arguments are a JSON object"
)]
struct ListArgs {}

/// What `load_artifact` returns.
#[derive(Serialize)]
struct Content<'a> {
    kind: &'static str,
    data: &'a str,
    mime_type: &'a str,
}

fn content(artifact: &Artifact) -> Result<RawJson, ToolFault> {
    let mime_type = &*artifact.info.mime_type;
    let text = str::from_utf8(&artifact.bytes).ok();
    // The type may be wrong or name another encoding; then base64 still has every byte.
    match text.filter(|_| mime::is_text(mime_type)) {
        Some(data) => encode(&Content {
            kind: "text",
            data,
            mime_type,
        }),
        None => encode(&Content {
            kind: "bytes",
            data: &STANDARD.encode(&artifact.bytes),
            mime_type,
        }),
    }
}

/// Decodes base64 as `base64.b64encode` and `base64.encodebytes` write it.
fn decode(content: &str) -> Result<Bytes, base64::DecodeError> {
    let decoded = if content.contains(['\n', '\r']) {
        STANDARD.decode(content.replace(['\n', '\r'], ""))
    } else {
        STANDARD.decode(content)
    };
    decoded.map(Bytes::from)
}

fn not_base64(name: &str, mime_type: Option<&str>, fault: &base64::DecodeError) -> ToolFault {
    let why = mime_type.map_or_else(
        || format!("neither `mime_type` nor the name `{name}` says that it is text"),
        |mime_type| format!("`{mime_type}` is not a text type"),
    );
    invalid(format!(
        "`content` has to be base64, because {why}, but it is not ({fault}). For text pass \
         mime_type=\"text/plain\"; for bytes pass base64.b64encode(data).decode(\"ascii\")"
    ))
}

fn name(filename: &str) -> Result<ArtifactName, ToolFault> {
    ArtifactName::parse(filename).map_err(|error| invalid(error.to_string()))
}

fn arguments<T: DeserializeOwned>(request: &ToolRequest) -> Result<T, ToolFault> {
    let tool = &request.tool;
    if !request.args.is_standard() {
        return Err(invalid(format!(
            "the arguments of {tool} have NaN, an infinity or half a surrogate pair in them. Replace it; \
             or for text with surrogates pass \
             base64.b64encode(text.encode(\"utf-8\", \"surrogatepass\")).decode(\"ascii\") and \
             mime_type=\"application/octet-stream\""
        )));
    }
    serde_json::from_str(request.args.get()).map_err(|error| {
        let error = error.to_string();
        // Where in its line the text is wrong means nothing to a program that passed values.
        let fault = error.split(" at line ").next().unwrap_or_default();
        invalid(format!("the arguments of {tool} do not fit: {fault}"))
    })
}

fn invalid(message: String) -> ToolFault {
    ToolFault::InvalidArguments { message }
}

fn fault(error: ArtifactError) -> ToolFault {
    match error {
        ArtifactError::InvalidName(_) | ArtifactError::InvalidOption { .. } => {
            invalid(error.to_string())
        }
        other => {
            // The program must not learn of the host's paths; its operator must.
            if let ArtifactError::Storage {
                place,
                problem,
                source,
                ..
            } = &other
            {
                tracing::warn!(%place, %problem, cause = %source, "artifact storage failed");
            }
            ToolFault::Failed {
                kind: "ArtifactError".to_owned(),
                message: other.public_message(),
            }
        }
    }
}

fn encode(value: &impl Serialize) -> Result<RawJson, ToolFault> {
    let text = serde_json::to_string(value).map_err(|error| ToolFault::Failed {
        kind: "ArtifactError".to_owned(),
        message: format!("the result cannot be written as JSON: {error}"),
    })?;
    json(&text)
}

fn json(text: &str) -> Result<RawJson, ToolFault> {
    RawJson::parse(text).map_err(|error| ToolFault::Failed {
        kind: "ArtifactError".to_owned(),
        message: format!("the value is not JSON: {error}"),
    })
}
