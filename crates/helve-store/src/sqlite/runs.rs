//! Runs, the keys that lead to them, and what they wrote.

use std::borrow::Cow;

use helve_core::audit::Hash;
use helve_kernel::store::{Done, IdempotencyKey, Move, Opened, RunFilter};
use helve_kernel::{Approval, ApprovalId, At, Chunk, Run, RunId, RunState, Stream};
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use super::approvals::{self, NewApproval};
use super::chain::Line;
use super::changes;
use super::failure::Failure;
use super::op::End;
use super::row::{
    self, Query, at, change, count, hash, json, maybe_at, maybe_value, number, rows, value, word,
};
use super::writer::Tx;

/// A run, ready to be written.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunRow {
    pub(super) id: String,
    tool: String,
    version: String,
    version_hash: String,
    owner: String,
    under: Option<String>,
    agent: Option<String>,
    pub(super) state: Cow<'static, str>,
    pub(super) open: bool,
    created: i64,
    started: Option<i64>,
    pub(super) ended: Option<i64>,
    approval: Option<String>,
    pub(super) exit_code: Option<i32>,
    #[serde(default, skip_serializing)]
    pub(super) args: String,
    #[serde(default, skip_serializing)]
    pub(super) answer: Option<String>,
}

impl RunRow {
    pub(super) fn new(run: Run) -> Result<Self, Failure> {
        Ok(Self {
            id: run.id.as_str().to_owned(),
            version_hash: run.version_hash.to_string(),
            state: Cow::Borrowed(run.state.as_str()),
            open: !run.state.is_over(),
            created: run.created.0,
            started: run.started.map(|at| at.0),
            ended: run.ended.map(|at| at.0),
            approval: run.approval.as_ref().map(|id| id.as_str().to_owned()),
            exit_code: run.exit_code,
            args: json(&run.args)?,
            answer: run.answer.as_ref().map(json).transpose()?,
            tool: run.tool,
            version: run.version,
            owner: run.owner,
            under: run.under,
            agent: run.agent,
        })
    }
}

/// A run with what it waits for and the key that leads to it.
pub(super) struct NewRun {
    row: RunRow,
    approval: Option<NewApproval>,
    key: Option<IdempotencyKey>,
}

impl NewRun {
    pub(super) fn new(
        row: RunRow,
        approval: Option<Approval>,
        key: Option<IdempotencyKey>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            approval: approval.map(NewApproval::new).transpose()?,
            row,
            key,
        })
    }
}

/// The statement that writes a run.
macro_rules! insert {
    ($verb:literal) => {
        concat!(
            $verb,
            " INTO runs (id, tool, version, version_hash, owner, under, agent, state, open,
                  created, started, ended, approval, exit_code, args, answer)
              VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
        )
    };
}

pub(super) fn open(tx: &mut Tx<'_>, new: &NewRun, line: &Line) -> Result<Opened, Failure> {
    if let Some(key) = &new.key
        && let Some((body, run)) = used(tx.conn, key)?
    {
        let same = body == key.body;
        return Ok(if same {
            Opened::Same(run)
        } else {
            Opened::KeyTaken
        });
    }
    insert(tx.conn, insert!("INSERT"), &new.row, None)?;
    if let Some(approval) = &new.approval {
        approvals::insert(tx.conn, approval)?;
    }
    if let Some(key) = &new.key {
        let sql = "INSERT INTO keys (owner, key, body, run) VALUES (?1, ?2, ?3, ?4)";
        let body = key.body.as_bytes();
        change(tx.conn, sql, params![key.owner, key.key, body, new.row.id])?;
    }
    tx.append(line)?;
    Ok(Opened::New)
}

/// Writes a run whose id is known to be new. Where it was used nevertheless, the first keeps
/// its row, and the record tells of both.
pub(super) fn insert_new(
    conn: &Connection,
    row: &RunRow,
    end: Option<&End>,
) -> Result<(), Failure> {
    insert(conn, insert!("INSERT OR IGNORE"), row, end)
}

