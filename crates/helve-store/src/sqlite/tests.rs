//! The contract, and what only a store in a file can do.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use helve_kernel::store::contract::{Kept, a_run, a_waiting_run, open, record, whole};
use helve_kernel::{Store, store_contract};
use tempfile::TempDir;

use super::*;

fn fresh() -> (Arc<SqliteStore>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("helve.db")).unwrap();
    (Arc::new(store), folder)
}

store_contract!(fresh());
