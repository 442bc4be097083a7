//! Tools and their versions.

use helve_kernel::store::{Registered, Version};
use rusqlite::{Connection, Row, params};

use super::chain::Line;
use super::failure::Failure;
use super::row::{self, at, change, hash, json, maybe_value, rows, value, word};
use super::writer::Tx;

const VERSION: &str =
    "v.tool, v.version, v.hash, v.made_by, v.at, v.why, v.fingerprint, v.definition";

pub(super) fn list(conn: &Connection) -> Result<Vec<Registered>, Failure> {
    let sql = format!(
        "SELECT {VERSION}, t.enabled, t.source FROM tools t
         JOIN versions v ON v.tool = t.name AND v.version = t.version
         WHERE NOT t.removed ORDER BY t.name"
    );
    rows(conn, &sql, [], |row| {
        Ok(Registered {
            current: to_version(row)?,
            enabled: row.get("enabled")?,
            source: row.get("source")?,
        })
    })
}

pub(super) fn versions(conn: &Connection, tool: &str) -> Result<Vec<Version>, Failure> {
    let sql = format!("SELECT {VERSION} FROM versions v WHERE v.tool = ?1 ORDER BY v.n");
    rows(conn, &sql, [tool], to_version)
}

fn to_version(row: &Row<'_>) -> Result<Version, Failure> {
    Ok(Version {
        tool: row.get("tool")?,
        version: word(row, "version", |t| t.parse().ok())?,
        hash: hash(row, "hash")?,
        definition: value(row, "definition")?,
        fingerprint: maybe_value(row, "fingerprint")?,
        by: row.get("made_by")?,
        at: at(row, "at")?,
        why: row.get("why")?,
    })
}

/// A version, ready to be written.
pub(super) struct NewVersion {
    version: Version,
    number: String,
    definition: String,
    fingerprint: Option<String>,
    source: String,
    enabled: bool,
}

impl NewVersion {
    pub(super) fn new(version: Version, source: String, enabled: bool) -> Result<Self, Failure> {
        Ok(Self {
            number: version.version.to_string(),
            definition: json(&version.definition)?,
            fingerprint: version.fingerprint.as_ref().map(json).transpose()?,
            version,
            source,
            enabled,
        })
    }
}

pub(super) fn add(tx: &mut Tx<'_>, new: &NewVersion, line: &Line) -> Result<bool, Failure> {
    let version = &new.version;
    let added = change(
        tx.conn,
        "INSERT INTO versions (tool, version, hash, made_by, at, why, fingerprint, definition)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (tool, version) DO NOTHING",
        params![
            version.tool,
            new.number,
            version.hash.as_bytes(),
            version.by,
            version.at.0,
            version.why,
            new.fingerprint,
            new.definition
        ],
    )?;
    if added == 0 {
        return Ok(false);
    }
    change(
        tx.conn,
        "INSERT INTO tools (name, version, enabled, removed, source) VALUES (?1, ?2, ?3, 0, ?4)
         ON CONFLICT (name) DO UPDATE
         SET version = excluded.version, removed = 0, source = excluded.source",
        params![version.tool, new.number, new.enabled, new.source],
    )?;
    tx.append(line)?;
    Ok(true)
}

pub(super) fn select(
    tx: &mut Tx<'_>,
    tool: &str,
    version: &str,
    line: &Line,
) -> Result<bool, Failure> {
    let sql = "SELECT 1 FROM versions WHERE tool = ?1 AND version = ?2";
    let known = row::row(tx.conn, sql, params![tool, version], |_| Ok(()))?;
    if known.is_none() {
        return Ok(false);
    }
    let sql = "UPDATE tools SET version = ?2 WHERE name = ?1 AND NOT removed";
    let changed = change(tx.conn, sql, params![tool, version])?;
    noted(tx, changed, line)
}

pub(super) fn enable(
    tx: &mut Tx<'_>,
    tool: &str,
    enabled: bool,
    line: &Line,
) -> Result<bool, Failure> {
    let sql = "UPDATE tools SET enabled = ?2 WHERE name = ?1 AND NOT removed AND enabled <> ?2";
    let changed = change(tx.conn, sql, params![tool, enabled])?;
    noted(tx, changed, line)
}

pub(super) fn remove(tx: &mut Tx<'_>, tool: &str, line: &Line) -> Result<bool, Failure> {
    let sql = "UPDATE tools SET removed = 1 WHERE name = ?1 AND NOT removed";
    let changed = change(tx.conn, sql, params![tool])?;
    noted(tx, changed, line)
}

/// Puts on the record what changed something.
pub(super) fn noted(tx: &mut Tx<'_>, changed: usize, line: &Line) -> Result<bool, Failure> {
    if changed == 0 {
        return Ok(false);
    }
    tx.append(line)?;
    Ok(true)
}
