//! Writes an object field by field, without white space.

use crate::{
    frame::CallTimeout,
    json::{RawJson, Sink as _, write_float, write_string},
};

/// An object that is being written.
#[derive(Debug)]
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    has_fields: bool,
}

impl<'a> Object<'a> {
    /// Writes an object with the fields that `fields` gives it.
    pub(super) fn write(out: &'a mut Vec<u8>, fields: impl FnOnce(&mut Object<'_>)) {
        out.put("{");
        fields(&mut Object {
            out,
            has_fields: false,
        });
        out.put("}");
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        write_string(self.out, value);
    }

    pub(super) fn optional_text(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.text(name, value),
            None => self.null(name),
        }
    }

    pub(super) fn boolean(&mut self, name: &str, value: bool) {
        self.name(name);
        self.out.put_display(value);
    }

    pub(super) fn integer(&mut self, name: &str, value: i64) {
        self.name(name);
        self.out.put_display(value);
    }

    pub(super) fn timeout(&mut self, name: &str, value: Option<CallTimeout>) {
        match value {
            Some(value) => {
                self.name(name);
                write_float(self.out, value.seconds());
            }
            None => self.null(name),
        }
    }

    pub(super) fn null(&mut self, name: &str) {
        self.name(name);
        self.out.put("null");
    }

    /// Well-formed JSON that has no line break.
    pub(super) fn json(&mut self, name: &str, value: &str) {
        self.name(name);
        self.out.put(value);
    }

    /// A value as it is, but for line breaks between its tokens: those would end the line.
    pub(super) fn value(&mut self, name: &str, value: &RawJson) {
        self.name(name);
        let start = self.out.len();
        self.out.put(value.get());
        if value.has_line_break() {
            for byte in self.out.iter_mut().skip(start) {
                if matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
    }

    pub(super) fn object(&mut self, name: &str, fields: impl FnOnce(&mut Object<'_>)) {
        self.name(name);
        Object::write(self.out, fields);
    }

    pub(super) fn texts<'t>(&mut self, name: &str, values: impl Iterator<Item = &'t str>) {
        self.name(name);
        self.out.put("[");
        for (place, value) in values.enumerate() {
            if place > 0 {
                self.out.put(",");
            }
            write_string(self.out, value);
        }
        self.out.put("]");
    }

    fn name(&mut self, name: &str) {
        if self.has_fields {
            self.out.put(",");
        }
        self.has_fields = true;
        write_string(self.out, name);
        self.out.put(":");
    }
}
