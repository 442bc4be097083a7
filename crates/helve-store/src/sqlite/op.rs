//! What a call leaves, and how it gets into the tables.

use std::borrow::Cow;
use std::collections::HashMap;

use helve_kernel::store::Move;
use helve_kernel::{RunState, Settled, Touched};
use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::chain::Line;
use super::changes::{self, Kept};
use super::failure::Failure;
use super::row::change;
use super::runs::{self, RunRow};
use super::writer::Tx;

/// The start of a run, what it is about to change, or its end, with its entry of the record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Op {
    Open(Box<RunRow>, Line),
    Keep(Box<Kept>, Line),
    End(End, Line),
}

/// The same, of those who still have it.
#[derive(Serialize)]
#[serde(rename = "Op")]
pub(super) enum Draft<'o> {
    Open(&'o RunRow, &'o Line),
    Keep(&'o Kept, &'o Line),
    End(&'o End, &'o Line),
}

/// In the place of a text that there is not.
const NONE: u32 = u32::MAX;

impl Draft<'_> {
    /// As the journal has it: what is short as JSON in one line, and after it the texts that
    /// are JSON already, as they are, each with its length before it.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.push(b'\n');
        let mut put = |bytes: Option<&[u8]>| {
            // What is too long for its length is too long for an entry.
            let length = bytes.map_or(NONE, |t| u32::try_from(t.len()).unwrap_or(NONE));
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(bytes.unwrap_or_default());
        };
        let (answer, line) = match self {
            Self::Open(row, line) => {
                put(Some(row.args.as_bytes()));
                (row.answer.as_deref().map(str::as_bytes), line)
            }
            Self::Keep(kept, line) => {
                put(Some(&kept.manifest));
                (Some(&kept.redo[..]), line)
            }
            Self::End(end, line) => (end.answer.as_deref().map(str::as_bytes), line),
        };
        put(answer);
        put(Some(line.text.as_bytes()));
        Ok(())
    }
}

impl Op {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (head, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        let mut op: Self = serde_json::from_slice(head).map_err(|e| e.to_string())?;
        let Some((_, mut rest)) = rest.split_first() else {
            // As it was written at first: all of it JSON.
            let (Self::Open(_, line) | Self::Keep(_, line) | Self::End(_, line)) = &op;
            let whole = !line.text.is_empty();
            return whole.then_some(op).ok_or_else(|| "it is cut".to_owned());
        };
        let mut bytes = || {
            let bytes = taken(&mut rest).ok_or_else(|| "it is cut".to_owned())?;
            Ok::<_, String>(bytes.map(<[u8]>::to_vec))
        };
        let text = |bytes: Option<Vec<u8>>| {
            let text = bytes.map(String::from_utf8).transpose();
            text.map_err(|e| e.to_string())
        };
        let line = match &mut op {
            Self::Open(row, line) => {
                row.args = text(bytes()?)?.ok_or("it has no arguments")?;
                row.answer = text(bytes()?)?;
                line
            }
            Self::Keep(kept, line) => {
                kept.manifest = bytes()?.ok_or("it has no manifest")?;
                kept.redo = bytes()?.ok_or("it has no redo")?;
                line
            }
            Self::End(end, line) => {
                end.answer = text(bytes()?)?;
                line
            }
        };
        line.text = text(bytes()?)?.ok_or("it has no entry of the record")?;
        match rest.is_empty() {
            true => Ok(op),
            false => Err("there is more in it".to_owned()),
        }
    }
}

/// The next text, or that there is none; nothing where there is too little.
fn taken<'b>(rest: &mut &'b [u8]) -> Option<Option<&'b [u8]>> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    let (text, after) = match length {
        NONE => (None, after),
        length => {
            let (text, after) = after.split_at_checked(length as usize)?;
            (Some(text), after)
        }
    };
    *rest = after;
    Some(text)
}

/// How a run ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct End {
    run: String,
    state: Cow<'static, str>,
    at: i64,
    exit_code: Option<i32>,
    /// What became of what it was about to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settled: Option<Came>,
    #[serde(default, skip_serializing)]
    answer: Option<String>,
}

