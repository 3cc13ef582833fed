//! JSON Schema, as servers really write it, turned into Python types. Bounded: no schema can make it run away.

mod few;
mod leaf;
mod limits;
mod node;
mod object;
mod params;
mod problem;
mod reader;
mod refs;
mod ty;
mod union;

pub(crate) use params::{Extras, Param, Parameters};
pub(crate) use reader::Reader;
pub(crate) use ty::{DefKind, Field, Limit, Lit, Notes, Ty, TypeDef, TypeId};
