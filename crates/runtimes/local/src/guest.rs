//! The guest's Python code, which every zygote loads.

use codehatch_jail::GuestFile;

macro_rules! guest_files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../../python/guest/src/", $path)))),*]
    };
}

/// Path below the guest's directory, and contents.
pub(crate) const GUEST_FILES: &[GuestFile] = guest_files![
    "adk_code_mode_sandbox/__init__.py",
    "adk_code_mode_sandbox/_rpc_client.py",
    "codehatch_guest/__init__.py",
    "codehatch_guest/awaiting.py",
    "codehatch_guest/blocks.py",
    "codehatch_guest/channel.py",
    "codehatch_guest/errors.py",
    "codehatch_guest/private.py",
    "codehatch_guest/rehearsal.py",
    "codehatch_guest/results.py",
    "codehatch_guest/session.py",
    "codehatch_guest/streams.py",
    "codehatch_guest/tools_import.py",
    "codehatch_guest/tracebacks.py",
    "codehatch_guest/values.py",
    "codehatch_guest/zygote.py",
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn every_module_of_the_guest_is_embedded() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../python/guest/src");
        let mut found = BTreeSet::new();
        for package in ["adk_code_mode_sandbox", "codehatch_guest"] {
            for entry in fs::read_dir(root.join(package)).expect("the package is there") {
                let name = entry
                    .expect("readable")
                    .file_name()
                    .into_string()
                    .expect("UTF-8");
                // How it starts elsewhere than in a zygote.
                if Path::new(&name).extension().is_some_and(|e| e == "py")
                    && !matches!(
                        &*name,
                        "__main__.py" | "capture.py" | "packages.py" | "standalone.py"
                    )
                {
                    found.insert(format!("{package}/{name}"));
                }
            }
        }
        let embedded: BTreeSet<String> = GUEST_FILES
            .iter()
            .map(|(path, _)| (*path).to_owned())
            .collect();
        assert_eq!(embedded, found);
    }
}
