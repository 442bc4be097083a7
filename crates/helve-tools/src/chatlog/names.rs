//! Who people are: their other names, and their other accounts.

use helve_kernel::{Ctx, RowChange, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::asked;
use super::given::person;
use super::search::Sender;
use super::service::{ChatLog, name_key};

/// Somebody, with their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Named {
    /// Who it is, as it was before.
    pub(super) person: Sender,
    /// The name.
    pub(super) alias: String,
    /// Whether they had it before.
    pub(super) had: bool,
}

/// Gives a person another name, or takes one away. Use it when the user says that two names are the same person's.
///
/// Searches know the person by it from then on. An undo of the call takes it back.
#[tool(
    group = "chatlog",
    title = "Name a person",
    category = "Chatlog",
    risk = "exec_low",
    held,
    idempotent,
    output,
    timeout = "60s",
    aliases = ["add_person_alias"],
    triggers = ["When the user says who somebody is", "When a nickname is not found"],
    related = [("chatlog_person", "shows the messages of a person"), ("chatlog_stats", "lists who speaks")],
    example(scenario = "A nickname", params = {"person": "wxid_zhang", "alias": "老张"}, expected = "The person, and whether they had the name")
)]
pub(super) async fn name(
    ctx: &Ctx,
    /// The person: name, another name, or account.
    #[schemars(length(min = 1, max = 200))]
    person: String,
    /// The other name.
    #[schemars(length(min = 1, max = 200))]
    alias: String,
    /// Whether it is taken away instead.
    #[default(false)]
    remove: bool,
) -> Result<Named, ToolError> {
    let alias = asked(&alias, "alias")?;
    let log = ctx.service::<ChatLog>()?;
    let found = log
        .work(move |opened| self::person(opened, &person))
        .await?;
    let had = found.aliases.contains(&alias);
    let there = |is: bool| is.then_some(Value::Bool(true));
    ctx.records().foreign(RowChange {
        collection: ChatLog::NAMES.to_owned(),
        key: name_key(&found.id, &alias),
        before: there(had),
        after: there(!remove),
    })?;
    Ok(Named {
        person: found.into(),
        alias,
        had,
    })
}

/// Two accounts of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Merged {
    /// The account that is merged, or on its own again.
    pub(super) account: String,
    /// The person that it belongs to, as they were before.
    pub(super) person: Sender,
}

/// Makes two accounts one person, or two again. Use it when the user says that somebody has two accounts.
///
/// Searches, counts and filters take them as one from then on, under the name of `same_as`; the other
/// names are kept as aliases. No message is changed, and an undo of the call takes it back.
#[tool(
    group = "chatlog",
    title = "Merge two accounts",
    category = "Chatlog",
    risk = "exec_low",
    held,
    idempotent,
    output,
    timeout = "60s",
    aliases = ["merge_persons"],
    triggers = ["When the user says that two accounts are one person's", "When somebody has changed their account"],
    warnings = ["Two people may have one name: be sure that they are one, and give accounts rather than names"],
    related = [("chatlog_name", "gives a person another name"), ("chatlog_stats", "lists the accounts")],
    example(scenario = "A new phone", params = {"person": "wxid_zhang_new", "same_as": "wxid_zhang"}, expected = "The account, and the person that it belongs to")
)]
pub(super) async fn merge(
    ctx: &Ctx,
    /// The account that is merged, or somebody's only name.
    #[schemars(length(min = 1, max = 200))]
    person: String,
    /// Whose it is as well: name or account. Empty where it is taken back.
    #[default("")]
    #[schemars(length(max = 200))]
    same_as: String,
    /// Whether `person`, an account, is on its own again instead.
    #[default(false)]
    remove: bool,
) -> Result<Merged, ToolError> {
    let log = ctx.service::<ChatLog>()?;
    let (before, after, merged) = log
        .work(move |opened| match remove {
            true => {
                let account = person.trim().to_owned();
                let into = opened.archive.account(&account).and_then(|(_, into)| into);
                let Some(into) = into else {
                    let problem =
                        format!("`{}` is no account that was merged", account.escape_debug());
                    return Err(ToolError::not_found(problem));
                };
                let person = self::person(opened, &account)?.into();
                Ok((Some(into), None, Merged { account, person }))
            }
            false => {
                let same_as = asked(&same_as, "same_as")?;
                let one = self::person(opened, &person)?;
                let into = self::person(opened, &same_as)?;
                if one.no == into.no {
                    let problem = format!("`{}` and `{}` are one already", one.id, same_as);
                    return Err(ToolError::conflict(problem));
                }
                let account = one.id;
                let after = Some(into.id.clone());
                Ok((
                    None,
                    after,
                    Merged {
                        account,
                        person: into.into(),
                    },
                ))
            }
        })
        .await?;
    ctx.records().foreign(RowChange {
        collection: ChatLog::MERGES.to_owned(),
        key: merged.account.clone(),
        before: before.map(Value::String),
        after: after.map(Value::String),
    })?;
    Ok(merged)
}
