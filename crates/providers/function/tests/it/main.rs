//! Functions called as the engine calls them.

#[cfg(test)]
mod functions;
