//! What artifact stores promise, on every kind of store and in every kind of trouble.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod directory;
#[cfg(test)]
mod failing;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tools;
