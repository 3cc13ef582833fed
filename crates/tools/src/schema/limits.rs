//! Bounds on what is made of one tool's schemas. Past each, the place becomes `Any` and the tool is kept.

/// Schemas within each other.
pub(super) const MAX_DEPTH: usize = 64;
/// Schemas looked at, references followed again each time.
pub(super) const MAX_VISITS: usize = 5_000;
/// Keys of one schema that cost as much as looking at another schema.
pub(super) const KEYS_PER_VISIT: usize = 16;
/// Named types.
pub(super) const MAX_TYPES: usize = 64;
/// Keys of all named types together.
pub(super) const MAX_FIELDS: usize = 1_000;
/// Parameters in the signature. More are accepted by their names.
pub(super) const MAX_PARAMETERS: usize = 256;
/// Properties that are considered for the signature.
pub(super) const MAX_CANDIDATES: usize = 1_024;
/// Names in `required` that are heeded.
pub(super) const MAX_REQUIRED: usize = 2_048;
/// Characters of a key or a parameter's name. Longer ones are left out; parameters are accepted by name.
pub(super) const MAX_KEY_CHARS: usize = 200;
/// Members of a union.
pub(super) const MAX_MEMBERS: usize = 24;
/// Values of an enumeration; a longer one becomes the type of its values.
pub(super) const MAX_VALUES: usize = 64;
/// Characters of an enumeration's strings together.
pub(super) const MAX_VALUES_CHARS: usize = 1_000;
/// References that lead to each other, and `allOf` within each other.
pub(super) const MAX_HOPS: usize = 32;
/// Characters of a type's name.
pub(super) const MAX_TYPE_NAME_CHARS: usize = 64;
