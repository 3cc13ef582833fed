//! From arguments and configuration to an engine.

use std::{
    fs,
    io::{self, Write},
    num::NonZeroU32,
    sync::Arc,
};

use anyhow::{Context, ensure};
use codehatch::{
    Builder, Engine, Limits, TurnLimits,
    artifacts::{ArtifactLimits, DirectoryOptions, ObjectArtifactStore},
    local::{LocalConfig, LocalRuntime},
};

use crate::{
    args::SourceArguments,
    config::{ArtifactsTable, Config, LimitsTable, value::Size},
    exit::UsageError,
};

/// Open files with which an interpreter starts and can still open some of its own.
const LEAST_OPEN_FILES: u32 = 32;
/// Bytes of a frame in which all that is no argument and no result has room.
const LEAST_FRAME_BYTES: usize = 64 * 1024;

/// Reads everything that was named, and merges it: arguments win over files.
pub(crate) fn load(source: &SourceArguments) -> anyhow::Result<Config> {
    let mut config = Config::load(source.config.as_deref())?;
    for path in &source.mcp_config {
        config.add_servers(path)?;
    }
    for note in &config.notes {
        writeln!(io::stderr(), "codehatch: {note}")?;
    }
    if let Some(python) = &source.python {
        config.runtime.python = Some(python.clone());
    }
    Ok(config)
}

/// Builds the engine that the configuration describes.
pub(crate) async fn engine(config: &Config) -> anyhow::Result<Engine> {
    engine_with(config, Arc::new(LocalRuntime::new(local(config)))).await
}

/// The same, with a runtime that the caller keeps a hand on.
pub(crate) async fn engine_with(
    config: &Config,
    runtime: Arc<LocalRuntime>,
) -> anyhow::Result<Engine> {
    check(config).context(UsageError::default())?;
    let mut limits = limits(&config.limits);
    if let Some(size) = config.artifacts.max_size {
        // Or files that artifacts have room for would not be collected.
        let mut collect = limits.collect;
        collect.file_bytes = collect.file_bytes.max(size.0);
        collect.total_bytes = collect.total_bytes.max(size.0);
        limits = limits.with_collect(collect);
    }
    let mut builder = Builder::new().runtime(runtime).limits(limits);
    for server in config.mcp.values() {
        builder = builder.mcp(server.clone());
    }
    builder = if let Some(dir) = &config.artifacts.dir {
        fs::create_dir_all(dir)
            .with_context(|| {
                format!(
                    "cannot keep artifacts in `{}`; name another directory with `--artifacts`, or with `dir` in \
                     `[artifacts]`",
                    dir.display()
                )
            })
            .context(UsageError::default())?;
        let mut options = DirectoryOptions::default();
        options.limits = artifact_limits(&config.artifacts, options.limits);
        builder.artifacts_in(dir, options)
    } else {
        let limits = artifact_limits(&config.artifacts, ArtifactLimits::in_memory());
        builder.artifacts(Arc::new(ObjectArtifactStore::in_memory(limits)))
    };
    // Nothing but the directory of artifacts can be at fault here, and another one may do.
    builder.build().await.context(UsageError::default())
}

/// Finds values that parse, and with which nothing could run.
fn check(config: &Config) -> anyhow::Result<()> {
    if let Some(files) = config.limits.open_files.map(NonZeroU32::get) {
        ensure!(
            files >= LEAST_OPEN_FILES,
            "`open_files` in `[limits]` is {files}: a sandbox needs at least {LEAST_OPEN_FILES}"
        );
    }
    if let Some(bytes) = config.limits.frame.map(Size::as_usize) {
        ensure!(
            bytes >= LEAST_FRAME_BYTES,
            "`frame` in `[limits]` is {bytes} bytes: host and sandbox need at least {LEAST_FRAME_BYTES} to talk"
        );
    }
    let user = config.runtime.run_as.map(NonZeroU32::get);
    ensure!(
        user != Some(u32::MAX),
        "`run_as` in `[runtime]` is {}, which is the id of no user",
        u32::MAX
    );
    Ok(())
}

pub(crate) fn local(config: &Config) -> LocalConfig {
    // A command runs one turn: nothing is worth holding ready behind it.
    let mut local = LocalConfig::default()
        .with_pool(0)
        .with_preload(config.runtime.preload.iter().cloned())
        .with_variables(config.runtime.env.clone())
        .with_run_as(config.runtime.run_as.map(NonZeroU32::get));
    if let Some(python) = &config.runtime.python {
        local = local.with_python(python);
    }
    local
}

/// `limits`, but for those that the configuration gives.
pub(crate) fn artifact_limits(
    config: &ArtifactsTable,
    mut limits: ArtifactLimits,
) -> ArtifactLimits {
    if let Some(size) = config.max_size {
        limits = limits.with_artifact_bytes(size.0);
    }
    if let Some(size) = config.max_total {
        limits = limits.with_total_bytes(size.0);
    }
    limits
}

/// The limits that the configuration gives, the others at their defaults.
pub(crate) fn limits(config: &LimitsTable) -> TurnLimits {
    let mut sandbox = Limits::default();
    if let Some(size) = config.memory {
        sandbox = sandbox.with_memory_bytes(size.0);
    }
    if let Some(size) = config.workspace {
        sandbox = sandbox.with_workspace_bytes(size.0);
    }
    if let Some(size) = config.temporary {
        sandbox = sandbox.with_temporary_bytes(size.0);
    }
    if let Some(processes) = config.processes {
        sandbox = sandbox.with_processes(processes.get());
    }
    if let Some(open_files) = config.open_files {
        sandbox = sandbox.with_open_files(open_files.get());
    }
    if let Some(cpus) = config.cpus {
        sandbox = sandbox.with_cpu_milli(Some(cpus.milli));
    }
    let mut limits = TurnLimits::default().with_sandbox(sandbox);
    if let Some(time) = config.block_time {
        limits = limits.with_block_time(time.0);
    }
    if let Some(time) = config.cpu_time {
        limits = limits.with_cpu_time(Some(time.0));
    }
    if let Some(time) = config.grace {
        limits = limits.with_grace(time.0);
    }
    if let Some(time) = config.call_time {
        limits = limits.with_call_time(Some(time.0));
    }
    if let Some(calls) = config.parallel_calls {
        limits = limits.with_parallel_calls(calls);
    }
    if let Some(size) = config.output {
        limits = limits.with_output_bytes(size.as_usize());
    }
    if let Some(size) = config.code {
        limits = limits.with_code_bytes(size.as_usize());
    }
    if let Some(size) = config.frame {
        limits = limits.with_frame_bytes(size.as_usize());
    }
    limits
}
