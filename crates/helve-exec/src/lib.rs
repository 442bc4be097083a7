//! Where tools run that are not part of Helve.
//!
//! [`HostExecutor`] runs a program on this machine, `DockerExecutor` one in a container.
//! Both start what the definition names and nothing else: the arguments of a call are
//! data, never words of a command line.
//!
//! - *No shell.* A program is started by its path with the elements of `command`;
//!   an argument fills at most one of them, and never the first.
//! - *What was registered is what runs.* The programs are hashed when a tool is
//!   registered and looked at again right before each start.
//! - *Nothing is inherited.* No variable, no descriptor but the three standard ones.
//! - *Nothing is left behind.* Whatever the program started is gone when the run is
//!   over; without a sandbox, whatever stays in its process group.
//! - *Nothing is changed but what it may, and that not yet.* In its sandbox a program
//!   writes into layers; what is in them afterwards is the changeset that the kernel
//!   shows, commits or drops.
//!
//! Nothing here decides who may run what: without a permit of the kernel, nothing runs.

#![cfg(unix)]

mod argv;
mod boxed;
mod cage;
mod call;
mod capture;
#[cfg(test)]
mod contract;
#[cfg(feature = "docker")]
mod docker;
mod environment;
mod ground;
mod group;
mod hashes;
mod host;
mod outcome;
mod place;
mod process;
mod program;
mod running;
mod script;
mod settings;

#[cfg(feature = "docker")]
pub use docker::{DockerExecutor, DockerReport, DockerSettings, Overlays};
pub use ground::{Ability, Given, Held};
pub use helve_sandbox::let_go_of_code;
pub use host::HostExecutor;
pub use script::{Described, Runtime, ScriptExecutor, ScriptSettings, Toolset, Unloaded};
