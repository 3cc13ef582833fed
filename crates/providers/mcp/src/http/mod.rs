//! A server behind streamable HTTP: the requests, the event streams, and what can go wrong with them.

mod client;
mod events;
mod fault;
mod headers;

pub(crate) use client::HttpClient;
pub(crate) use fault::HttpFault;
pub(crate) use headers::ParamHeader;
