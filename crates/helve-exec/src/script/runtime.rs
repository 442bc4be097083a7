//! What scripts are written in, and what runs them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// What a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Runtime {
    /// JavaScript.
    Node,
    /// Python.
    Python,
    /// Erlang.
    Erlang,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Runtime; 3] = [Runtime::Node, Runtime::Python, Runtime::Erlang];

    /// The word for it in a definition.
    pub fn as_str(self) -> &'static str {
        match self {
            Runtime::Node => "node",
            Runtime::Python => "python",
            Runtime::Erlang => "erlang",
        }
    }

    /// The one of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.as_str() == word)
    }

    /// The one for files with that ending.
    pub fn of_file(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "js" | "mjs" | "cjs" => Some(Runtime::Node),
            "py" => Some(Runtime::Python),
            "erl" => Some(Runtime::Erlang),
            _ => None,
        }
    }

    /// The program that runs it, where no other is named.
    pub fn program(self) -> &'static str {
        match self {
            Runtime::Node => "node",
            Runtime::Python => "python3",
            Runtime::Erlang => "escript",
        }
    }
}

/// The programs that load scripts and call what is in them.
#[derive(Debug)]
pub(crate) struct Hosts(TempDir);

/// A file of theirs, as it is in this repository.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../hosts/", $name)))
    };
}

/// Their files.
const FILES: &[(&str, &str)] = &[
    file!("erlang/beamai_context.erl"),
    file!("erlang/beamai_tool.erl"),
    file!("erlang/beamai_tool_behaviour.erl"),
    file!("erlang/helve.erl"),
    file!("erlang/helve_call.erl"),
    file!("erlang/helve_host.erl"),
    file!("erlang/helve_json.erl"),
    file!("erlang/helve_load.erl"),
    file!("erlang/start.escript"),
    file!("node/context.mjs"),
    file!("node/fault.mjs"),
    file!("node/host.mjs"),
    file!("node/load.mjs"),
    file!("node/wire.mjs"),
    file!("python/host.py"),
    file!("python/parts/__init__.py"),
    file!("python/parts/calls.py"),
    file!("python/parts/docstrings.py"),
    file!("python/parts/encode.py"),
    file!("python/parts/faults.py"),
    file!("python/parts/load.py"),
    file!("python/parts/modules.py"),
    file!("python/parts/schema.py"),
    file!("python/parts/sdk.py"),
    file!("python/parts/sources.py"),
    file!("python/parts/wire.py"),
    file!("python/standin/claude_agent_sdk/__init__.py"),
    file!("python/standin/helve/__init__.py"),
];

impl Hosts {
    /// Lays them out in a folder of their own, which goes when this does.
    pub(crate) fn lay_out() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("helve-hosts-").tempdir()?;
        for (name, text) in FILES {
            let path = folder.path().join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, text)?;
        }
        Ok(Self(folder))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// What the interpreter is started with.
    pub(crate) fn words(&self, runtime: Runtime) -> Vec<String> {
        let at = |name: &str| self.0.path().join(name).display().to_string();
        match runtime {
            Runtime::Node => vec![at("node/host.mjs")],
            Runtime::Python => {
                // Nothing of the user's, no files beside scripts, nothing held back, one encoding.
                let mut words = ["-s", "-B", "-u", "-X", "utf8"].map(str::to_owned).to_vec();
                words.push(at("python/host.py"));
                words
            }
            Runtime::Erlang => vec![at("erlang/start.escript")],
        }
    }
}

/// A folder of scripts in one language, and what was written into its files last: when that
/// changes, what was loaded is old.
pub(crate) fn stamp(folder: &Path) -> io::Result<Vec<(PathBuf, u64, i64, i64)>> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_file() {
            found.push((entry.path(), about.ino(), about.ctime(), about.ctime_nsec()));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_hosts_is_laid_out() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts");
        let mut found = Vec::new();
        let mut folders: Vec<PathBuf> = Runtime::ALL.map(|r| folder.join(r.as_str())).to_vec();
        while let Some(at) = folders.pop() {
            for entry in fs::read_dir(at).expect("a folder").flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true if path.ends_with("__pycache__") => {}
                    true => folders.push(path),
                    false => found.push(path),
                }
            }
        }
        let mut found: Vec<String> = found
            .iter()
            .filter_map(|path| path.strip_prefix(&folder).ok())
            .map(|path| path.display().to_string())
            .collect();
        found.sort();
        let listed: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, listed);
    }
}