fn insert(conn: &Connection, sql: &str, row: &RunRow, end: Option<&End>) -> Result<(), Failure> {
    let after = row.ended(end);
    let hash = Hash::parse(&row.version_hash)
        .ok_or_else(|| Failure::Broken(format!("`{}` is no hash", row.version_hash)))?;
    change(
        conn,
        sql,
        params![
            row.id,
            row.tool,
            row.version,
            hash.as_bytes(),
            row.owner,
            row.under,
            row.agent,
            after.state,
            after.open,
            row.created,
            row.started,
            after.ended,
            row.approval,
            after.exit_code,
            row.args,
            after.answer
        ],
    )?;
    Ok(())
}

/// The id of the newest of all runs.
pub(super) fn newest(conn: &Connection) -> Result<Option<String>, Failure> {
    let sql = "SELECT max(id) AS id FROM runs";
    let newest = row::row(conn, sql, params![], |row| {
        let id: Option<String> = row.get("id")?;
        Ok(id)
    })?;
    Ok(newest.flatten())
}

fn used(conn: &Connection, key: &IdempotencyKey) -> Result<Option<(Hash, RunId)>, Failure> {
    let sql = "SELECT body, run FROM keys WHERE owner = ?1 AND key = ?2";
    row::row(conn, sql, params![key.owner, key.key], |row| {
        Ok((hash(row, "body")?, word(row, "run", RunId::parse)?))
    })
}

/// Moves a run; its answer is given as JSON.
pub(super) fn step(
    tx: &mut Tx<'_>,
    step: &Move,
    answer: Option<&str>,
    line: &Line,
) -> Result<bool, Failure> {
    let from: String = step
        .from
        .iter()
        .flat_map(|state| [" ", state.as_str(), " "])
        .collect();
    let mut update = tx.conn.prepare_cached(
        "UPDATE runs SET state = ?2, open = ?3,
             started = coalesce(started, ?4), ended = coalesce(ended, ?5),
             exit_code = coalesce(?6, exit_code), answer = coalesce(?7, answer)
         WHERE id = ?1 AND instr(?8, ' ' || state || ' ')",
    )?;
    let moved = update.execute(params![
        step.run.as_str(),
        step.to.as_str(),
        !step.to.is_over(),
        (step.to == RunState::Running).then_some(step.at.0),
        step.to.is_over().then_some(step.at.0),
        step.exit_code,
        answer,
        from
    ])?;
    if moved == 0 {
        return Ok(false);
    }
    if let Some(state) = step.approval
        && let Some(id) = approval_of(tx.conn, &step.run)?
    {
        approvals::close(tx.conn, &id, state)?;
    }
    if let Some(settled) = &step.changes {
        changes::settle(tx.conn, step.run.as_str(), settled)?;
    }
    for turn in &step.turns {
        changes::turn(tx.conn, turn)?;
    }
    tx.append(line)?;
    Ok(true)
}

fn approval_of(conn: &Connection, run: &RunId) -> Result<Option<String>, Failure> {
    let sql = "SELECT approval FROM runs WHERE id = ?1";
    let found = row::row(conn, sql, params![run.as_str()], |row| {
        let approval: Option<String> = row.get("approval")?;
        Ok(approval)
    })?;
    Ok(found.flatten())
}

/// Sets a run running; `false` where there is none or it is over.
pub(super) fn begin(conn: &Connection, id: &str, at: At) -> Result<bool, Failure> {
    if state(conn, id)?.is_none_or(RunState::is_over) {
        return Ok(false);
    }
    let sql = "UPDATE runs SET state = ?2, started = coalesce(started, ?3) WHERE id = ?1";
    change(conn, sql, params![id, RunState::Running.as_str(), at.0])?;
    Ok(true)
}

pub(super) fn state(conn: &Connection, id: &str) -> Result<Option<RunState>, Failure> {
    let sql = "SELECT state FROM runs WHERE id = ?1";
    row::row(conn, sql, params![id], |row| {
        word(row, "state", RunState::parse)
    })
}

