//! Runs one program in a world of its own: Linux namespaces, made in this process.
//!
//! [`Sandbox::start`] gives a program a file system that is read-only but for its
//! [`Layer`]s, its own processes, its own `/tmp`, no network unless asked, no
//! capability, none of the hub's descriptors and variables. Landlock and seccomp
//! stand behind that.
//!
//! - *Nothing outlives a run.* The program lives in a process namespace; with its
//!   first process, which watches the hub, all in it end.
//! - *Nothing of the hub is inherited*: three pipes, and the variables that are given.
//! - *What cannot be set up is an error*, not a thinner sandbox, except for what
//!   [`Started::missing`] tells.
//!
//! This is the one crate with `unsafe` code: between `clone` and `exec` there is no
//! other way, nor is there to let go of mapped code. Must never decide what a program may do; that is told by a [`Spec`].

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("sandboxes need Linux on x86_64 or aarch64");

mod ability;
mod cgroup;
mod error;
mod filter;
mod footprint;
mod init;
mod machine;
mod message;
mod mounts;
mod op;
mod plan;
mod program;
mod sandbox;
mod spec;
mod started;
mod sys;
mod view;

pub use ability::{Ability, NO_SANDBOX, abilities};
pub use error::Error;
pub use footprint::let_go_of_code;
pub use mounts::mounted_inside;
pub use sandbox::Sandbox;
pub use spec::{Layer, Limit, Limits, Spec, dress_upper, remove_work, remove_work_but_index};
pub use started::{Ended, Started};
