//! The only writer to standard output and standard error while blocks run. It never blocks its callers: a thread
//! of its own writes, and shows on a terminal what is going on while nothing is written.

use std::{
    cell::RefCell,
    env,
    fs::File,
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use codehatch::Stream;
use rustix::{
    event::{PollFd, PollFlags, poll},
    termios::tcgetwinsize,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

/// Pieces that may wait for a slow reader; then the sandbox waits.
const QUEUE: usize = 16;
/// How long nothing is written before the terminal shows what is going on, and how often that is renewed.
const QUIET: Duration = Duration::from_millis(200);

/// Writes to standard output and standard error, in the order in which it was told to.
pub(crate) struct Screen {
    pieces: mpsc::Sender<Piece>,
    /// Why the thread has stopped, if it has.
    failed: Arc<Mutex<Option<io::Error>>>,
    lines: RefCell<Lines>,
    has_terminal: bool,
    /// The terminal can show what is going on.
    has_status: bool,
}

enum Piece {
    Write(Stream, Bytes),
    /// What is going on; `None` is nothing.
    Status(Option<String>),
    /// Everything before it is written, and the terminal is as the blocks left it.
    Flushed(oneshot::Sender<()>),
}

/// A place in the queue.
pub(crate) struct Room<'a> {
    permit: mpsc::Permit<'a, Piece>,
    lines: &'a RefCell<Lines>,
}

/// Which streams stand at the beginning of a line.
struct Lines {
    at_start: [bool; 2],
    /// Both streams lead to a terminal, where what one writes moves the other.
    shared: bool,
}

impl Lines {
    fn note(&mut self, stream: Stream, bytes: &[u8]) {
        if let Some(&last) = bytes.last() {
            let ended = last == b'\n';
            if self.shared {
                self.at_start = [ended; 2];
            } else {
                self.at_start[index(stream)] = ended;
            }
        }
    }
}

fn index(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
    }
}

impl Room<'_> {
    /// Has bytes written as they are.
    pub(crate) fn write(self, stream: Stream, bytes: Bytes) {
        self.lines.borrow_mut().note(stream, &bytes);
        self.permit.send(Piece::Write(stream, bytes));
    }

    /// Has text written on lines of its own.
    pub(crate) fn write_line(self, stream: Stream, text: &str) {
        let newline = if self.lines.borrow().at_start[index(stream)] {
            ""
        } else {
            "\n"
        };
        self.write(stream, Bytes::from(format!("{newline}{text}\n")));
    }
}

impl Screen {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let outs = Outs {
            // Without the buffers of the standard library, which look for line ends.
            files: [
                io::stdout().as_fd().try_clone_to_owned()?.into(),
                io::stderr().as_fd().try_clone_to_owned()?.into(),
            ],
            shared: io::stdout().is_terminal(),
        };
        // A dumb terminal knows no way back in a line.
        let is_dumb = env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb");
        let has_terminal = io::stderr().is_terminal();
        let lines = RefCell::new(Lines {
            at_start: [true; 2],
            shared: has_terminal && outs.shared,
        });
        let (pieces, receiver) = mpsc::channel(QUEUE);
        let failed = Arc::new(Mutex::new(None));
        let failure = Arc::clone(&failed);
        let clock = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        // Ends with the command: a reader that never reads cannot be waited for.
        thread::Builder::new()
            .name("screen".into())
            .spawn(move || {
                let mut receiver = receiver;
                if let Err(error) = clock.block_on(outs.run(&mut receiver)) {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                // Only now do senders learn of the end.
                drop(receiver);
            })?;
        Ok(Self {
            pieces,
            failed,
            lines,
            has_terminal,
            has_status: has_terminal && !is_dumb,
        })
    }