pub(super) fn get(conn: &Connection, id: &RunId) -> Result<Option<Run>, Failure> {
    let sql = "SELECT * FROM runs WHERE id = ?1";
    row::row(conn, sql, params![id.as_str()], to_run)
}

pub(super) fn list(
    conn: &Connection,
    filter: RunFilter,
    limit: usize,
) -> Result<Vec<Run>, Failure> {
    // Said where it holds: SQLite uses the index over open runs only if it is.
    let open = filter.state.is_some_and(|s| !s.is_over());
    let state = if open {
        "state = ? AND open"
    } else {
        "state = ?"
    };
    Query::new("SELECT * FROM runs")
        .and("tool = ?", filter.tool)
        .and(state, filter.state.map(|s| s.as_str().to_owned()))
        .and("(owner = ? OR under = ?)", filter.owner)
        .and("(owner = ? OR under = ?)", filter.who)
        .and("created >= ?", filter.since.map(|at| at.0))
        .and("created < ?", filter.until.map(|at| at.0))
        .and("id < ?", filter.before.map(|id| id.as_str().to_owned()))
        .rows(conn, "id DESC", limit, to_run)
}

/// How many runs that are too old must follow each other before no more is looked for: ids
/// go with time, unless somebody has set the clock back.
const OLD: usize = 1000;

/// Newest first, as far as they are new enough.
pub(super) fn activity(conn: &Connection, since: At, limit: usize) -> Result<Vec<Done>, Failure> {
    let sql = "SELECT created, ended, state, owner, under FROM runs ORDER BY id DESC LIMIT ?1";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![i64::try_from(limit).unwrap_or(i64::MAX)])?;
    let (mut out, mut old) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let created = at(row, "created")?;
        if created < since {
            old += 1;
            if old > OLD {
                break;
            }
            continue;
        }
        old = 0;
        out.push(Done {
            created,
            ended: maybe_at(row, "ended")?,
            state: word(row, "state", RunState::parse)?,
            owner: row.get("owner")?,
            under: row.get("under")?,
        });
    }
    Ok(out)
}

fn to_run(row: &Row<'_>) -> Result<Run, Failure> {
    let approval: Option<String> = row.get("approval")?;
    let approval = approval.map(|_| word(row, "approval", ApprovalId::parse));
    Ok(Run {
        id: word(row, "id", RunId::parse)?,
        tool: row.get("tool")?,
        version: row.get("version")?,
        version_hash: hash(row, "version_hash")?,
        owner: row.get("owner")?,
        under: row.get("under")?,
        agent: row.get("agent")?,
        state: word(row, "state", RunState::parse)?,
        args: value(row, "args")?,
        created: at(row, "created")?,
        started: maybe_at(row, "started")?,
        ended: maybe_at(row, "ended")?,
        approval: approval.transpose()?,
        exit_code: row.get("exit_code")?,
        answer: maybe_value(row, "answer")?,
    })
}

pub(super) fn append_chunks(
    conn: &Connection,
    run: &RunId,
    chunks: &[Chunk],
) -> Result<(), Failure> {
    let sql = "INSERT INTO chunks (run, seq, stream, at, bytes) VALUES (?1, ?2, ?3, ?4, ?5)";
    for chunk in chunks {
        let (seq, stream) = (number(chunk.seq), chunk.stream.as_str());
        change(
            conn,
            sql,
            params![run.as_str(), seq, stream, chunk.at.0, chunk.bytes],
        )?;
    }
    Ok(())
}

pub(super) fn chunks(
    conn: &Connection,
    run: &RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<Chunk>, Failure> {
    let sql = "SELECT seq, stream, at, bytes FROM chunks
               WHERE run = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
    rows(
        conn,
        sql,
        params![run.as_str(), number(after), number(limit)],
        |row| {
            Ok(Chunk {
                seq: count(row, "seq")?,
                stream: word(row, "stream", Stream::parse)?,
                at: at(row, "at")?,
                bytes: row.get("bytes")?,
            })
        },
    )
}
