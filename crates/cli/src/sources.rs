//! The programs and input files that a command line names. Nothing runs before all of them are read.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, IsTerminal, Read, Write},
    path::Path,
};

use anyhow::{Context, anyhow, ensure};

use crate::exit::UsageError;

/// A block's code and what to call it.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) code: String,
}

/// Reads the blocks, each of at most `limit` bytes.
pub(crate) fn read_blocks(
    files: &[std::path::PathBuf],
    codes: &[String],
    limit: usize,
) -> anyhow::Result<Vec<Source>> {
    let from_arguments = codes.iter().map(|code| ("-c".to_owned(), code.clone()));
    let mut blocks: Vec<Source> = from_arguments
        .map(|(name, code)| Source { name, code })
        .collect();
    let mut stdin_is_read = false;
    for file in files {
        let (name, bytes) = if file == Path::new("-") {
            ensure!(
                !std::mem::replace(&mut stdin_is_read, true),
                UsageError::new("`-` is given twice, but standard input can be read only once")
            );
            (
                "standard input".to_owned(),
                read_stdin(limit).context("cannot read standard input")?,
            )
        } else {
            let name = file.display().to_string();
            let read = File::open(file).and_then(|file| read_up_to(file, limit));
            let bytes = read
                .with_context(|| format!("cannot read `{name}`"))
                .context(UsageError::default())?;
            (name, bytes)
        };
        let code = text(&name, bytes)?;
        blocks.push(Source { name, code });
    }
    for block in &blocks {
        ensure!(
            block.code.len() <= limit,
            UsageError::new(format!(
                "`{}` has more than {limit} bytes, the most that a block may have: split it, put data into a \
                 file for `--input`, or raise `code` in `[limits]`",
                block.name
            ))
        );
    }
    Ok(blocks)
}

fn read_stdin(limit: usize) -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let hint = "codehatch: type the program, and end it with Ctrl-D on a line of its own";
        let _ = writeln!(io::stderr(), "{hint}");
    }
    read_up_to(stdin.lock(), limit)
}

/// One byte more than the limit tells that there is more.
fn read_up_to(reader: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    // A byte order mark is no part of the code.
    reader
        .take(length.saturating_add(3))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text(name: &str, mut bytes: Vec<u8>) -> anyhow::Result<String> {
    // Editors on Windows put it there; Python's own reader takes it away as well.
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].split(|&byte| byte == b'\n').count();
        let message =
            format!("`{name}` is not UTF-8 text (byte {at}, line {line}): save it as UTF-8");
        anyhow!(UsageError::new(message))
    })
}

/// An input file: where it goes in the workspace, and its contents.
pub(crate) type Input = (String, Vec<u8>);

/// Reads input files, together of at most `limit` bytes.
pub(crate) fn read_inputs(inputs: &[String], limit: u64) -> anyhow::Result<Vec<Input>> {
    let mut files = Vec::new();
    let mut names = BTreeSet::new();
    let mut left = limit;
    for input in inputs {
        let (path, name) = split(input);
        ensure!(
            names.insert(name.clone()),
            UsageError::new(format!(
                "two inputs are called `{name}`: give one of them another name, as in \
                 `--input {}=NAME`",
                path.display()
            ))
        );
        let mut contents = Vec::new();
        let read = File::open(path)
            .and_then(|file| file.take(left.saturating_add(1)).read_to_end(&mut contents));
        read.with_context(|| format!("cannot read the input `{}`", path.display()))
            .context(UsageError::default())?;
        let length = u64::try_from(contents.len()).unwrap_or(u64::MAX);
        let Some(rest) = left.checked_sub(length) else {
            return Err(anyhow!(UsageError::new(format!(
                "the input `{}` does not fit into the workspace of {limit} bytes: raise `workspace` in \
                 `[limits]`",
                path.display()
            ))));
        };
        left = rest;
        files.push((name, contents));
    }
    Ok(files)
}

/// `FILE` or `FILE=NAME`. A file that has the whole text as its name is meant.
fn split(input: &str) -> (&Path, String) {
    let whole = Path::new(input);
    match input.rsplit_once('=') {
        Some((path, name)) if !whole.exists() => (Path::new(path), name.to_owned()),
        _ => {
            let name = whole.file_name().map(|name| name.to_string_lossy());
            (whole, name.unwrap_or_default().into_owned())
        }
    }
}
