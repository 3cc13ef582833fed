//! `anyOf` and `oneOf`: one of several types.

use serde_json::Value;

use super::{
    limits::MAX_MEMBERS,
    node::{Node, is_annotation},
    reader::{Hint, Reader},
    refs::{Tag, lone_reference},
    ty::Ty,
};

impl<'a> Reader<'a> {
    /// The union that `node` declares, if it declares one.
    ///
    /// Of several unions that apply at once the first one is taken: the others only rule values out.
    pub(super) fn union_type(&mut self, node: &Node<'a>, hint: Hint<'_>) -> Option<Ty<'a>> {
        let members = node
            .unions
            .iter()
            .find(|members| !members.iter().all(only_requires))?;
        if members.len() > MAX_MEMBERS {
            self.note(|| format!("a union of more than {MAX_MEMBERS} types is `Any`"));
            return Some(Ty::Any);
        }
        let types: Vec<_> = members
            .iter()
            .map(|member| self.member(node, member, hint))
            .collect();
        Some(Ty::union(types))
    }

    fn member(&mut self, node: &Node<'a>, member: &'a Value, hint: Hint<'_>) -> Ty<'a> {
        if node.properties.is_empty() && node.items.is_none() {
            let tagged = lone_reference(member)
                .and_then(|lone| Some((lone.reference, Self::tag(node, lone.reference)?)));
            if let Some((reference, tag)) = tagged {
                return self.follow(reference, hint, Some(tag)).0;
            }
            return self.convert(member, hint).ty;
        }
        // The member adds to what is declared beside the union.
        let merged = self.deeper(|reader| {
            let mut merged = node.clone();
            merged.unions.clear();
            merged.title = None;
            reader.absorb(&mut merged, member, 0);
            let title = member.get("title").and_then(Value::as_str);
            reader.node_type(&merged, hint.child(title.unwrap_or_default()), None)
        });
        merged.unwrap_or(Ty::Any)
    }

    /// What `discriminator` says of the member that `reference` points to.
    fn tag(node: &Node<'a>, reference: &'a str) -> Option<Tag<'a>> {
        let discriminator = node.discriminator?;
        let key = discriminator.get("propertyName")?.as_str()?;
        let name = reference.rsplit('/').next()?;
        let mapped = discriminator
            .get("mapping")
            .and_then(Value::as_object)
            .and_then(|mapping| {
                mapping.iter().find(|(_, target)| {
                    target.as_str() == Some(reference) || target.as_str() == Some(name)
                })
            });
        Some(Tag {
            key,
            value: mapped.map_or(name, |(value, _)| value.as_str()),
        })
    }
}

/// Whether a member only says which keys must be there, as in "one of these two is needed".
pub(super) fn only_requires(member: &Value) -> bool {
    let Some(map) = member.as_object() else {
        return false;
    };
    map.contains_key("required")
        && map.iter().all(|(key, value)| match key.as_str() {
            "required" | "not" => true,
            "type" => value.as_str() == Some("object"),
            key => is_annotation(key),
        })
}
