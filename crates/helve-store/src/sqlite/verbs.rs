//! The verbs of a store, each sent to where it is done.
//!
//! What can be made ready (JSON, the canonical record) is made here, by whoever
//! asks, so that the writer only writes.

use async_trait::async_trait;
use helve_core::audit::{Entry, Hash, Head};
use helve_kernel::store::{
    AuditFilter, Decided, Done, IdempotencyKey, Move, Opened, Opening, Record, Registered,
    RunFilter, Version,
};
use helve_kernel::{
    Approval, ApprovalId, ApprovalState, At, Changes, ChangesFilter, Chunk, Decision,
    HistoryFilter, Notice, Past, Place, RowChange, Run, RunId, Store, StoreError, Token, TokenId,
};

use serde_json::Value;

use super::calls::Way;
use super::chain::{self, Line};
use super::changes::Kept;
use super::op::End;
use super::runs::{self, NewRun, RunRow};
use super::tools::{self, NewVersion};
use super::writer::Sync;
use super::{SqliteStore, approvals, changes, row, tokens};

#[async_trait]
impl Store for SqliteStore {
    async fn tools(&self) -> Result<Vec<Registered>, StoreError> {
        self.read(tools::list).await
    }

    async fn add_version(
        &self,
        version: Version,
        source: String,
        enabled: bool,
        record: Record,
    ) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let new = NewVersion::new(version, source, enabled)?;
        self.write(move |tx| tools::add(tx, &new, &line)).await
    }

    async fn versions(&self, tool: &str) -> Result<Vec<Version>, StoreError> {
        let tool = tool.to_owned();
        self.read(move |conn| tools::versions(conn, &tool)).await
    }

    async fn select_version(
        &self,
        tool: &str,
        version: &semver::Version,
        record: Record,
    ) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let (tool, version) = (tool.to_owned(), version.to_string());
        self.write(move |tx| tools::select(tx, &tool, &version, &line))
            .await
    }

    async fn set_enabled(
        &self,
        tool: &str,
        enabled: bool,
        record: Record,
    ) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let tool = tool.to_owned();
        self.write(move |tx| tools::enable(tx, &tool, enabled, &line))
            .await
    }

    async fn remove_tool(&self, tool: &str, record: Record) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let tool = tool.to_owned();
        self.write(move |tx| tools::remove(tx, &tool, &line)).await
    }

    async fn open_run(
        &self,
        run: Run,
        approval: Option<Approval>,
        key: Option<IdempotencyKey>,
        record: Record,
    ) -> Result<Opened, StoreError> {
        let (mut row, mut line) = (RunRow::new(run)?, Line::new(record)?);
        if approval.is_none() && key.is_none() {
            match self.writer.calls().open(row, line)? {
                Way::Taken(number) => {
                    self.durable(number).await?;
                    return Ok(Opened::New);
                }
                Way::Not(back) => (row, line) = back,
            }
        } else {
            self.writer.calls().note(&row);
        }
        let new = NewRun::new(row, approval, key)?;
        self.write(move |tx| runs::open(tx, &new, &line)).await
    }

    async fn open_run_soon(&self, run: Run, record: Record) -> Result<Opening, StoreError> {
        let (row, line) = (RunRow::new(run)?, Line::new(record)?);
        let (row, line) = match self.writer.calls().open(row, line)? {
            Way::Taken(number) => return Ok(Opening::pending(self.durable(number))),
            Way::Not(back) => back,
        };
        let new = NewRun::new(row, None, None)?;
        self.write(move |tx| runs::open(tx, &new, &line)).await?;
        Ok(Opening::durable())
    }

    async fn move_run(&self, step: Move, record: Record) -> Result<bool, StoreError> {
        let mut line = Line::new(record)?;
        let mut answer = step.answer.as_ref().map(row::json).transpose()?;
        if step.only_ends() {
            let end = End::new(&step, answer);
            match self.writer.calls().end(&step.run, end, line)? {
                Way::Taken(_) if step.soon => return Ok(true),
                Way::Taken(number) => return self.durable(number).await.map(|()| true),
                Way::Not((end, back)) => (answer, line) = (end.into_answer(), back),
            }
        } else {
            self.writer.calls().release(&step.run);
        }
        self.write(move |tx| runs::step(tx, &step, answer.as_deref(), &line))
            .await
    }

    async fn spend_approval(
        &self,
        id: &ApprovalId,
        bound: Hash,
        at: At,
        record: Record,
    ) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let id = id.clone();
        self.write(move |tx| approvals::spend(tx, &id, bound, at, &line))
            .await
    }

    async fn run(&self, id: &RunId) -> Result<Option<Run>, StoreError> {
        let id = id.clone();
        self.read_calls(move |conn| runs::get(conn, &id)).await
    }

    async fn runs(&self, filter: RunFilter, limit: usize) -> Result<Vec<Run>, StoreError> {
        self.read_calls(move |conn| runs::list(conn, filter, limit))
            .await
    }

    async fn activity(&self, since: At, limit: usize) -> Result<Vec<Done>, StoreError> {
        self.read_calls(move |conn| runs::activity(conn, since, limit))
            .await
    }

    async fn append_chunks(&self, run: &RunId, chunks: Vec<Chunk>) -> Result<(), StoreError> {
        let run = run.clone();
        self.writer
            .requests()
            .submit(Sync::Later, move |tx| {
                runs::append_chunks(tx.conn, &run, &chunks)
            })
            .await
    }

    async fn chunks(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Chunk>, StoreError> {
        let run = run.clone();
        self.read(move |conn| runs::chunks(conn, &run, after, limit))
            .await
    }

    async fn decide(
        &self,
        id: &ApprovalId,
        decision: Decision,
        granted_until: At,
        record: Record,
    ) -> Result<Decided, StoreError> {
        let line = Line::new(record)?;
        let id = id.clone();
        self.write(move |tx| approvals::decide(tx, &id, &decision, granted_until, &line))
            .await
    }

    async fn approval(&self, id: &ApprovalId) -> Result<Option<Approval>, StoreError> {
        let id = id.clone();
        self.read(move |conn| approvals::get(conn, &id)).await
    }

    async fn approvals(
        &self,
        state: Option<ApprovalState>,
        before: Option<ApprovalId>,
        limit: usize,
    ) -> Result<Vec<Approval>, StoreError> {
        self.read(move |conn| approvals::list(conn, state, before.as_ref(), limit))
            .await
    }

    async fn set_notice(
        &self,
        id: &ApprovalId,
        notice: Notice,
        record: Record,
    ) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let id = id.clone();
        self.write(move |tx| approvals::set_notice(tx, &id, &notice, &line))
            .await
    }

    async fn keep_changes(
        &self,
        changes: Changes,
        approval: Option<Approval>,
        record: Record,
    ) -> Result<bool, StoreError> {
        let kept = match approval {
            None => Kept::new(changes),
            Some(_) => Err(Box::new(changes)),
        };
        let changes = match kept {
            Err(changes) => *changes,
            Ok(kept) => match self.writer.calls().keep_changes(kept, &record)? {
                Way::Taken(number) => return self.durable(number).await.map(|()| true),
                Way::Not(kept) => kept.into_changes().map_err(|e| e.to_error())?,
            },
        };
        self.writer.calls().release(&changes.run);
        self.put_changes(changes, approval, record).await
    }

    async fn changes(&self, run: &RunId) -> Result<Option<Changes>, StoreError> {
        let run = run.clone();
        self.read_calls(move |conn| changes::get(conn, &run)).await
    }

    async fn row(&self, collection: &str, key: &str) -> Result<Option<Value>, StoreError> {
        let (collection, key) = (collection.to_owned(), key.to_owned());
        self.read(move |conn| changes::record(conn, &collection, &key))
            .await
    }

    async fn rows(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Value)>, StoreError> {
        let (collection, after) = (collection.to_owned(), after.map(str::to_owned));
        self.read(move |conn| changes::records(conn, &collection, after.as_deref(), limit))
            .await
    }

    async fn put_rows(&self, rows: Vec<RowChange>, record: Record) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        self.write(move |tx| changes::put_rows(tx, &rows, &line))
            .await
    }

    async fn all_changes(
        &self,
        filter: ChangesFilter,
        limit: usize,
    ) -> Result<Vec<Changes>, StoreError> {
        self.read_calls(move |conn| changes::list(conn, &filter, limit))
            .await
    }

    async fn history(&self, filter: HistoryFilter, limit: usize) -> Result<Vec<Past>, StoreError> {
        self.read_calls(move |conn| changes::history(conn, filter, limit))
            .await
    }

    async fn set_pinned(
        &self,
        run: &RunId,
        pinned: bool,
        record: Record,
    ) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let run = run.clone();
        self.write(move |tx| changes::pin(tx, &run, pinned, &line))
            .await
    }

    async fn expire_changes(&self, run: &RunId, record: Record) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let run = run.clone();
        self.write(move |tx| changes::expire(tx, &run, &line)).await
    }

    async fn forget_redo(&self, runs: Vec<RunId>) -> Result<bool, StoreError> {
        self.write(move |tx| changes::forget_redo(tx, &runs)).await
    }

    async fn purge_rows(
        &self,
        places: Vec<Place>,
        record: Record,
    ) -> Result<Vec<RunId>, StoreError> {
        let line = Line::new(record)?;
        let purged = self.write(move |tx| changes::purge(tx, &places, &line));
        let purged = purged.await?;
        self.empty_log().await?;
        self.empty_journal().await?;
        Ok(purged)
    }

    async fn add_token(&self, token: Token, record: Record) -> Result<(), StoreError> {
        let line = Line::new(record)?;
        self.write(move |tx| tokens::add(tx, &token, &line)).await
    }

    async fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        self.read(tokens::list).await
    }

    async fn revoke_token(&self, id: &TokenId, at: At, record: Record) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let id = id.clone();
        self.write(move |tx| tokens::revoke(tx, &id, at, &line))
            .await
    }

    async fn record(&self, record: Record) -> Result<(), StoreError> {
        let line = Line::new(record)?;
        self.write(move |tx| tx.append(&line)).await
    }

    async fn audit(&self, filter: AuditFilter, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.read_calls(move |conn| chain::entries(conn, filter, limit))
            .await
    }

    async fn audit_head(&self) -> Result<Head, StoreError> {
        self.read_calls(chain::head).await
    }
}
