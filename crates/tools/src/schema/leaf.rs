//! The common schema, read in one pass: a plain type, an enumeration, words and limits, and nothing else.

use serde_json::{Map, Value};

use super::{
    node::{is_annotation, said},
    reader::{Converted, is_type_name, values_type},
    ty::{Limit, Notes, Ty},
};

/// Reads a schema that only this module's keywords are in; `None` leaves it to the general way.
pub(super) fn leaf(map: &Map<String, Value>) -> Option<Converted<'_>> {
    let mut ty = Ty::Any;
    let mut values = None;
    let mut title = None;
    let mut notes = Notes::default();
    for (key, value) in map {
        match key.as_str() {
            "type" => {
                ty = match value.as_str()? {
                    "string" => Ty::Str,
                    "integer" => Ty::Int,
                    "number" => Ty::Float,
                    "boolean" => Ty::Bool,
                    "null" => Ty::Null,
                    _ => return None,
                }
            }
            "description" => notes.text = said(value),
            "title" => title = said(value).filter(|title| !is_type_name(title)),
            "default" => notes.default = Some(value),
            "enum" => values = value.as_array().filter(|values| !values.is_empty()),
            key => match Limit::of(key) {
                Some(limit) => notes.limits.push((limit, value)),
                None if !key.ends_with("nullable")
                    && !key.starts_with('$')
                    && is_annotation(key) => {}
                None => return None,
            },
        }
    }
    notes.text = notes.text.or(title);
    Some(Converted {
        ty: values.map_or(ty, |values| values_type(values)),
        notes,
        insists: false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_with_any_other_keyword_is_left_to_the_general_way() {
        for schema in [
            json!({"type": "array"}),
            json!({"type": ["string", "null"]}),
            json!({"$ref": "#"}),
            json!({"type": "string", "nullable": true}),
            json!({"type": "string", "x-nullable": true}),
            json!({"type": "string", "const": "a"}),
            json!({"type": "string", "required": true}),
            json!({"anyOf": []}),
        ] {
            let map = schema.as_object().expect("an object");
            assert!(leaf(map).is_none(), "{schema}");
        }
    }
}
