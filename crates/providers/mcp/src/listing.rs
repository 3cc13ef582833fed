//! Reads a server's whole tool list, page by page and within bounds.

use std::collections::{HashMap, HashSet};

use codehatch_tools::{Listing, ToolProblem};
use rmcp::model::ErrorCode;
use tokio::time::{self, Instant};

use crate::{
    config::McpServer,
    connection::{Connection, RequestFault},
    fault,
    tool::{self, ToolFacts},
    wire::{elements, member, string},
};

/// Pages that are read. A server that sends an empty page each time would go on for ever.
const MAX_PAGES: usize = 5_000;

/// A tool list with what calls need to know of each tool.
#[derive(Debug, Default)]
pub(crate) struct ReadList {
    pub(crate) listing: Listing,
    pub(crate) facts: HashMap<String, ToolFacts>,
}

/// Why not even the first page could be read.
#[derive(Debug)]
pub(crate) enum ListFault {
    Request(RequestFault),
    TimedOut,
}

/// Reads all pages. What cannot be read after the first page is a problem of the listing, not an error.
pub(crate) async fn read(
    connection: &Connection,
    server: &McpServer,
) -> Result<ReadList, ListFault> {
    let deadline = Instant::now() + server.list_timeout;
    let mut reader = Reader::new(server);
    let mut cursor = None;
    loop {
        let page = match time::timeout_at(deadline, connection.list_page(cursor.clone())).await {
            Ok(page) => page.map_err(ListFault::Request),
            Err(_) => Err(ListFault::TimedOut),
        };
        match page {
            Ok(page) => {
                cursor = reader.page(page.get());
                if cursor.is_none() {
                    return Ok(reader.list);
                }
            }
            Err(ListFault::Request(RequestFault::Refused(error)))
                if reader.pages == 0
                    && error.code == ErrorCode::METHOD_NOT_FOUND
                    && !connection.offers_tools =>
            {
                // It has prompts or resources only.
                return Ok(reader.list);
            }
            Err(fault) if reader.pages == 0 => return Err(fault),
            // Many servers mean the end by an empty cursor and refuse it when it comes back.
            Err(ListFault::Request(RequestFault::Refused(_))) if cursor.as_deref() == Some("") => {
                return Ok(reader.list);
            }
            Err(ListFault::TimedOut) => {
                let timeout = server.list_timeout;
                reader.stop(&format!("the list took longer than {timeout:?}"));
                return Ok(reader.list);
            }
            Err(ListFault::Request(fault)) => {
                reader.stop(&format!(
                    "page {} could not be read (the server {})",
                    reader.pages + 1,
                    fault::of_list(fault)
                ));
                return Ok(reader.list);
            }
        }
    }
}

/// Takes the pages in.
#[derive(Debug)]
struct Reader<'a> {
    server: &'a McpServer,
    list: ReadList,
    pages: usize,
    bytes: usize,
    entries: usize,
    cursors: HashSet<String>,
}

impl<'a> Reader<'a> {
    fn new(server: &'a McpServer) -> Self {
        Self {
            server,
            list: ReadList::default(),
            pages: 0,
            bytes: 0,
            entries: 0,
            cursors: HashSet::new(),
        }
    }

    /// Takes one page in; the cursor of the next, if there is one to be read.
    fn page(&mut self, page: &str) -> Option<String> {
        let limits = &self.server.limits;
        self.pages += 1;
        self.bytes += page.len();
        let cursor = member(page, "nextCursor").and_then(string);
        let mut all_known = true;
        for entry in member(page, "tools").into_iter().flat_map(elements) {
            if self.list.listing.tools.len() >= limits.max_tools {
                self.stop(&format!("there are more than {} tools", limits.max_tools));
                return None;
            }
            all_known &= !self.entry(entry);
        }
        let cursor = cursor?.into_owned();
        if self.bytes >= limits.max_list_bytes {
            self.stop(&format!(
                "the list is longer than {} bytes",
                limits.max_list_bytes
            ));
            return None;
        }
        if self.pages >= MAX_PAGES {
            self.stop(&format!("there are more than {MAX_PAGES} pages"));
            return None;
        }
        if !self.cursors.insert(cursor.clone()) {
            // A server that starts over when its last cursor comes back has shown everything.
            if !all_known {
                self.stop("a cursor occurred twice");
            }
            return None;
        }
        Some(cursor)
    }

