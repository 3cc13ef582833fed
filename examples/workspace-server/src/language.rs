//! Which language a file is written in, by its name.

use std::path::Path;

/// The language's common name, or `None` if the name tells nothing.
pub(crate) fn of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    match name {
        "Dockerfile" => return Some("Dockerfile"),
        "Makefile" | "GNUmakefile" => return Some("Makefile"),
        "justfile" => return Some("Just"),
        _ => {}
    }
    let language = match path.extension()?.to_str()? {
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hh" | "hpp" => "C++",
        "cs" => "C#",
        "css" => "CSS",
        "go" => "Go",
        "html" | "htm" => "HTML",
        "java" => "Java",
        "js" | "mjs" | "cjs" | "jsx" => "JavaScript",
        "json" => "JSON",
        "kt" | "kts" => "Kotlin",
        "lua" => "Lua",
        "md" => "Markdown",
        "php" => "PHP",
        "py" | "pyi" => "Python",
        "rb" => "Ruby",
        "rs" => "Rust",
        "rst" => "reStructuredText",
        "scala" => "Scala",
        "sh" | "bash" => "Shell",
        "sql" => "SQL",
        "swift" => "Swift",
        "toml" => "TOML",
        "ts" | "tsx" | "mts" => "TypeScript",
        "txt" => "Text",
        "xml" => "XML",
        "yaml" | "yml" => "YAML",
        "zig" => "Zig",
        _ => return None,
    };
    Some(language)
}
