//! `codehatch tools`.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use codehatch::{CatalogOptions, Engine, ToolSet};
use serde_json::json;

use crate::{
    args::{ToolsArguments, ToolsFormat},
    setup,
};

pub(crate) async fn tools(arguments: ToolsArguments) -> anyhow::Result<ExitCode> {
    let config = setup::load(&arguments.source)?;
    let engine = setup::engine(&config).await?;
    let text = render(&engine, &arguments).await;
    let mut failed = false;
    for provider in engine.providers().await {
        if let Some(error) = provider.error {
            failed = true;
            writeln!(io::stderr(), "codehatch: {error}")?;
        }
    }
    for (namespace, diagnostic) in engine.problems().await {
        let (tool, reason) = (&diagnostic.problem.tool, &diagnostic.problem.reason);
        let namespace = namespace.as_deref().unwrap_or("tools");
        writeln!(
            io::stderr(),
            "codehatch: {namespace}: tool `{tool}`: {reason}"
        )?;
    }
    engine.close().await;
    writeln!(io::stdout().lock(), "{}", text?.trim_end())?;
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
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
            names.join(
                "
",
            )
        }
        ToolsFormat::Stubs => stubs(&tools),
        ToolsFormat::Json => as_json(&tools)?,
    })
}

fn stubs(tools: &ToolSet) -> String {
    let files = tools.files();
    let texts: Vec<String> = files
        .iter()
        .map(|file| {
            format!(
                "# /tools/{}
{}",
                file.path(),
                file.source()
            )
        })
        .collect();
    texts.join(
        "
",
    )
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
