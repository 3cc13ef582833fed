//! The tools as MCP offers them.

use rmcp::{
    Json, ServerHandler,
    handler::server::wrapper::Parameters,
    model::{Implementation, ServerCapabilities, ServerConfig},
    tool, tool_handler, tool_router,
};

use crate::{
    error::ToolError,
    files::{self, CountLines, FileList, FileText, LineCounts, ListFiles, ReadText},
    git::{self, Commits, FileHistory, RecentCommits},
    root::Root,
    search::{self, Found, SearchText},
};

/// The server: one directory and the tools over it.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    root: Root,
}

#[tool_router(server_handler = false)]
impl Workspace {
    pub(crate) fn new(root: Root) -> Self {
        Self { root }
    }

    /// Lists the files of the workspace with their sizes and languages.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_files(
        &self,
        Parameters(wanted): Parameters<ListFiles>,
    ) -> Result<Json<FileList>, String> {
        self.work(move |root| files::list(root, &wanted)).await
    }

    /// Reads a text file of the workspace, or some of its lines.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_text(
        &self,
        Parameters(wanted): Parameters<ReadText>,
    ) -> Result<Json<FileText>, String> {
        self.work(move |root| files::read(root, &wanted)).await
    }

    /// Finds the lines that match a regular expression in the text files of the workspace.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn search_text(
        &self,
        Parameters(wanted): Parameters<SearchText>,
    ) -> Result<Json<Found>, String> {
        self.work(move |root| search::search(root, &wanted)).await
    }

    /// Counts the lines of the text files of the workspace, file by file.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn count_lines(
        &self,
        Parameters(wanted): Parameters<CountLines>,
    ) -> Result<Json<LineCounts>, String> {
        self.work(move |root| files::count(root, &wanted)).await
    }

    /// Gives the commits that touched a file of the workspace, newest first.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn file_history(
        &self,
        Parameters(wanted): Parameters<FileHistory>,
    ) -> Result<Json<Commits>, String> {
        answer(git::file_history(&self.root, &wanted).await)
    }

    /// Gives the latest commits of the workspace, newest first, with the files that they touched.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn recent_commits(
        &self,
        Parameters(wanted): Parameters<RecentCommits>,
    ) -> Result<Json<Commits>, String> {
        answer(git::recent_commits(&self.root, &wanted).await)
    }

    /// Does work that blocks on a thread that may block.
    async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Root) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<Json<T>, String> {
        let root = self.root.clone();
        let done = tokio::task::spawn_blocking(move || job(&root)).await;
        answer(done.unwrap_or(Err(ToolError::Interrupted)))
    }
}

#[tool_handler]
impl ServerHandler for Workspace {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info =
            Implementation::new("codehatch-example-workspace", env!("CARGO_PKG_VERSION"));
        info.instructions = Some("Read-only tools over one project directory.".to_owned());
        info
    }
}

fn answer<T>(result: Result<T, ToolError>) -> Result<Json<T>, String> {
    result.map(Json).map_err(|error| error.to_string())
}
