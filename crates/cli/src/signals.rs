//! Ctrl-C and its kin, which end a command in good order.

use std::{fs, task::Poll};

use anyhow::Context;
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

/// A signal that asks the command to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// The polite `kill`.
    Terminate,
    /// The terminal is gone.
    Hangup,
}

impl Signal {
    const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::Hangup];

    fn kind(self) -> SignalKind {
        match self {
            Self::Interrupt => SignalKind::interrupt(),
            Self::Terminate => SignalKind::terminate(),
            Self::Hangup => SignalKind::hangup(),
        }
    }

    /// What shells show for a program that it ended.
    pub(crate) fn exit_code(self) -> u8 {
        128 + u8::try_from(self.kind().as_raw_value()).unwrap_or_default()
    }
}

/// Listens for the signals.
pub(crate) struct Signals {
    listeners: Vec<(Signal, Listener)>,
    /// The first that came.
    pub(crate) first: Option<Signal>,
    /// How many came.
    pub(crate) count: usize,
}

impl Signals {
    /// From here on, signals no longer end the process by themselves. Those that it was started to ignore, as
    /// `nohup` does, stay ignored.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let ignored = ignored();
        let heeded = Signal::ALL.into_iter().filter(|signal| {
            let bit = signal.kind().as_raw_value() - 1;
            ignored >> bit & 1 == 0
        });
        let listen = |each: Signal| Ok((each, signal(each.kind())?));
        let listeners = heeded.map(listen).collect::<std::io::Result<_>>();
        Ok(Self {
            listeners: listeners.context("cannot listen for signals")?,
            first: None,
            count: 0,
        })
    }

    /// Waits for the next one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Signal {
        let signal = std::future::poll_fn(|context| {
            let came = self.listeners.iter_mut().find_map(|(signal, listener)| {
                listener.poll_recv(context).is_ready().then_some(*signal)
            });
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        self.first.get_or_insert(signal);
        self.count += 1;
        signal
    }
}

/// The mask of ignored signals, see `SigIgn` in `proc_pid_status(5)`.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
