//! What is kept of a block beyond its outcome: output over the limit, and files of the workspace.

use std::{collections::VecDeque, io::Read, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use codehatch_artifacts::{
    ArtifactError, ArtifactName, ArtifactStore, ArtifactWriter, SaveOptions, Saved,
};
use codehatch_protocol::Stream;
use codehatch_runtime::{CollectedFile, Skipped};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use crate::{
    capture::Capture,
    event::Event,
    ids::{BlockNumber, TurnId},
    limits::TurnLimits,
    outcome::{BlockOutcome, CapturedText},
    turn::{EventSink, Live},
};

/// Pieces of output that may wait for the store; then the sandbox waits.
const MAX_WAITING: usize = 16;
/// How long the store may take to keep a block's output at its end.
const KEEP_WITHIN: Duration = Duration::from_secs(30);
/// Bytes of a file that are read at once.
const PIECE_BYTES: usize = 256 * 1024;

/// Keeps the output of one block.
pub(crate) struct Keep {
    turn: TurnId,
    block: BlockNumber,
    store: Option<Arc<dyn ArtifactStore>>,
    streams: [Kept; 2],
    tasks: JoinSet<(Stream, Result<Saved, ArtifactError>)>,
}

struct Kept {
    capture: Capture,
    to_store: Option<mpsc::Sender<Bytes>>,
    /// What did not fit into the channel. More than one piece only when a block's last output is taken.
    waiting: VecDeque<Bytes>,
    saved: Option<Result<Saved, String>>,
}

impl Keep {
    pub(crate) fn new(
        turn: TurnId,
        block: BlockNumber,
        limit: usize,
        store: Option<Arc<dyn ArtifactStore>>,
    ) -> Self {
        let kept = || Kept {
            capture: Capture::new(limit),
            to_store: None,
            waiting: VecDeque::new(),
            saved: None,
        };
        Self {
            turn,
            block,
            store,
            streams: [kept(), kept()],
            tasks: JoinSet::new(),
        }
    }

    /// Whether the store keeps up.
    pub(crate) fn has_room(&self) -> bool {
        self.streams.iter().all(|kept| kept.waiting.is_empty())
    }

    /// Waits until the store has caught up. Cancel-safe.
    pub(crate) async fn wait_for_room(&mut self) {
        for kept in &mut self.streams {
            while let Some(sender) = kept.to_store.clone().filter(|_| !kept.waiting.is_empty()) {
                match sender.reserve().await {
                    Ok(permit) => {
                        if let Some(bytes) = kept.waiting.pop_front() {
                            permit.send(bytes);
                        }
                    }
                    // The store has failed; its error is in the task.
                    Err(_) => kept.to_store = None,
                }
            }
            if kept.to_store.is_none() {
                kept.waiting.clear();
            }
        }
    }

    pub(crate) fn push(&mut self, stream: Stream, bytes: Bytes) {
        let at = index(stream);
        let was_over = self.streams[at].capture.is_over();
        match self.streams[at].capture.push(&bytes) {
            Some(whole) => self.begin(stream, whole),
            None if was_over => self.pass_on(stream, bytes),
            None => {}
        }
    }

    /// Begins to keep a stream whose `whole` output so far is more than is shown.
    fn begin(&mut self, stream: Stream, whole: Bytes) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let text = format!(
            "code_mode/{}/{}-{}.txt",
            stream.as_str(),
            self.turn,
            self.block
        );
        let Ok(name) = ArtifactName::parse(&text) else {
            return;
        };
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        self.streams[index(stream)].to_store = Some(sender);
        self.tasks
            .spawn(async move { (stream, write_all(store, name, receiver).await) });
        self.pass_on(stream, whole);
    }

    fn pass_on(&mut self, stream: Stream, bytes: Bytes) {
        let kept = &mut self.streams[index(stream)];
        let Some(sender) = &kept.to_store else {
            return;
        };
        // In its order: nothing overtakes what waits already.
        if !kept.waiting.is_empty() {
            kept.waiting.push_back(bytes);
            return;
        }
        match sender.try_send(bytes) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(bytes)) => kept.waiting.push_back(bytes),
            Err(mpsc::error::TrySendError::Closed(_)) => kept.to_store = None,
        }
    }

    /// Completes the outcome: output that was kept, and the files that the block made.
    pub(crate) async fn finish(
        mut self,
        outcome: &mut BlockOutcome,
        live: &mut Live,
        limits: &TurnLimits,
        sink: &EventSink,
    ) {
        self.finish_streams().await;
        for (stream, text) in [
            (Stream::Stdout, &mut outcome.stdout),
            (Stream::Stderr, &mut outcome.stderr),
        ] {
            *text = self.text(stream);
            if let Some(saved) = &text.artifact {
                sink.send(Event::ArtifactSaved(saved.clone()));
                outcome.artifacts.push(saved.clone());
            }
        }
        self.collect(outcome, live, limits, sink).await;
    }

    async fn finish_streams(&mut self) {
        let finish = async {
            self.wait_for_room().await;
            for kept in &mut self.streams {
                kept.to_store = None;
            }
            while let Some(ended) = self.tasks.join_next().await {
                if let Ok((stream, saved)) = ended {
                    let saved = saved.map_err(|error| error.public_message());
                    self.streams[index(stream)].saved = Some(saved);
                }
            }
        };
        if timeout(KEEP_WITHIN, finish).await.is_err() {
            tracing::warn!(turn = %self.turn, "the artifact store did not keep a block's output in time");
        }
    }

    fn text(&mut self, stream: Stream) -> CapturedText {
        let kept = &mut self.streams[index(stream)];
        let total = kept.capture.total();
        let (note, artifact) = match kept.saved.take() {
            Some(Ok(saved)) => {
                let part = if saved.bytes == total {
                    format!("all {total} bytes")
                } else {
                    format!("the first {} of {total} bytes", saved.bytes)
                };
                let name = &saved.name;
                (
                    format!("{part} are in an artifact: load_artifact(filename='{name}')"),
                    Some(saved),
                )
            }
            Some(Err(error)) => (format!("they could not be kept: {error}"), None),
            None if self.store.is_none() => ("there is no place to keep them".to_owned(), None),
            None => ("they could not be kept in time".to_owned(), None),
        };
        CapturedText {
            text: kept.capture.text(&note),
            bytes: kept.capture.total(),
            artifact,
        }
    }

    async fn collect(
        &self,
        outcome: &mut BlockOutcome,
        live: &mut Live,
        limits: &TurnLimits,
        sink: &EventSink,
    ) {
        let Some(workspace) = &mut live.workspace else {
            return;
        };
        let collected = match workspace.collect(limits.collect).await {
            Ok(collected) => collected,
            Err(error) => {
                let reason = error.to_string();
                outcome.skipped.push(Skipped {
                    path: ".".into(),
                    reason,
                });
                return;
            }
        };
        outcome.deleted = collected.deleted;
        outcome.skipped = collected.skipped;
        let Some(store) = &self.store else {
            let unkept = collected.files.into_iter().map(|file| Skipped {
                path: file.path,
                reason: "there is no place to keep it".into(),
            });
            outcome.skipped.extend(unkept);
            return;
        };
        for file in collected.files {
            let path = file.path.clone();
            match save_file(store, file).await {
                Ok(saved) => {
                    sink.send(Event::ArtifactSaved(saved.clone()));
                    outcome.artifacts.push(saved);
                }
                Err(error) => {
                    tracing::warn!(turn = %self.turn, path, %error, "a file was not kept");
                    outcome.skipped.push(Skipped {
                        path,
                        reason: error.public_message(),
                    });
                }
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

/// Writes what comes. When a limit of the store is reached, what fits is kept.
async fn write_all(
    store: Arc<dyn ArtifactStore>,
    name: ArtifactName,
    mut pieces: mpsc::Receiver<Bytes>,
) -> Result<Saved, ArtifactError> {
    let options = SaveOptions::default().with_mime_type("text/plain");
    let mut writer = store.writer(&name, options).await?;
    while let Some(piece) = pieces.recv().await {
        match writer.write(&piece).await {
            Ok(()) => {}
            Err(full @ ArtifactError::LimitExceeded { .. }) => {
                write_what_fits(&mut *writer, &piece).await?;
                if writer.bytes() == 0 {
                    writer.abort().await?;
                    return Err(full);
                }
                break;
            }
            Err(error) => return Err(error),
        }
    }
    // Whatever else comes is only shown.
    pieces.close();
    writer.finish().await
}

/// Fills a writer up with the beginning of a piece that is too much as a whole.
async fn write_what_fits(
    writer: &mut dyn ArtifactWriter,
    mut piece: &[u8],
) -> Result<(), ArtifactError> {
    // Powers of two add up to any length.
    let mut length = piece.len().next_power_of_two();
    while length > 0 {
        if let Some((part, rest)) = piece.split_at_checked(length) {
            match writer.write(part).await {
                Ok(()) => piece = rest,
                Err(ArtifactError::LimitExceeded { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        length /= 2;
    }
    Ok(())
}

async fn save_file(
    store: &Arc<dyn ArtifactStore>,
    collected: CollectedFile,
) -> Result<Saved, ArtifactError> {
    let name = ArtifactName::parse(&collected.path)?;
    let mut reader = collected.file.take(collected.bytes);
    let read_failed = |error| {
        ArtifactError::storage(format!("read `{}`", collected.path), "the workspace", error)
    };
    let mut piece = vec![0; PIECE_BYTES];
    let length = read_piece(&mut reader, &mut piece).map_err(read_failed)?;
    if length < PIECE_BYTES {
        piece.truncate(length);
        return store
            .save(&name, Bytes::from(piece), SaveOptions::default())
            .await;
    }
    let mut writer: Box<dyn ArtifactWriter> = store.writer(&name, SaveOptions::default()).await?;
    let mut length = length;
    while length > 0 {
        writer.write(&piece[..length]).await?;
        length = read_piece(&mut reader, &mut piece).map_err(read_failed)?;
    }
    writer.finish().await
}

/// Fills `piece` as far as the file goes. The workspace is memory: this does not block.
fn read_piece(reader: &mut impl Read, piece: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < piece.len() {
        match reader.read(&mut piece[filled..])? {
            0 => break,
            length => filled += length,
        }
    }
    Ok(filled)
}

/// The bytes of base64 text, unless there are more than `limit`.
pub(crate) fn decode_base64(text: &str, limit: usize) -> Option<Bytes> {
    if text.len() / 4 * 3 > limit.saturating_add(3) {
        return None;
    }
    STANDARD
        .decode(text)
        .ok()
        .filter(|bytes| bytes.len() <= limit)
        .map(Bytes::from)
}