    /// Waits for a place in the queue. Cancel-safe.
    pub(crate) async fn room(&self) -> io::Result<Room<'_>> {
        match self.pieces.reserve().await {
            Ok(permit) => Ok(Room {
                permit,
                lines: &self.lines,
            }),
            Err(_) => Err(self.failure()),
        }
    }

    /// Says what is going on, for a terminal. Passed over if the reader is slow.
    pub(crate) fn status(&self, text: Option<String>) {
        if self.has_status {
            let _ = self.pieces.try_send(Piece::Status(text));
        }
    }

    /// Whether a person may be watching.
    pub(crate) fn has_terminal(&self) -> bool {
        self.has_terminal
    }

    /// Waits until everything is written. Cancel-safe.
    pub(crate) async fn flush(&self) -> io::Result<()> {
        let (sender, flushed) = oneshot::channel();
        self.room().await?.permit.send(Piece::Flushed(sender));
        flushed.await.map_err(|_| self.failure())
    }

    fn failure(&self) -> io::Error {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let error = failed.take();
        error.unwrap_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

/// What the thread has.
struct Outs {
    files: [File; 2],
    /// Standard output is a terminal.
    shared: bool,
}

impl Outs {
    async fn run(mut self, pieces: &mut mpsc::Receiver<Piece>) -> io::Result<()> {
        let mut status: Option<String> = None;
        let mut since = Instant::now();
        let mut at_line_start = true;
        let mut line: Option<StatusLine> = None;
        loop {
            let piece = match &status {
                Some(text) if at_line_start => {
                    let Ok(piece) = timeout(QUIET, pieces.recv()).await else {
                        let line = line.get_or_insert_with(|| StatusLine::new(since));
                        line.draw(&mut self.files[index(Stream::Stderr)], text)?;
                        continue;
                    };
                    piece
                }
                _ => pieces.recv().await,
            };
            let has_status = matches!(piece, Some(Piece::Status(Some(_))));
            if line.take_if(|_| !has_status).is_some() {
                StatusLine::clear(&mut self.files[index(Stream::Stderr)])?;
            }
            match piece {
                Some(Piece::Status(text)) => {
                    if status.is_none() {
                        since = Instant::now();
                    }
                    status = text;
                }
                Some(Piece::Write(stream, bytes)) => {
                    write_all(&mut self.files[index(stream)], &bytes)?;
                    let moves_cursor = stream == Stream::Stderr || self.shared;
                    if let Some(&last) = bytes.last().filter(|_| moves_cursor) {
                        at_line_start = last == b'\n';
                    }
                }
                Some(Piece::Flushed(flushed)) => drop(flushed.send(())),
                None => return Ok(()),
            }
        }
    }
}

/// The line at the bottom of a terminal that says what is going on.
struct StatusLine {
    /// When that began.
    since: Instant,
    /// How often it was drawn.
    drawn: usize,
}

impl StatusLine {
    const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    /// Longest line, in columns. Short of the terminal's edge: there, the `^C` that the terminal itself writes would
    /// begin another line, and this one would stay.
    const COLUMNS: usize = 72;

    fn new(since: Instant) -> Self {
        Self { since, drawn: 0 }
    }

    fn draw(&mut self, terminal: &mut File, text: &str) -> io::Result<()> {
        let frame = Self::FRAMES[self.drawn % Self::FRAMES.len()];
        self.drawn += 1;
        let time = Duration::from_secs(self.since.elapsed().as_secs());
        let time = humantime::format_duration(time);
        let columns = tcgetwinsize(&*terminal).map_or(80, |size| usize::from(size.ws_col));
        let most = Self::COLUMNS.min(columns.saturating_sub(4));
        let line = shortened(&format!("{frame} {time} {text}"), most);
        // Over what stands there, then to the end of the line.
        write_all(terminal, format!("\r{line}\x1b[K").as_bytes())
    }

    fn clear(terminal: &mut File) -> io::Result<()> {
        write_all(terminal, b"\r\x1b[K")
    }
}

/// The beginning of a text, in at most so many columns.
fn shortened(text: &str, columns: usize) -> String {
    // What is not ASCII may be two columns wide; narrower does no harm.
    let width = |character: char| if character.is_ascii() { 1 } else { 2 };
    let mut left = columns;
    let mut shortened = String::new();
    for character in text.chars() {
        let Some(rest) = left.checked_sub(width(character)) else {
            shortened.pop();
            shortened.push('…');
            break;
        };
        left = rest;
        shortened.push(character);
    }
    shortened
}

/// As `write_all` of the standard library, and it waits where another program has made the file non-blocking.
fn write_all(file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(&*file, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_the_edge_and_says_so() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abcd", 3), "ab…");
        assert_eq!(shortened("äbc", 3), "äb…".replace('b', ""));
        assert_eq!(shortened("", 0), "");
    }
}
