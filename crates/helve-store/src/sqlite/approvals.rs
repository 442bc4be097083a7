//! Approvals: what was asked, what people said, and whether it was used.

use helve_core::audit::Hash;
use helve_kernel::store::Decided;
use helve_kernel::{Approval, ApprovalId, ApprovalState, At, Decision, Notice, RunId, Verdict};
use rusqlite::{Connection, Row, params};
use serde_json::{Value, json};

use super::chain::Line;
use super::changes;
use super::failure::Failure;
use super::row::{self, Query, at, broken, change, hash, value, word};
use super::runs;
use super::tools::noted;
use super::writer::Tx;

/// An approval, ready to be written.
pub(super) struct NewApproval {
    approval: Approval,
    args: String,
}

impl NewApproval {
    pub(super) fn new(approval: Approval) -> Result<Self, Failure> {
        Ok(Self {
            args: row::json(&approval.args)?,
            approval,
        })
    }

    pub(super) fn id(&self) -> &str {
        self.approval.id.as_str()
    }
}

pub(super) fn insert(conn: &Connection, new: &NewApproval) -> Result<(), Failure> {
    let NewApproval { approval, args } = new;
    let (notice, failure) = notice_words(&approval.notice);
    change(
        conn,
        "INSERT INTO approvals (id, run, bound, tool, version, requester, under, reason, needed,
             state, created, expires, notice, notice_failure, decisions, args)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            approval.id.as_str(),
            approval.run.as_str(),
            approval.bound.as_bytes(),
            approval.tool,
            approval.version,
            approval.requester,
            approval.under,
            approval.reason,
            approval.needed,
            approval.state.as_str(),
            approval.created.0,
            approval.expires.0,
            notice,
            failure,
            decisions_text(&approval.decisions),
            args
        ],
    )?;
    Ok(())
}

pub(super) fn decide(
    tx: &mut Tx<'_>,
    id: &ApprovalId,
    decision: &Decision,
    granted_until: At,
    line: &Line,
) -> Result<Decided, Failure> {
    let Some(mut approval) = get(tx.conn, id)? else {
        return Ok(Decided::Unknown);
    };
    if approval.state != ApprovalState::Pending || decision.at >= approval.expires {
        return Ok(Decided::Closed(approval));
    }
    if approval.decisions.iter().any(|d| d.by == decision.by) {
        return Ok(Decided::Twice(approval));
    }
    approval.decisions.push(decision.clone());
    // A pending approval has no denial: whatever stands in it is a yes.
    if decision.verdict == Verdict::Deny {
        approval.state = ApprovalState::Denied;
    } else if approval.decisions.len() >= approval.needed as usize {
        approval.state = ApprovalState::Approved;
        approval.expires = granted_until;
    }
    change(
        tx.conn,
        "UPDATE approvals SET state = ?2, expires = ?3, decisions = ?4 WHERE id = ?1",
        params![
            id.as_str(),
            approval.state.as_str(),
            approval.expires.0,
            decisions_text(&approval.decisions)
        ],
    )?;
    tx.append(line)?;
    Ok(Decided::Counted(approval))
}

pub(super) fn spend(
    tx: &mut Tx<'_>,
    id: &ApprovalId,
    bound: Hash,
    at: At,
    line: &Line,
) -> Result<bool, Failure> {
    let sql = "SELECT run FROM approvals
               WHERE id = ?1 AND state = 'approved' AND bound = ?2 AND expires > ?3";
    let params = params![id.as_str(), bound.as_bytes(), at.0];
    let run: Option<String> = row::row(tx.conn, sql, params, |row| Ok(row.get("run")?))?;
    let Some(run) = run else {
        return Ok(false);
    };
    if !runs::begin(tx.conn, &run, at)? {
        return Ok(false);
    }
    changes::begin(tx.conn, &run)?;
    close(tx.conn, id.as_str(), ApprovalState::Spent)?;
    tx.append(line)?;
    Ok(true)
}

