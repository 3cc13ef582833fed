//! Settings of the local runtime.

use std::path::PathBuf;

/// Settings of the local runtime. Build with [`LocalConfig::default`] and the `with_*` methods.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalConfig {
    /// An interpreter or a virtual environment. `None`, the default, takes the best `python3` in `PATH`.
    pub python: Option<PathBuf>,
    /// Modules that every block finds loaded, so that importing them costs nothing. Default none.
    ///
    /// They are imported once, outside of any session and before isolation of one; their memory is shared by
    /// all sessions until written to. They must not hold secrets.
    pub preload: Vec<String>,
    /// Environment variables of model code, beside the fixed ones. Default none. Model code can read them.
    pub variables: Vec<(String, String)>,
    /// As root: the user and group that sandboxes run as. `None`, the default, takes an unused one.
    pub run_as: Option<u32>,
    /// Sessions that wait ready, isolated and warm. Default 1: enough for one start at a time.
    ///
    /// Each holds about 1.5 MB. With 0 every start forks a session, which takes about 3 ms.
    pub pool: usize,
    /// What is left out, to test that tests notice.
    #[cfg(feature = "weaken")]
    pub weaken: codehatch_jail::Weaken,
}

impl Default for LocalConfig {
    fn default() -> Self {
        Self {
            python: None,
            preload: Vec::new(),
            variables: Vec::new(),
            run_as: None,
            pool: 1,
            #[cfg(feature = "weaken")]
            weaken: codehatch_jail::Weaken::default(),
        }
    }
}

impl LocalConfig {
    /// Replaces the number of sessions that wait ready.
    #[must_use]
    pub fn with_pool(mut self, sessions: usize) -> Self {
        self.pool = sessions;
        self
    }

    /// Replaces the interpreter or virtual environment.
    #[must_use]
    pub fn with_python(mut self, python: impl Into<PathBuf>) -> Self {
        self.python = Some(python.into());
        self
    }

    /// Replaces the modules that are loaded ahead.
    #[must_use]
    pub fn with_preload(mut self, modules: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.preload = modules.into_iter().map(Into::into).collect();
        self
    }

    /// Replaces the environment variables of model code.
    #[must_use]
    pub fn with_variables(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        self.variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        self
    }

    /// Leaves out parts of the isolation.
    #[cfg(feature = "weaken")]
    #[must_use]
    pub fn with_weaken(mut self, weaken: codehatch_jail::Weaken) -> Self {
        self.weaken = weaken;
        self
    }

    /// Replaces the user that sandboxes run as when the host is root.
    #[must_use]
    pub fn with_run_as(mut self, user: Option<u32>) -> Self {
        self.run_as = user;
        self
    }
}
