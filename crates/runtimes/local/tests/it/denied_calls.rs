//! Every row of the seccomp policy: the call is made by its number, and answers what the policy says.

use codehatch_jail::seccomp::{Answer, Arch, DENIED, DENIED_ARGUMENTS, Test};

use crate::support::{Session, Setup, block_on};

/// A call: name, and six arguments that harm nothing where it is allowed.
type Call = (&'static str, [u64; 6]);

/// No descriptor, no process, no address: a kernel that is reached refuses.
const NONSENSE: [u64; 6] = [u64::MAX; 6];

/// Makes each call in a process of its own, whose end counts as well.
async fn answers(session: &mut Session, calls: &[Call]) -> Vec<String> {
    let calls: Vec<String> = calls
        .iter()
        .map(|(name, arguments)| format!("({name:?}, {arguments:?})"))
        .collect();
    let code = format!(
        "
        signed = lambda value: value - (1 << 64) if value >> 63 else value
        for name, arguments in [{}]:
            print(name, in_child(call, name, *map(signed, arguments)))
        ",
        calls.join(", ")
    );
    session.attack(&code).await
}

fn name_of(answer: Answer) -> &'static str {
    match answer {
        Answer::Forbidden => "EPERM",
        Answer::Absent => "ENOSYS",
        Answer::NoSuchFamily => "EAFNOSUPPORT",
        Answer::NotSupported => "EOPNOTSUPP",
    }
}

/// Each value that a row denies, with the upper half of the register set and not.
fn denied_values(test: Test) -> Vec<u64> {
    let lower: Vec<u64> = match test {
        Test::AnyBit(bits) => (0..32)
            .map(|bit| 1 << bit)
            .filter(|bit| u64::from(bits) & bit != 0)
            .collect(),
        Test::AllBits(bits) => vec![bits.into(), u32::MAX.into()],
        Test::OneOf(values) => values.iter().copied().map(u64::from).collect(),
        Test::Not(value) => (0..48).filter(|&other| other != u64::from(value)).collect(),
    };
    let upper = lower.iter().map(|value| value | 1 << 32);
    upper.chain(lower.iter().copied()).collect()
}

#[test]
fn each_denied_call_answers_what_the_policy_says() {
    let calls: Vec<Call> = DENIED
        .iter()
        .filter(|row| Arch::NATIVE.number(row.call).is_some())
        .map(|row| (row.call, NONSENSE))
        .collect();
    assert!(calls.len() > 80, "{}", calls.len());
    let expected: Vec<String> = DENIED
        .iter()
        .filter(|row| Arch::NATIVE.number(row.call).is_some())
        .map(|row| format!("{} {}", row.call, name_of(row.answer)))
        .collect();
    block_on(async {
        let mut session = Setup::sealed().start().await;
        assert_eq!(answers(&mut session, &calls).await, expected);
        session.close().await;
    });
}

#[test]
fn each_denied_argument_answers_what_the_policy_says() {
    let mut calls = Vec::new();
    let mut expected = Vec::new();
    for row in DENIED_ARGUMENTS {
        for value in denied_values(row.test) {
            let mut arguments = NONSENSE;
            arguments[usize::from(row.argument)] = value;
            calls.push((row.call, arguments));
            expected.push(format!("{} {}", row.call, name_of(row.answer)));
        }
    }
    block_on(async {
        let mut session = Setup::sealed().start().await;
        assert_eq!(answers(&mut session, &calls).await, expected);
        session.close().await;
    });
}

/// Calls that the kernel itself answers otherwise than the policy, and that harm nothing with these arguments.
#[cfg(feature = "weaken")]
const HARMLESS: &[&str] = &[
    "add_key",
    "adjtimex",
    "clock_adjtime",
    "clock_settime",
    "fcntl",
    "flock",
    "inotify_init1",
    "io_setup",
    "ioctl",
    "keyctl",
    "memfd_create",
    "name_to_handle_at",
    "open_tree",
    "pidfd_getfd",
    "process_vm_readv",
    "ptrace",
    "recvmsg",
    "seccomp",
    "sendmsg",
    "setns",
    "shmget",
    "unshare",
    "vmsplice",
];

#[cfg(feature = "weaken")]
#[test]
fn a_call_whose_row_is_taken_out_reaches_the_kernel() {
    let denied = DENIED.iter().map(|row| (row.call, row.answer));
    let arguments = DENIED_ARGUMENTS.iter().map(|row| (row.call, row.answer));
    let rows: Vec<(&str, Answer)> = denied
        .chain(arguments)
        .filter(|(call, _)| HARMLESS.contains(call))
        .collect();
    let calls: Vec<Call> = rows.iter().map(|&(call, _)| (call, NONSENSE)).collect();
    let setup = Setup::weakened(codehatch_local::Weaken {
        calls: HARMLESS.to_vec(),
        ..Default::default()
    });
    block_on(async {
        let mut session = setup.start().await;
        let answers = answers(&mut session, &calls).await;
        assert_eq!(answers.len(), HARMLESS.len());
        for (answered, (call, denied)) in answers.iter().zip(rows) {
            assert_ne!(*answered, format!("{call} {}", name_of(denied)));
        }
        session.close().await;
    });
}
