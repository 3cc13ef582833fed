//! What is written beside the bytes of a version: a small JSON object that people can read too.

use std::time::{Duration, SystemTime};

use codehatch_protocol::RawJson;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    error::OptionFault,
    limits::MAX_METADATA_BYTES,
    mime,
    name::ArtifactName,
    store::{ArtifactInfo, SaveOptions},
};

/// Longest record that is read back. A record that was written here is far shorter.
pub(crate) const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// The form of records that this code writes and reads.
const FORMAT: u32 = 1;

/// One version's record.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    format: u32,
    name: String,
    pub(crate) version: u32,
    pub(crate) bytes: u64,
    /// Empty only until the bytes are known, where the name says nothing.
    pub(crate) mime_type: String,
    /// Since 1970, in milliseconds.
    saved_at_ms: u64,
    /// The open store that wrote it, so that its unfinished versions are known as such.
    writer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Box<RawValue>>,
}

impl Record {
    /// Checks what comes with the bytes of `name`. Version and length follow.
    pub(crate) fn new(
        name: &ArtifactName,
        options: SaveOptions,
        writer: &str,
    ) -> Result<Self, OptionFault> {
        let mut mime_type = options.mime_type.unwrap_or_default();
        if mime_type.is_empty() {
            mime::of_name(name.as_str())
                .unwrap_or_default()
                .clone_into(&mut mime_type);
        } else if !is_mime_type(&mime_type) {
            return Err(OptionFault::MimeType);
        }
        Ok(Self {
            format: FORMAT,
            name: name.as_str().to_owned(),
            version: 0,
            bytes: 0,
            mime_type,
            saved_at_ms: 0,
            writer: writer.to_owned(),
            metadata: options.metadata.as_ref().map(metadata).transpose()?,
        })
    }

    /// Its text, with the time that it is now.
    pub(crate) fn stamp(&mut self) -> Result<Vec<u8>, serde_json::Error> {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let milliseconds = since_1970.unwrap_or_default().as_millis();
        self.saved_at_ms = u64::try_from(milliseconds).unwrap_or(u64::MAX);
        serde_json::to_vec_pretty(self)
    }

    /// Reads `json` back; an error says why it is not the record of this version.
    pub(crate) fn parse(json: &[u8], name: &ArtifactName, version: u32) -> Result<Self, String> {
        let record: Self = serde_json::from_slice(json)
            .map_err(|error| format!("its record cannot be read ({error})"))?;
        if record.format != FORMAT {
            return Err(format!(
                "its record has format {}, not {FORMAT}",
                record.format
            ));
        }
        if record.name != name.as_str() || record.version != version {
            let Self { name, version, .. } = record;
            return Err(format!("its record is of {name:?} version {version}"));
        }
        Ok(record)
    }

    /// Which open store wrote a record; `None` if that cannot be told.
    pub(crate) fn writer_of(json: &[u8]) -> Option<String> {
        serde_json::from_slice(json)
            .ok()
            .map(|record: Self| record.writer)
    }

    /// What it says, for callers; an error says why it cannot be understood.
    pub(crate) fn into_info(self, name: ArtifactName) -> Result<ArtifactInfo, String> {
        let metadata = self.metadata.map(|raw| RawJson::parse(raw.get()));
        let metadata = metadata
            .transpose()
            .map_err(|error| format!("the metadata in its record cannot be read ({error})"))?;
        Ok(ArtifactInfo {
            name,
            version: self.version,
            bytes: self.bytes,
            mime_type: self.mime_type,
            metadata,
            saved_at: SystemTime::UNIX_EPOCH
                .checked_add(Duration::from_millis(self.saved_at_ms))
                .unwrap_or(SystemTime::UNIX_EPOCH),
        })
    }
}

fn metadata(json: &RawJson) -> Result<Box<RawValue>, OptionFault> {
    let text = json.get().trim();
    if text.len() > MAX_METADATA_BYTES {
        return Err(OptionFault::MetadataTooLong { bytes: text.len() });
    }
    if !json.is_standard() || !text.starts_with('{') {
        return Err(OptionFault::MetadataNotObject);
    }
    RawValue::from_string(text.to_owned()).map_err(|_| OptionFault::MetadataNotObject)
}

fn is_mime_type(text: &str) -> bool {
    let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let essence = text.split(';').next().unwrap_or_default().trim();
    let two_parts = essence
        .split_once('/')
        .is_some_and(|(main, sub)| !main.is_empty() && !sub.is_empty());
    printable && two_parts && text.len() <= 255
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ArtifactName {
        ArtifactName::parse("a.csv").expect("a name")
    }

    fn record(options: SaveOptions) -> Result<Record, OptionFault> {
        Record::new(&name(), options, "w")
    }

    #[test]
    fn metadata_is_kept_to_the_letter() {
        let text = "{\"n\": 123456789012345678901234567890, \"x\":1.0, \"y\": 1e400}";
        let json = RawJson::parse(text).expect("JSON");
        let options = SaveOptions::default().with_metadata(json.clone());
        let mut record = record(options).expect("accepted");
        (record.version, record.bytes) = (3, 5);
        let written = record.stamp().expect("JSON");
        let record = Record::parse(&written, &name(), 3).expect("read back");
        let info = record.into_info(name()).expect("understood");
        assert_eq!(
            (info.version, info.bytes, &*info.mime_type),
            (3, 5, "text/csv")
        );
        assert_eq!(info.metadata, Some(json));
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let with = |text: &str| {
            let json = RawJson::parse(text).expect("JSON");
            record(SaveOptions::default().with_metadata(json)).expect_err("refused")
        };
        assert_eq!(with("[1]"), OptionFault::MetadataNotObject);
        assert_eq!(with("{\"a\":NaN}"), OptionFault::MetadataNotObject);
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_METADATA_BYTES));
        assert_eq!(
            with(&long),
            OptionFault::MetadataTooLong { bytes: long.len() }
        );
        for mime_type in ["png", "image/", "text/plain\r\nX: y", "tëxt/plain", "text"] {
            let options = SaveOptions::default().with_mime_type(mime_type);
            assert_eq!(record(options).expect_err("refused"), OptionFault::MimeType);
        }
    }

    #[test]
    fn a_record_of_something_else_is_noticed() {
        let json = record(SaveOptions::default())
            .expect("accepted")
            .stamp()
            .expect("JSON");
        let fault =
            |json: &[u8], version| Record::parse(json, &name(), version).expect_err("noticed");
        assert_eq!(fault(&json, 2), "its record is of \"a.csv\" version 0");
        assert_eq!(
            fault(b"{", 0),
            "its record cannot be read (EOF while parsing an object at line 1 column 1)"
        );
    }
}
