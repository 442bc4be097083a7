//! What runs changed, in memory.

use std::collections::BTreeMap;

use serde_json::Value;

use super::runs::is_open;
use super::state::State;
use crate::approval::{Approval, ApprovalState};
use crate::changes::{
    Changes, ChangesFilter, ChangesState, HistoryFilter, Past, RowChange, Settled, Touched, Turn,
};
use crate::rows::Place;
use crate::run::RunState;
use crate::store::{Record, StoreError};
use crate::{ApprovalId, RunId};

#[derive(Debug, Default)]
pub(super) struct AllChanges {
    by_run: BTreeMap<RunId, Changes>,
    paths: BTreeMap<(u64, Vec<u8>), (RunId, String)>,
    rows: BTreeMap<(String, String), Value>,
    last: u64,
}

impl AllChanges {
    /// Gives open changes of a run their end.
    pub(super) fn settle(&mut self, run: &RunId, settled: Settled) {
        let open = self.by_run.get_mut(run).filter(|c| c.state.is_open());
        let Some(changes) = open else {
            return;
        };
        (changes.staged, changes.reply) = (None, None);
        match settled {
            Settled::Dropped => {
                changes.state = ChangesState::Dropped;
                changes.redo = None;
            }
            Settled::Committed(paths) => {
                self.last += 1;
                changes.state = ChangesState::Committed;
                changes.order = Some(self.last);
                for row in changes.rows.iter().filter(|row| !row.is_foreign()) {
                    put_row(&mut self.rows, row);
                }
                for Touched { path, kind } in paths {
                    self.paths.insert((self.last, path), (run.clone(), kind));
                }
            }
        }
    }

    pub(super) fn begin(&mut self, run: &RunId) {
        if let Some(changes) = self.by_run.get_mut(run)
            && changes.state == ChangesState::Staged
        {
            changes.state = ChangesState::Committing;
        }
    }

    pub(super) fn turn(&mut self, turn: &Turn) {
        let (from, to) = match turn.undone {
            true => (ChangesState::Committed, ChangesState::Undone),
            false => (ChangesState::Undone, ChangesState::Committed),
        };
        if let Some(changes) = self.by_run.get_mut(&turn.run)
            && changes.state == from
        {
            changes.state = to;
        }
    }

    pub(super) fn row(&self, collection: &str, key: &str) -> Option<Value> {
        let place = (collection.to_owned(), key.to_owned());
        self.rows.get(&place).cloned()
    }

    pub(super) fn rows(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Vec<(String, Value)> {
        let rows = self.rows.iter();
        rows.filter(|((c, key), _)| c == collection && after.is_none_or(|a| key.as_str() > a))
            .take(limit)
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect()
    }

    pub(super) fn get(&self, run: &RunId) -> Option<Changes> {
        self.by_run.get(run).cloned()
    }

    #[cfg(test)]
    pub(super) fn put_redo(&mut self, run: &RunId, redo: Vec<u8>) {
        if let Some(changes) = self.by_run.get_mut(run) {
            changes.redo = Some(redo);
        }
    }

    pub(super) fn forget_redo(&mut self, runs: &[RunId]) -> bool {
        let mut none = true;
        for run in runs {
            if let Some(changes) = self.by_run.get_mut(run) {
                match changes.state {
                    ChangesState::Committing => none &= changes.redo.is_none(),
                    _ => changes.redo = None,
                }
            }
        }
        none
    }

    pub(super) fn forget(&mut self, run: &RunId) {
        self.by_run.remove(run);
    }

    /// Newest first.
    pub(super) fn list(&self, filter: &ChangesFilter, limit: usize) -> Vec<Changes> {
        let mut all: Vec<_> = self.by_run.values().collect();
        all.sort_by_key(|c| std::cmp::Reverse((c.order, c.run.clone())));
        all.into_iter()
            .filter(|c| filter.state.is_none_or(|s| c.state == s))
            .filter(|c| filter.from.is_none_or(|n| c.order.is_some_and(|o| o >= n)))
            .filter(|c| c.redo.is_some() || !filter.redo)
            .take(limit)
            .cloned()
            .collect()
    }

    pub(super) fn history(&self, filter: &HistoryFilter, limit: usize) -> Vec<Past> {
        let beneath = |path: &[u8]| match &filter.path {
            None => true,
            Some(top) => path
                .strip_prefix(top.as_slice())
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || top == b"/"),
        };
        let lines = self.paths.iter().rev();
        // Newest first; the paths of one run in their order.
        let mut lines: Vec<Past> = lines
            .filter(|((order, _), _)| filter.before.is_none_or(|b| *order < b))
            .filter(|(_, (run, _))| filter.run.as_ref().is_none_or(|r| r == run))
            .filter(|((_, path), _)| beneath(path))
            .map(|((order, path), (run, kind))| Past {
                order: *order,
                run: run.clone(),
                touched: Touched {
                    path: path.clone(),
                    kind: kind.clone(),
                },
            })
            .collect();
        lines.sort_by(|a, b| {
            let newest = b.order.cmp(&a.order);
            newest.then_with(|| a.touched.path.cmp(&b.touched.path))
        });
        lines.truncate(limit);
        lines
    }
}

