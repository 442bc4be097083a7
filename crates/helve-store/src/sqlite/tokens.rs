//! Tokens.

use helve_core::def::Risk;
use helve_kernel::{At, Permission, PrincipalKind, Token, TokenId};
use rusqlite::{Connection, Row, params};
use serde_json::Value;

use super::chain::Line;
use super::failure::Failure;
use super::row::{at, broken, change, hash, maybe_at, rows, value, word};
use super::tools::noted;
use super::writer::Tx;

pub(super) fn add(tx: &mut Tx<'_>, token: &Token, line: &Line) -> Result<(), Failure> {
    let permissions = token.permissions.iter().map(|p| p.as_str());
    let permissions: Value = permissions.collect();
    let scopes: Value = token.scopes.iter().map(String::as_str).collect();
    change(
        tx.conn,
        "INSERT INTO tokens (id, name, hash, kind, owner, under, permissions, scopes, max_risk,
             created, created_by, expires, revoked)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            token.id.as_str(),
            token.name,
            token.hash.as_bytes(),
            token.kind.as_str(),
            token.owner,
            token.under,
            permissions.to_string(),
            scopes.to_string(),
            token.max_risk.as_str(),
            token.created.0,
            token.created_by,
            token.expires.map(|at| at.0),
            token.revoked.map(|at| at.0)
        ],
    )?;
    tx.append(line)
}

pub(super) fn revoke(tx: &mut Tx<'_>, id: &TokenId, at: At, line: &Line) -> Result<bool, Failure> {
    let sql = "UPDATE tokens SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL";
    let changed = change(tx.conn, sql, params![id.as_str(), at.0])?;
    noted(tx, changed, line)
}

pub(super) fn list(conn: &Connection) -> Result<Vec<Token>, Failure> {
    rows(conn, "SELECT * FROM tokens ORDER BY id", [], to_token)
}

fn to_token(row: &Row<'_>) -> Result<Token, Failure> {
    Ok(Token {
        id: word(row, "id", TokenId::parse)?,
        name: row.get("name")?,
        hash: hash(row, "hash")?,
        kind: word(row, "kind", PrincipalKind::parse)?,
        owner: row.get("owner")?,
        under: row.get("under")?,
        permissions: words(row, "permissions", Permission::parse)?,
        scopes: words(row, "scopes", |w| Some(w.to_owned()))?,
        max_risk: word(row, "max_risk", Risk::parse)?,
        created: at(row, "created")?,
        created_by: row.get("created_by")?,
        expires: maybe_at(row, "expires")?,
        revoked: maybe_at(row, "revoked")?,
    })
}

/// A column that holds a list of words. One that is not known is no permission
/// less: it is a token that nobody can judge.
fn words<T>(
    row: &Row<'_>,
    column: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Failure> {
    let list = value(row, column)?;
    let read = list.as_array().and_then(|items| {
        let items = items.iter().map(|item| parse(item.as_str()?));
        items.collect::<Option<Vec<T>>>()
    });
    read.ok_or_else(|| broken(column, &list))
}
