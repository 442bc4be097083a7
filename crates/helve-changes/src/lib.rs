//! What a tool did to files, as a thing that can be shown, approved, committed and
//! undone.
//!
//! A run's changes are captured ([`capture_overlay`], [`capture_copy`], [`Files`]) as a
//! [`Changeset`] with before-images in [`Blobs`]; [`diff`] shows it; a [`Journal`]
//! commits it, all or nothing; [`undo()`] makes the changeset that takes it back.
//!
//! This crate knows files, and nothing of tools, policy or databases. It is
//! synchronous, and talks to Linux.

mod blobs;
mod capture;
mod changeset;
mod commit;
pub mod diff;
mod each;
mod error;
mod files;
mod guard;
mod meta;
mod raw;
mod state;
#[cfg(test)]
mod testing;
mod tree;
mod undo;
pub mod visible;

pub use blobs::{Blobs, Gc, Kept, Lease, Plan, Retention};
pub use capture::{Copied, Overlay, Staged, capture_copy, capture_overlay, copy_tree};
pub use changeset::{Change, Changeset, Kind, Totals};
pub use commit::{Came, Ended, Journal, Outcome, Placed, Probe, Redone, Trouble};
pub use error::{Conflict, Error, ImageFault, Why};
pub use files::{Access, Beneath, Files, Looked, Root, What};
pub use guard::Allowed;
pub use raw::Raw;
pub use state::{FileState, Meta, State, Symlink, Time, Xattr};
pub use tree::Books;
pub use undo::{Later, Undo, Undone, undo};
