//! What a terminal shows while a block is quiet.

use std::{
    io::{IsTerminal, Write, stderr, stdout},
    time::Duration,
};

use codehatch::{Event, Stream};
use indicatif::{ProgressBar, ProgressStyle};

/// Shows the running block on a terminal; does nothing in a pipe.
pub(crate) struct Progress {
    bar: ProgressBar,
    calls: usize,
    running: Vec<String>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let bar = if stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
                bar.set_style(style);
            }
            bar
        } else {
            ProgressBar::hidden()
        };
        Self {
            bar,
            calls: 0,
            running: Vec::new(),
        }
    }

    /// Takes note of an event, and prints output.
    pub(crate) fn event(&mut self, event: &Event, source: &str) -> std::io::Result<()> {
        match event {
            Event::BlockStarted { .. } => {
                self.bar.reset();
                self.bar.enable_steady_tick(Duration::from_millis(200));
                self.bar.set_message(format!("running {source}"));
            }
            Event::CallStarted { tool, .. } => {
                self.calls += 1;
                self.running.push(tool.clone());
                self.show(source);
            }
            Event::CallEnded { tool, .. } => {
                if let Some(at) = self.running.iter().position(|running| running == tool) {
                    self.running.remove(at);
                }
                self.show(source);
            }
            Event::Output { stream, bytes } => return self.print(*stream, bytes),
            Event::BlockEnded { .. } => self.bar.finish_and_clear(),
            _ => {}
        }
        Ok(())
    }

    fn show(&self, source: &str) {
        let mut message = format!("running {source}: {} tool calls", self.calls);
        if let Some(tool) = self.running.last() {
            message.push_str(", now ");
            message.push_str(tool);
        }
        self.bar.set_message(message);
    }

    fn print(&self, stream: Stream, bytes: &[u8]) -> std::io::Result<()> {
        self.bar.suspend(|| match stream {
            Stream::Stdout => {
                let mut out = stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            Stream::Stderr => stderr().lock().write_all(bytes),
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
