//! The command as its users meet it: started as a program, watched from outside.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod completions;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod help;
#[cfg(test)]
mod interrupt;
#[cfg(test)]
mod left_behind;
#[cfg(test)]
mod output;
#[cfg(test)]
mod real;
#[cfg(test)]
mod run;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod support;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tools;