/// What became of changes.
#[derive(Debug, Serialize, Deserialize)]
enum Came {
    Dropped,
    /// Each path, and in which way it changed.
    Committed(Vec<(Vec<u8>, String)>),
}

impl Came {
    fn of(settled: &Settled) -> Self {
        match settled {
            Settled::Dropped => Self::Dropped,
            Settled::Committed(paths) => {
                let paths = paths.iter().map(|t| (t.path.clone(), t.kind.clone()));
                Self::Committed(paths.collect())
            }
        }
    }

    fn settled(&self) -> Settled {
        match self {
            Self::Dropped => Settled::Dropped,
            Self::Committed(paths) => {
                let paths = paths.iter().cloned();
                Settled::Committed(paths.map(|(path, kind)| Touched { path, kind }).collect())
            }
        }
    }
}

impl End {
    pub(super) fn new(step: &Move, answer: Option<String>) -> Self {
        Self {
            settled: step.changes.as_ref().map(Came::of),
            run: step.run.as_str().to_owned(),
            state: Cow::Borrowed(step.to.as_str()),
            at: step.at.0,
            exit_code: step.exit_code,
            answer,
        }
    }

    pub(super) fn into_answer(self) -> Option<String> {
        self.answer
    }
}

/// Brings them into the tables, in their order. It fails only where the disk does: what
/// could be wrong with them was looked at before they were taken.
pub(super) fn fold<'o>(
    tx: &mut Tx<'_>,
    ops: impl Iterator<Item = &'o Op> + Clone,
) -> Result<(), Failure> {
    // Most runs are over by now: they are written once, as they are.
    let mut ends: HashMap<&str, &End> = HashMap::new();
    for op in ops.clone() {
        if let Op::End(end, _) = op {
            ends.insert(&end.run, end);
        }
    }
    for op in ops {
        let line = match op {
            Op::Open(row, line) => {
                runs::insert_new(tx.conn, row, ends.remove(row.id.as_str()))?;
                line
            }
            Op::Keep(kept, line) => {
                kept.insert(tx.conn)?;
                line
            }
            Op::End(end, line) => {
                if ends.remove(end.run.as_str()).is_some() {
                    settle(tx, end)?;
                }
                if let Some(came) = &end.settled {
                    changes::settle(tx.conn, &end.run, &came.settled())?;
                }
                line
            }
        };
        tx.append(line)?;
    }
    Ok(())
}

/// The end of a run that is in the table already.
fn settle(tx: &Tx<'_>, end: &End) -> Result<(), Failure> {
    change(
        tx.conn,
        "UPDATE runs SET state = ?2, open = 0, ended = ?3,
             exit_code = coalesce(?4, exit_code), answer = coalesce(?5, answer)
         WHERE id = ?1 AND state = ?6",
        params![
            end.run,
            end.state,
            end.at,
            end.exit_code,
            end.answer,
            RunState::Running.as_str()
        ],
    )?;
    Ok(())
}

impl RunRow {
    /// As it is after that end.
    pub(super) fn ended<'r>(&'r self, end: Option<&'r End>) -> Ended<'r> {
        match end {
            None => Ended {
                state: &self.state,
                open: self.open,
                ended: self.ended,
                exit_code: self.exit_code,
                answer: self.answer.as_deref(),
            },
            Some(end) => Ended {
                state: &end.state,
                open: false,
                ended: self.ended.or(Some(end.at)),
                exit_code: end.exit_code.or(self.exit_code),
                answer: end.answer.as_deref().or(self.answer.as_deref()),
            },
        }
    }
}

/// What the end of a run has to say of its row.
pub(super) struct Ended<'r> {
    pub(super) state: &'r str,
    pub(super) open: bool,
    pub(super) ended: Option<i64>,
    pub(super) exit_code: Option<i32>,
    pub(super) answer: Option<&'r str>,
}

#[cfg(test)]
mod tests {
    use helve_core::audit::Hash;
    use helve_kernel::store::Record;
    use helve_kernel::{At, Run, RunId};
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn line(text: &str) -> Line {
        let record = Record::new(At(7), "run.started", "ann", "run-1");
        let mut line = Line::new(record).unwrap();
        line.text = text.to_owned();
        line
    }

