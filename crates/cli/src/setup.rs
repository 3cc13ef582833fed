//! From arguments and configuration to an engine.

use std::{path::Path, sync::Arc};

use anyhow::{Context, anyhow};
use codehatch::{
    Builder, Engine, Limits, TurnLimits,
    artifacts::{ArtifactLimits, DirectoryOptions, ObjectArtifactStore},
    local::{LocalConfig, LocalRuntime},
    mcp::{McpServer, McpTransport, Secret},
};

use crate::{
    args::SourceArguments,
    config::{Config, LimitsConfig, ServerConfig},
    exit::UsageError,
    mcp_json, secret,
};

/// Reads everything that was named, and merges it: arguments win over files.
pub(crate) fn load(source: &SourceArguments) -> anyhow::Result<Config> {
    let mut config = Config::load(source.config.as_deref())?;
    for path in &source.mcp_config {
        config.mcp.extend(mcp_json::load(path)?);
    }
    if let Some(python) = &config.runtime.python {
        config.runtime.python = Some(relative_to(&config.directory, python));
    }
    if let Some(python) = &source.python {
        config.runtime.python = Some(python.clone());
    }
    if let Some(dir) = &config.artifacts.dir {
        config.artifacts.dir = Some(relative_to(&config.directory, dir));
    }
    Ok(config)
}

/// A path in a configuration starts where the configuration is. A bare name is looked up in `PATH`.
fn relative_to(directory: &Path, path: &Path) -> std::path::PathBuf {
    if path.components().count() == 1 && !directory.join(path).exists() {
        path.to_owned()
    } else {
        directory.join(path)
    }
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
    let mut builder = Builder::new()
        .runtime(runtime)
        .limits(limits(&config.limits));
    for (name, server) in &config.mcp {
        builder = builder.mcp(mcp_server(name, server)?);
    }
    let of_artifacts = |mut limits: ArtifactLimits| {
        if let Some(size) = config.artifacts.max_size {
            limits = limits.with_artifact_bytes(size.0);
        }
        if let Some(size) = config.artifacts.max_total {
            limits = limits.with_total_bytes(size.0);
        }
        limits
    };
    builder = if let Some(dir) = &config.artifacts.dir {
        let mut options = DirectoryOptions::default();
        options.limits = of_artifacts(options.limits);
        builder.artifacts_in(dir, options)
    } else {
        let limits = of_artifacts(ArtifactLimits::in_memory());
        builder.artifacts(Arc::new(ObjectArtifactStore::in_memory(limits)))
    };
    builder.build().await.context("cannot set up")
}

pub(crate) fn local(config: &Config) -> LocalConfig {
    // A command runs one turn: nothing is worth holding ready behind it.
    let mut local = LocalConfig::default()
        .with_pool(0)
        .with_preload(config.runtime.preload.iter().cloned())
        .with_variables(config.runtime.env.clone())
        .with_run_as(config.runtime.run_as);
    if let Some(python) = &config.runtime.python {
        local = local.with_python(python);
    }
    local
}

fn limits(config: &LimitsConfig) -> TurnLimits {
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
        sandbox = sandbox.with_processes(processes);
    }
    if let Some(open_files) = config.open_files {
        sandbox = sandbox.with_open_files(open_files);
    }
    if let Some(cpus) = config.cpus {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes an integer by saturation"
        )]
        let milli = (cpus * 1000.0) as u32;
        sandbox = sandbox.with_cpu_milli(Some(milli));
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
    let bytes = |size: crate::value::Size| usize::try_from(size.0).unwrap_or(usize::MAX);
    if let Some(size) = config.output {
        limits = limits.with_output_bytes(bytes(size));
    }
    if let Some(size) = config.code {
        limits = limits.with_code_bytes(bytes(size));
    }
    if let Some(size) = config.frame {
        limits = limits.with_frame_bytes(bytes(size));
    }
    limits
}

fn mcp_server(name: &str, config: &ServerConfig) -> anyhow::Result<McpServer> {
    let secrets = |key: &str, texts: &std::collections::BTreeMap<String, String>| {
        let pairs = texts.iter();
        pairs
            .map(|(inner, text)| {
                let value = secret::resolve(&format!("mcp.{name}.{key}.{inner}"), text);
                Ok((inner.clone(), Secret::from(value.context(UsageError)?)))
            })
            .collect::<anyhow::Result<_>>()
    };
    let transport = match (&config.command, &config.url) {
        (Some(command), None) => McpTransport::Stdio {
            command: command.clone(),
            args: config.args.clone(),
            env: secrets("env", &config.env)?,
            cwd: config.cwd.clone(),
        },
        (None, Some(url)) => McpTransport::Http {
            url: url.clone(),
            headers: secrets("headers", &config.headers)?,
        },
        (Some(_), Some(_)) => {
            let error = anyhow!("mcp.{name}: has both `command` and `url`; keep one of them");
            return Err(error.context(UsageError));
        }
        (None, None) => {
            let error = anyhow!("mcp.{name}: needs `command` (a program) or `url` (an address)");
            return Err(error.context(UsageError));
        }
    };
    let mut server = McpServer::new(name, transport);
    if let Some(time) = config.connect_timeout {
        server = server.with_connect_timeout(time.0);
    }
    if let Some(time) = config.list_timeout {
        server = server.with_list_timeout(time.0);
    }
    Ok(server)
}
