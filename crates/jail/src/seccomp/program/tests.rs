use super::*;

/// Runs a program as the kernel would.
fn run(program: &Program, arch: u32, number: u32, arguments: [u32; 6]) -> u32 {
    let load = |at: u32| match at {
        NUMBER_AT => number,
        ARCH_AT => arch,
        at => arguments[usize::try_from((at - ARGUMENTS_AT) / 8).expect("small")],
    };
    let (mut at, mut value) = (0, 0);
    loop {
        let instruction = program.instructions[at];
        at += 1;
        let holds = match instruction.code {
            LOAD => {
                value = load(instruction.value);
                continue;
            }
            AND => {
                value &= instruction.value;
                continue;
            }
            JUMP => {
                at += usize::try_from(instruction.value).expect("small");
                continue;
            }
            RETURN => return instruction.value,
            JUMP_EQUAL => value == instruction.value,
            JUMP_NOT_LESS => value >= instruction.value,
            JUMP_ANY_BIT => value & instruction.value != 0,
            code => panic!("unknown instruction {code:#x}"),
        };
        at += usize::from(if holds {
            instruction.yes
        } else {
            instruction.no
        });
    }
}

fn verdict(arch: Arch, call: &str, arguments: [u32; 6]) -> u32 {
    let number = arch.number(call).expect("the architecture has the call");
    run(&Program::new(arch), arch.audit(), number, arguments)
}

const BOTH: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

#[test]
fn every_denied_call_is_denied_and_every_other_known_one_allowed() {
    for arch in BOTH {
        let program = Program::new(arch);
        for number in 0..=arch.last() {
            let got = run(&program, arch.audit(), number, [0; 6]);
            let row = DENIED
                .iter()
                .find(|row| arch.number(row.call) == Some(number));
            let by_argument = DENIED_ARGUMENTS
                .iter()
                .any(|row| arch.number(row.call) == Some(number));
            match row {
                Some(row) => assert_eq!(got, ERRNO | errno(row.answer), "{}", row.call),
                None if !arch.knows(number) => assert_eq!(got, ERRNO | errno(Answer::Absent)),
                None if by_argument => {}
                None => assert_eq!(got, ALLOW, "call {number} of {arch:?}"),
            }
        }
    }
}

#[test]
fn arguments_decide_where_a_row_says_so() {
    for arch in BOTH {
        let denied = |answer: Answer| ERRNO | errno(answer);
        assert_eq!(verdict(arch, "socket", [1, 1, 0, 0, 0, 0]), ALLOW);
        for family in [0, 2, 10, 16, 17, 38, 40, 44] {
            let got = verdict(arch, "socket", [family, 1, 0, 0, 0, 0]);
            assert_eq!(got, denied(Answer::NoSuchFamily), "family {family}");
        }
        // SIGCHLD with CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID: libc's fork.
        assert_eq!(verdict(arch, "clone", [0x0120_0011, 0, 0, 0, 0, 0]), ALLOW);
        for bit in [7, 17, 25, 26, 27, 28, 29, 30] {
            let got = verdict(arch, "clone", [1 << bit, 0, 0, 0, 0, 0]);
            assert_eq!(got, denied(Answer::Forbidden), "bit {bit}");
        }
        assert_eq!(verdict(arch, "ioctl", [0, 0x5413, 0, 0, 0, 0]), ALLOW);
        assert_eq!(
            verdict(arch, "ioctl", [0, 0x5412, 0, 0, 0, 0]),
            denied(Answer::Forbidden)
        );
        assert_eq!(verdict(arch, "fcntl", [0, 6, 0, 0, 0, 0]), ALLOW);
        assert_eq!(
            verdict(arch, "fcntl", [0, 1031, 0, 0, 0, 0]),
            denied(Answer::Forbidden)
        );
        assert_eq!(
            verdict(arch, "sendto", [0, 0, 0, 0x4001, 0, 0]),
            denied(Answer::NotSupported)
        );
        assert_eq!(verdict(arch, "sendto", [0, 0, 0, 0x4000, 0, 0]), ALLOW);
        for (flags, got) in [
            (0x22, ALLOW), // MAP_PRIVATE | MAP_ANONYMOUS
            (0x01, ALLOW), // MAP_SHARED, of a file
            (0x21, denied(Answer::Forbidden)),
            (0x8021, denied(Answer::Forbidden)), // with MAP_POPULATE
            (0x23, denied(Answer::Forbidden)),   // MAP_SHARED_VALIDATE | MAP_ANONYMOUS
        ] {
            assert_eq!(
                verdict(arch, "mmap", [0, 0, 0, flags, 0, 0]),
                got,
                "{flags:#x}"
            );
        }
    }
}

#[test]
fn foreign_and_future_calls_never_pass() {
    let program = Program::new(Arch::X86_64);
    let i386 = 0x4000_0003;
    assert_eq!(run(&program, i386, 11, [0; 6]), KILL_PROCESS);
    let absent = ERRNO | errno(Answer::Absent);
    for number in [Arch::X86_64.last() + 1, 1_000, 0x4000_003B, u32::MAX] {
        assert_eq!(
            run(&program, Arch::X86_64.audit(), number, [0; 6]),
            absent,
            "{number:#x}"
        );
    }
}

#[test]
fn every_row_names_a_call_and_no_call_has_two() {
    let mut names: Vec<&str> = DENIED.iter().map(|row| row.call).collect();
    names.extend(DENIED_ARGUMENTS.iter().map(|row| row.call));
    for name in &names {
        assert!(
            BOTH.iter().any(|arch| arch.number(name).is_some()),
            "no such call: {name}"
        );
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a call stands in two rows");
}

#[test]
fn a_policy_without_a_row_lets_the_call_through() {
    let without: Vec<Denied> = DENIED
        .iter()
        .copied()
        .filter(|row| row.call != "ptrace")
        .collect();
    let program = Program::compile(Arch::X86_64, &without, DENIED_ARGUMENTS);
    let number = Arch::X86_64.number("ptrace").expect("known");
    assert_eq!(run(&program, Arch::X86_64.audit(), number, [0; 6]), ALLOW);
}
