//! `codehatch tools`.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use codehatch::{CatalogOptions, Engine, ToolSet};
use serde_json::json;

use crate::{
    args::{ToolsArguments, ToolsFormat},
    screen::Screen,
    servers, setup,
    signals::Signals,
};

pub(crate) async fn tools(arguments: ToolsArguments) -> anyhow::Result<ExitCode> {
    let config = setup::load(&arguments.source)?;
    let mut signals = Signals::new()?;
    let engine = setup::engine(&config).await?;
    let screen = Screen::start()?;
    let shown = tokio::select! {
        biased;
        signal = signals.next() => return Ok(ExitCode::from(signal.exit_code())),
        shown = show(&engine, &arguments, servers::ask(&engine, &config, &screen)) => shown,
    };
    screen.flush().await?;
    let shown = shown.and_then(|(text, complaints)| {
        for complaint in &complaints {
            writeln!(io::stderr(), "codehatch: {}", complaint.text)?;
        }
        writeln!(io::stdout().lock(), "{}", text.trim_end())?;
        Ok(complaints.iter().any(|complaint| complaint.is_failure))
    });
    tokio::select! {
        _ = signals.next() => {}
        () = engine.close() => {}
    }
    Ok(if shown? {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// What is wrong with a server, or with one of its tools.
struct Complaint {
    text: String,
    /// Tools are missing altogether.
    is_failure: bool,
}

async fn show(
    engine: &Engine,
    arguments: &ToolsArguments,
    asked: impl Future<Output = Vec<codehatch::ProviderReport>>,
) -> anyhow::Result<(String, Vec<Complaint>)> {
    let asked = asked.await;
    let failed = asked.iter().filter_map(servers::complaint);
    let mut complaints: Vec<Complaint> = failed
        .map(|text| Complaint {
            text,
            is_failure: true,
        })
        .collect();
    for (namespace, diagnostic) in engine.problems().await {
        let (tool, reason) = (&diagnostic.problem.tool, &diagnostic.problem.reason);
        let namespace = namespace.as_deref().unwrap_or("tools");
        complaints.push(Complaint {
            text: format!("{namespace}: `{tool}`: {reason}"),
            is_failure: false,
        });
    }
    Ok((render(engine, arguments).await?, complaints))
}

async fn render(engine: &Engine, arguments: &ToolsArguments) -> anyhow::Result<String> {
    let tools = engine.tools().await;
    Ok(match arguments.format {
        ToolsFormat::Catalog => {
            let options = CatalogOptions::default().with_budget_chars(arguments.budget);
            engine.catalog(options).await?.to_string()
        }
        ToolsFormat::Names => {
            let names: Vec<String> = tools
                .iter()
                .map(|tool| format!("tools.{}", tool.path()))
                .collect();
            names.join("\n")
        }
        ToolsFormat::Stubs => stubs(&tools),
        ToolsFormat::Json => as_json(&tools)?,
    })
}

fn stubs(tools: &ToolSet) -> String {
    let files = tools.files();
    let texts: Vec<String> = files
        .iter()
        .map(|file| format!("# /tools/{}\n{}", file.path(), file.source()))
        .collect();
    texts.join("\n")
}

fn as_json(tools: &ToolSet) -> anyhow::Result<String> {
    let all: Vec<_> = tools
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            json!({
                "path": tool.path(),
                "name": spec.name,
                "signature": tool.signature(),
                "description": spec.description,
                "input_schema": spec.input_schema,
                "output_schema": spec.output_schema,
                "read_only": spec.annotations.read_only,
                "destructive": spec.annotations.destructive,
                "idempotent": spec.annotations.idempotent,
                "open_world": spec.annotations.open_world,
            })
        })
        .collect();
    Ok(serde_json::to_string_pretty(&all)?)
}
