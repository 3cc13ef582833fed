//! The codec from outside: whole frames and values, alone and against the reference's own codec.

#[cfg(test)]
mod frames;
#[cfg(test)]
mod generate;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod hex;
#[cfg(test)]
mod json;
#[cfg(test)]
mod reference;
