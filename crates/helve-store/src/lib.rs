//! Stores that outlive the process.
//!
//! Here is SQL, and nothing is decided: a verb of [`helve_kernel::Store`] checks
//! what its doc comment says, and who may do what is the kernel's business. Every
//! store here passes `helve_kernel::store::contract`.

mod sqlite;

pub use sqlite::SqliteStore;