/// Gives an approval that is still open its last state.
pub(super) fn close(conn: &Connection, id: &str, state: ApprovalState) -> Result<(), Failure> {
    let sql = "UPDATE approvals SET state = ?2 WHERE id = ?1 AND state IN ('pending', 'approved')";
    change(conn, sql, params![id, state.as_str()])?;
    Ok(())
}

pub(super) fn set_notice(
    tx: &mut Tx<'_>,
    id: &ApprovalId,
    notice: &Notice,
    line: &Line,
) -> Result<bool, Failure> {
    let (word, failure) = notice_words(notice);
    let sql = "UPDATE approvals SET notice = ?2, notice_failure = ?3
               WHERE id = ?1 AND (notice <> ?2 OR notice_failure IS NOT ?3)";
    let changed = change(tx.conn, sql, params![id.as_str(), word, failure])?;
    noted(tx, changed, line)
}

pub(super) fn get(conn: &Connection, id: &ApprovalId) -> Result<Option<Approval>, Failure> {
    let sql = "SELECT * FROM approvals WHERE id = ?1";
    row::row(conn, sql, params![id.as_str()], to_approval)
}

pub(super) fn list(
    conn: &Connection,
    state: Option<ApprovalState>,
    before: Option<&ApprovalId>,
    limit: usize,
) -> Result<Vec<Approval>, Failure> {
    Query::new("SELECT * FROM approvals")
        .and("state = ?", state.map(|s| s.as_str().to_owned()))
        .and("id < ?", before.map(|id| id.as_str().to_owned()))
        .rows(conn, "id DESC", limit, to_approval)
}

fn to_approval(row: &Row<'_>) -> Result<Approval, Failure> {
    Ok(Approval {
        id: word(row, "id", ApprovalId::parse)?,
        run: word(row, "run", RunId::parse)?,
        bound: hash(row, "bound")?,
        tool: row.get("tool")?,
        version: row.get("version")?,
        args: value(row, "args")?,
        requester: row.get("requester")?,
        under: row.get("under")?,
        reason: row.get("reason")?,
        needed: row.get("needed")?,
        state: word(row, "state", ApprovalState::parse)?,
        decisions: decisions(row)?,
        created: at(row, "created")?,
        expires: at(row, "expires")?,
        notice: notice(row)?,
    })
}

fn notice_words(notice: &Notice) -> (&'static str, Option<&str>) {
    match notice {
        Notice::None => ("none", None),
        Notice::Waiting => ("waiting", None),
        Notice::Sent => ("sent", None),
        Notice::Failed(why) => ("failed", Some(why)),
    }
}

fn notice(row: &Row<'_>) -> Result<Notice, Failure> {
    let failure: Option<String> = row.get("notice_failure")?;
    word(row, "notice", |text| match text {
        "none" => Some(Notice::None),
        "waiting" => Some(Notice::Waiting),
        "sent" => Some(Notice::Sent),
        "failed" => failure.map(Notice::Failed),
        _ => None,
    })
}

fn decisions_text(decisions: &[Decision]) -> String {
    let all = decisions.iter().map(
        |d| json!({"by": d.by, "verdict": d.verdict.as_str(), "reason": d.reason, "at": d.at.0}),
    );
    all.collect::<Value>().to_string()
}

fn decisions(row: &Row<'_>) -> Result<Vec<Decision>, Failure> {
    let list = value(row, "decisions")?;
    let read = |d: &Value| {
        Some(Decision {
            by: d["by"].as_str()?.to_owned(),
            verdict: Verdict::parse(d["verdict"].as_str()?)?,
            reason: d["reason"].as_str().map(str::to_owned),
            at: At(d["at"].as_i64()?),
        })
    };
    let all = list
        .as_array()
        .and_then(|all| all.iter().map(read).collect());
    all.ok_or_else(|| broken("decisions", &list))
}