    fn end(answer: Option<String>) -> End {
        let step = Move::new(
            &RunId::fresh(),
            &[RunState::Running],
            RunState::Failed,
            At(8),
        );
        End::new(&step, answer)
    }

    fn run() -> Run {
        Run {
            id: RunId::fresh(),
            tool: "echo".to_owned(),
            version: "1.0.0".to_owned(),
            version_hash: Hash::of(b"echo"),
            owner: "ann".to_owned(),
            under: None,
            agent: Some("bot".to_owned()),
            state: RunState::Running,
            args: Value::Null,
            created: At(1),
            started: Some(At(2)),
            ended: None,
            approval: None,
            exit_code: None,
            answer: None,
        }
    }

    fn written(draft: &Draft<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        draft.write(&mut out).unwrap();
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read(answer in proptest::option::of("(?s).{0,40}"), text in "(?s).{0,40}") {
            let (end, line) = (end(answer.clone()), line(&text));
            let bytes = written(&Draft::End(&end, &line));
            let Ok(Op::End(found, entry)) = Op::read(&bytes) else {
                panic!("{bytes:?}");
            };
            prop_assert_eq!(found.answer, answer);
            prop_assert_eq!((found.run, found.at), (end.run, end.at));
            prop_assert_eq!(entry.text, text);
        }

        #[test]
        fn so_is_a_start(args in "(?s).{0,40}", answer in proptest::option::of("(?s).{0,40}")) {
            let mut row = RunRow::new(run()).unwrap();
            (row.args, row.answer) = (args.clone(), answer.clone());
            let line = line("{}");
            let bytes = written(&Draft::Open(&row, &line));
            let Ok(Op::Open(found, entry)) = Op::read(&bytes) else {
                panic!("{bytes:?}");
            };
            prop_assert_eq!((&found.args, &found.answer), (&args, &answer));
            prop_assert_eq!((&found.id, found.open), (&row.id, row.open));
            prop_assert_eq!(entry.text, "{}");
        }

        #[test]
        fn so_is_what_is_to_change(manifest: Vec<u8>, redo: Vec<u8>) {
            let run = run().id;
            let changes = helve_kernel::Changes {
                run: run.clone(),
                id: Hash::of(b"id"),
                state: helve_kernel::ChangesState::Committing,
                at: At(3),
                count: 1,
                order: None,
                pinned: false,
                manifest,
                rows: Vec::new(),
                staged: None,
                reply: None,
                redo: Some(redo),
            };
            let (kept, line) = (Kept::new(changes.clone()).unwrap(), line("{}"));
            let bytes = written(&Draft::Keep(&kept, &line));
            let Ok(Op::Keep(found, _)) = Op::read(&bytes) else {
                panic!("{bytes:?}");
            };
            prop_assert_eq!(found.into_changes().unwrap(), changes);
        }

        #[test]
        fn what_is_cut_is_refused(text in ".{0,20}", cut in any::<prop::sample::Index>()) {
            let bytes = written(&Draft::End(&end(None), &line(&text)));
            let cut = cut.index(bytes.len());
            prop_assert!(Op::read(&bytes[..cut]).is_err());
            let more = [&bytes[..], b"x"].concat();
            prop_assert!(Op::read(&more).is_err());
        }
    }

    /// As the first journals had them.
    #[test]
    fn an_entry_that_is_all_json_is_read() {
        let text = r#"{"Open":[{"id":"r","tool":"t","version":"1.0.0","version_hash":"h","owner":"ann",
            "under":null,"agent":null,"state":"running","open":true,"created":1,"started":2,"ended":null,
            "approval":null,"exit_code":null,"args":"{\"a\":1}","answer":null},
            {"at":3,"event":"run.started","actor":"ann","resource":"r","text":"{\"b\":2}"}]}"#;
        let Ok(Op::Open(row, line)) = Op::read(text.replace('\n', "").as_bytes()) else {
            panic!("it is not read");
        };
        assert_eq!(
            (row.args.as_str(), line.text.as_str()),
            (r#"{"a":1}"#, r#"{"b":2}"#)
        );
        assert_eq!(row.answer, None);
    }
}