fn put_row(rows: &mut BTreeMap<(String, String), Value>, row: &RowChange) {
    let place = (row.collection.clone(), row.key.clone());
    match &row.after {
        Some(value) => rows.insert(place, value.clone()),
        None => rows.remove(&place),
    };
}

impl State {
    pub(super) fn put_rows(
        &mut self,
        rows: &[RowChange],
        record: &Record,
    ) -> Result<bool, StoreError> {
        let is_before = |row: &RowChange| self.changes.row(&row.collection, &row.key) == row.before;
        if !rows.iter().all(is_before) {
            return Ok(false);
        }
        self.chain.append(record)?;
        for row in rows {
            put_row(&mut self.changes.rows, row);
        }
        Ok(true)
    }

    pub(super) fn keep_changes(
        &mut self,
        changes: Changes,
        approval: Option<Approval>,
        record: &Record,
    ) -> Result<bool, StoreError> {
        let taken = self.changes.by_run.contains_key(&changes.run);
        let Some(run) = self.run_mut(&changes.run) else {
            return Ok(false);
        };
        if run.state != RunState::Running || taken {
            return Ok(false);
        }
        self.chain.append(record)?;
        if let Some(approval) = approval
            && let Some(run) = self.run_mut(&changes.run)
        {
            run.state = RunState::Staged;
            run.approval = Some(approval.id.clone());
            self.approvals.insert(approval.id.clone(), approval);
        }
        self.changes.by_run.insert(changes.run.clone(), changes);
        Ok(true)
    }

    pub(super) fn set_pinned(
        &mut self,
        run: &RunId,
        pinned: bool,
        record: &Record,
    ) -> Result<bool, StoreError> {
        let found = self.changes.by_run.get_mut(run);
        let Some(changes) = found.filter(|c| c.pinned != pinned) else {
            return Ok(false);
        };
        self.chain.append(record)?;
        changes.pinned = pinned;
        Ok(true)
    }

    pub(super) fn expire_changes(
        &mut self,
        run: &RunId,
        record: &Record,
    ) -> Result<bool, StoreError> {
        let kept = [ChangesState::Committed, ChangesState::Undone];
        let found = self.changes.by_run.get_mut(run);
        let Some(changes) = found.filter(|c| kept.contains(&c.state) && !c.pinned) else {
            return Ok(false);
        };
        self.chain.append(record)?;
        changes.state = ChangesState::Expired;
        changes.rows.clear();
        Ok(true)
    }

    pub(super) fn purge_rows(
        &mut self,
        places: &[Place],
        record: &Record,
    ) -> Result<Vec<RunId>, StoreError> {
        self.chain.append(record)?;
        let mut purged = Vec::new();
        for changes in self.changes.by_run.values_mut() {
            if changes.purge(places) {
                purged.push(changes.run.clone());
            }
        }
        Ok(purged)
    }

    pub(super) fn close_approval(&mut self, id: &ApprovalId, state: ApprovalState) {
        if let Some(approval) = self.approvals.get_mut(id)
            && is_open(approval.state)
        {
            approval.state = state;
        }
    }
}
