//! A hash of everything that providers say of their tools.

use std::fmt;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::provider::ToolSpec;

/// Tells two sets of tools apart. Equal for equal tools in whatever order they were listed, in every process
/// and on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The hash.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Bytes gathered before the hash function sees them.
const CHUNK_BYTES: usize = 64 * 1024;

/// Hashes tools one after the other.
#[derive(Debug, Default)]
pub(super) struct Hasher {
    buffer: Vec<u8>,
    hash: Sha256,
}

impl Hasher {
    /// Adds one tool under the path that programs know it by.
    pub(super) fn tool(&mut self, path: &str, spec: &ToolSpec) {
        self.text(path);
        self.text(&spec.name);
        self.text(&spec.description);
        self.value(&spec.input_schema);
        match &spec.output_schema {
            Some(schema) => self.value(schema),
            None => self.buffer.push(b'-'),
        }
        let hints = spec.annotations;
        let hints = [
            hints.read_only,
            hints.destructive,
            hints.idempotent,
            hints.open_world,
        ];
        self.buffer
            .extend(hints.map(|hint| hint.map_or(2, u8::from)));
        if self.buffer.len() >= CHUNK_BYTES {
            self.hash.update(&self.buffer);
            self.buffer.clear();
        }
    }

    /// Ends the hash.
    pub(super) fn finish(mut self) -> Fingerprint {
        self.hash.update(&self.buffer);
        Fingerprint(self.hash.finalize().into())
    }

    /// Lengths come before contents, so that no two different values give the same bytes.
    fn text(&mut self, text: &str) {
        self.buffer.extend((text.len() as u64).to_le_bytes());
        self.buffer.extend(text.as_bytes());
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.buffer.push(b'n'),
            Value::Bool(value) => self.buffer.extend([b'b', u8::from(*value)]),
            Value::Number(number) => {
                self.buffer.push(b'0');
                self.text(&number.to_string());
            }
            Value::String(text) => {
                self.buffer.push(b's');
                self.text(text);
            }
            Value::Array(items) => {
                self.buffer.push(b'a');
                self.buffer.extend((items.len() as u64).to_le_bytes());
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(members) => {
                self.buffer.push(b'o');
                self.buffer.extend((members.len() as u64).to_le_bytes());
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                for (key, member) in members {
                    self.text(key);
                    self.value(member);
                }
            }
        }
    }
}
