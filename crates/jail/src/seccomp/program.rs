//! Compiles the policy into a BPF program: a binary tree over ranges of call numbers.
//!
//! The kernel runs the program for every number once when it is installed, to know which calls are allowed
//! always. With a tree that costs 50 µs a session; with one comparison per call it costs 20 times as much.

use super::policy::{Answer, Arch, DENIED, DENIED_ARGUMENTS, Denied, DeniedArgument, Test};

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
const JUMP_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_NOT_LESS: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const JUMP_ANY_BIT: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
const ALLOW: u32 = 0x7FFF_0000;

/// Offsets in `struct seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u16,
    yes: u8,
    no: u8,
    value: u32,
}

impl Instruction {
    fn new(code: u16, yes: u8, no: u8, value: u32) -> Self {
        Self {
            code,
            yes,
            no,
            value,
        }
    }

    fn load(at: u32) -> Self {
        Self::new(LOAD, 0, 0, at)
    }

    fn give(value: u32) -> Self {
        Self::new(RETURN, 0, 0, value)
    }
}

/// What happens to a range of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Return(u32),
    /// The row of [`DENIED_ARGUMENTS`] decides.
    Arguments(usize),
}

/// A seccomp program, ready for the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
}

impl Program {
    /// Compiles the policy for `arch`.
    pub fn new(arch: Arch) -> Self {
        Self::compile(arch, DENIED, DENIED_ARGUMENTS)
    }

    /// Compiles the policy without the rows of some calls.
    #[cfg(feature = "weaken")]
    pub(crate) fn without(arch: Arch, calls: &[&str]) -> Self {
        let denied: Vec<Denied> = DENIED
            .iter()
            .copied()
            .filter(|row| !calls.contains(&row.call))
            .collect();
        let arguments: Vec<DeniedArgument> = DENIED_ARGUMENTS
            .iter()
            .copied()
            .filter(|row| !calls.contains(&row.call))
            .collect();
        Self::compile(arch, &denied, &arguments)
    }

    /// The bytes of the instructions, as `seccomp(2)` wants them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.instructions.len() * 8);
        for instruction in &self.instructions {
            bytes.extend(instruction.code.to_ne_bytes());
            bytes.extend([instruction.yes, instruction.no]);
            bytes.extend(instruction.value.to_ne_bytes());
        }
        bytes
    }

    /// How many instructions it has.
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Whether it is empty; it never is.
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    pub(super) fn compile(arch: Arch, denied: &[Denied], arguments: &[DeniedArgument]) -> Self {
        let ranges = ranges(arch, denied, arguments);
        let mut instructions = vec![
            Instruction::load(ARCH_AT),
            Instruction::new(JUMP_EQUAL, 1, 0, arch.audit()),
            // A 32-bit entry would be judged by 64-bit numbers.
            Instruction::give(KILL_PROCESS),
            Instruction::load(NUMBER_AT),
        ];
        let mut leaves = Vec::new();
        emit_tree(&mut instructions, &mut leaves, &ranges);
        // The rows stand behind the tree, since a program jumps forward only.
        for (row, rule) in arguments.iter().enumerate() {
            let here = instructions.len();
            for &(leaf, _) in leaves.iter().filter(|&&(_, wanted)| wanted == row) {
                instructions[leaf].value = u32::try_from(here - leaf - 1).unwrap_or(u32::MAX);
            }
            emit_row(&mut instructions, rule);
        }
        Self { instructions }
    }
}

/// The numbers from which on another action holds, in rising order.
fn ranges(arch: Arch, denied: &[Denied], arguments: &[DeniedArgument]) -> Vec<(u32, Action)> {
    let absent = Action::Return(ERRNO | errno(Answer::Absent));
    let action = |number: u32| {
        let is = |call: &str| arch.number(call) == Some(number);
        if !arch.knows(number) {
            absent
        } else if let Some(row) = denied.iter().find(|row| is(row.call)) {
            Action::Return(ERRNO | errno(row.answer))
        } else if let Some(row) = arguments.iter().position(|row| is(row.call)) {
            Action::Arguments(row)
        } else {
            Action::Return(ALLOW)
        }
    };
    let mut ranges: Vec<(u32, Action)> = Vec::new();
    // One past the last: newer calls, and the x32 ones far above, are absent.
    for number in 0..=arch.last() + 1 {
        let action = action(number);
        if ranges.last().is_none_or(|&(_, last)| last != action) {
            ranges.push((number, action));
        }
    }
    ranges
}

fn emit_tree(
    out: &mut Vec<Instruction>,
    leaves: &mut Vec<(usize, usize)>,
    ranges: &[(u32, Action)],
) {
    if let [(_, action)] = ranges {
        match *action {
            Action::Return(value) => out.push(Instruction::give(value)),
            Action::Arguments(row) => {
                leaves.push((out.len(), row));
                out.push(Instruction::new(JUMP, 0, 0, 0));
            }
        }
        return;
    }
    let (below, above) = ranges.split_at(ranges.len() / 2);
    let Some(&(first_above, _)) = above.first() else {
        return;
    };
    // Falls through to the lower half; a jump of 32 bits takes the rest, since a conditional one has 8.
    out.push(Instruction::new(JUMP_NOT_LESS, 0, 1, first_above));
    let jump = out.len();
    out.push(Instruction::new(JUMP, 0, 0, 0));
    emit_tree(out, leaves, below);
    out[jump].value = u32::try_from(out.len() - jump - 1).unwrap_or(u32::MAX);
    emit_tree(out, leaves, above);
}

fn emit_row(out: &mut Vec<Instruction>, row: &DeniedArgument) {
    out.push(Instruction::load(
        ARGUMENTS_AT + 8 * u32::from(row.argument) + LOWER_HALF,
    ));
    match row.test {
        Test::AnyBit(bits) => out.push(Instruction::new(JUMP_ANY_BIT, 1, 0, bits)),
        Test::AllBits(bits) => {
            out.push(Instruction::new(AND, 0, 0, bits));
            out.push(Instruction::new(JUMP_EQUAL, 1, 0, bits));
        }
        Test::Not(value) => out.push(Instruction::new(JUMP_EQUAL, 0, 1, value)),
        Test::OneOf(values) => {
            for (at, &value) in values.iter().enumerate() {
                let to_denied = u8::try_from(values.len() - at).unwrap_or(u8::MAX);
                out.push(Instruction::new(JUMP_EQUAL, to_denied, 0, value));
            }
        }
    }
    out.push(Instruction::give(ALLOW));
    out.push(Instruction::give(ERRNO | errno(row.answer)));
}

/// Where the lower 32 bits of an argument are; both architectures are little-endian.
const LOWER_HALF: u32 = 0;

fn errno(answer: Answer) -> u32 {
    answer.errno().cast_unsigned()
}

#[cfg(test)]
mod tests;