    /// Takes one entry in. `false` if a tool of that name is known.
    fn entry(&mut self, entry: &str) -> bool {
        self.entries += 1;
        let tool = match tool::read(entry, self.entries) {
            Ok(tool) => tool,
            Err(problem) => {
                self.list.listing.problems.push(problem);
                return true;
            }
        };
        let name = tool.spec.name.clone();
        if self.list.facts.contains_key(&name) {
            let starts_over = self.cursors.contains("");
            if !starts_over {
                self.list.listing.problems.push(ToolProblem {
                    tool: name,
                    reason: "it is listed twice; the first one is used".to_owned(),
                });
            }
            return false;
        }
        self.list.facts.insert(name, tool.facts);
        self.list.listing.problems.extend(tool.problem);
        self.list.listing.tools.push(tool.spec);
        true
    }

    fn stop(&mut self, why: &str) {
        let known = self.list.listing.tools.len();
        self.list.listing.problems.push(ToolProblem {
            tool: format!("tools after the first {known}"),
            reason: format!("{why}; the rest is left out"),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::{McpLimits, McpTransport};

    fn page(names: &[&str], cursor: Option<&str>) -> String {
        let tools: Vec<_> = names
            .iter()
            .map(|name| json!({"name": name, "inputSchema": {}}))
            .collect();
        let mut page = json!({"tools": tools});
        if let Some(cursor) = cursor {
            page["nextCursor"] = Value::from(cursor);
        }
        page.to_string()
    }

    fn server(limits: McpLimits) -> McpServer {
        McpServer::new("s", McpTransport::http("http://localhost/")).with_limits(limits)
    }

    /// Tool names, problems, and whether the reader would go on.
    fn read_pages(limits: McpLimits, pages: &[String]) -> (Vec<String>, Vec<String>, bool) {
        let server = server(limits);
        let mut reader = Reader::new(&server);
        let mut more = true;
        for page in pages {
            assert!(more, "read on after the end");
            more = reader.page(page).is_some();
        }
        let names = reader.list.listing.tools.into_iter().map(|tool| tool.name);
        let problems = reader.list.listing.problems.into_iter();
        let problems = problems.map(|problem| format!("{}: {}", problem.tool, problem.reason));
        (names.collect(), problems.collect(), more)
    }

    #[test]
    fn an_empty_page_is_not_the_end() {
        let pages = [
            page(&["a"], Some("1")),
            page(&[], Some("2")),
            page(&["b"], None),
        ];
        let read = read_pages(McpLimits::default(), &pages);
        assert_eq!(read, (vec!["a".to_owned(), "b".to_owned()], vec![], false));
    }

    #[test]
    fn an_empty_cursor_is_followed_once() {
        let pages = [page(&["a"], Some("")), page(&["b"], None)];
        let read = read_pages(McpLimits::default(), &pages);
        assert_eq!(read, (vec!["a".to_owned(), "b".to_owned()], vec![], false));
    }

    #[test]
    fn a_server_that_starts_over_after_an_empty_cursor_has_shown_everything() {
        let pages = [page(&["a"], Some("")), page(&["a"], Some(""))];
        let read = read_pages(McpLimits::default(), &pages);
        assert_eq!(read, (vec!["a".to_owned()], vec![], false));
    }

    #[test]
    fn a_loop_of_cursors_ends_with_a_word() {
        let pages = [
            page(&["a"], Some("1")),
            page(&["b"], Some("2")),
            page(&["c"], Some("1")),
        ];
        let (names, problems, more) = read_pages(McpLimits::default(), &pages);
        assert_eq!((names.len(), more), (3, false));
        assert_eq!(
            problems,
            ["tools after the first 3: a cursor occurred twice; the rest is left out"]
        );
    }

    #[test]
    fn tools_and_bytes_beyond_the_limits_are_left_out() {
        let limits = McpLimits::default().with_max_tools(1);
        let (names, problems, _) = read_pages(limits, &[page(&["a", "b"], None)]);
        assert_eq!((names.len(), problems.len()), (1, 1));
        let limits = McpLimits::default().with_max_list_bytes(10);
        let (names, problems, more) = read_pages(limits, &[page(&["a"], Some("1"))]);
        assert_eq!((names.len(), problems.len(), more), (1, 1, false));
    }

    #[test]
    fn a_name_listed_twice_is_taken_once() {
        let (names, problems, _) = read_pages(McpLimits::default(), &[page(&["a", "a"], None)]);
        assert_eq!(names, ["a"]);
        assert_eq!(problems, ["a: it is listed twice; the first one is used"]);
    }
}
