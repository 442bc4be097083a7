//! Runs in memory, with what they wrote and the keys that lead to them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;

use helve_core::audit::Hash;

use super::state::{State, taken};
use crate::approval::{Approval, ApprovalState};
use crate::changes::Turn;
use crate::run::{Chunk, Run, RunState};
use crate::store::{Done, IdempotencyKey, Move, Opened, Record, RunFilter, StoreError};
use crate::{ApprovalId, At, RunId};

#[derive(Debug)]
pub(super) struct Runs {
    /// By id, which is by time.
    slots: BTreeMap<RunId, Slot>,
    /// Those that are over, in the order in which they became so.
    over: VecDeque<RunId>,
    /// How many of those are kept.
    pub(super) bound: usize,
    keys: HashMap<(String, String), (Hash, RunId)>,
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            slots: BTreeMap::new(),
            over: VecDeque::new(),
            bound: 100_000,
            keys: HashMap::new(),
        }
    }
}

#[derive(Debug)]
struct Slot {
    run: Run,
    chunks: BTreeMap<u64, Chunk>,
    key: Option<(String, String)>,
}

impl State {
    pub(super) fn open_run(
        &mut self,
        run: Run,
        approval: Option<Approval>,
        key: Option<IdempotencyKey>,
        record: &Record,
    ) -> Result<Opened, StoreError> {
        let key = key.map(|k| ((k.owner, k.key), k.body));
        if let Some((name, body)) = &key
            && let Some((first, id)) = self.runs.keys.get(name)
        {
            let same = first == body;
            return Ok(if same {
                Opened::Same(id.clone())
            } else {
                Opened::KeyTaken
            });
        }
        if self.runs.slots.contains_key(&run.id) {
            return Err(taken("run", run.id.as_str()));
        }
        if let Some(approval) = &approval
            && self.approvals.contains_key(&approval.id)
        {
            return Err(taken("approval", approval.id.as_str()));
        }
        self.chain.append(record)?;
        if let Some(approval) = approval {
            self.approvals.insert(approval.id.clone(), approval);
        }
        let id = run.id.clone();
        let over = run.state.is_over();
        let name = key.map(|(name, body)| {
            self.runs.keys.insert(name.clone(), (body, id.clone()));
            name
        });
        let slot = Slot {
            run,
            chunks: BTreeMap::new(),
            key: name,
        };
        self.runs.slots.insert(id.clone(), slot);
        if over {
            self.retire(id);
        }
        Ok(Opened::New)
    }

    pub(super) fn move_run(&mut self, step: Move, record: &Record) -> Result<bool, StoreError> {
        let slot = self.runs.slots.get_mut(&step.run);
        let Some(slot) = slot.filter(|s| step.from.contains(&s.run.state)) else {
            return Ok(false);
        };
        self.chain.append(record)?;
        let run = &mut slot.run;
        let ends = !run.state.is_over() && step.to.is_over();
        enter(run, step.to, step.at);
        run.exit_code = step.exit_code.or(run.exit_code);
        if step.answer.is_some() {
            run.answer = step.answer;
        }
        let approval = run.approval.clone().zip(step.approval);
        if let Some((id, state)) = approval {
            self.close_approval(&id, state);
        }
        if let Some(settled) = step.changes {
            self.changes.settle(&step.run, settled);
        }
        for turn in &step.turns {
            self.turn(turn);
        }
        if ends {
            self.retire(step.run);
        }
        Ok(true)
    }

    pub(super) fn spend_approval(
        &mut self,
        id: &ApprovalId,
        bound: Hash,
        at: At,
        record: &Record,
    ) -> Result<bool, StoreError> {
        let approval = self
            .approvals
            .get_mut(id)
            .filter(|a| a.state == ApprovalState::Approved && a.bound == bound && at < a.expires);
        let Some(approval) = approval else {
            return Ok(false);
        };
        let slot = self.runs.slots.get_mut(&approval.run);
        let Some(slot) = slot.filter(|s| !s.run.state.is_over()) else {
            return Ok(false);
        };
        self.chain.append(record)?;
        approval.state = ApprovalState::Spent;
        enter(&mut slot.run, RunState::Running, at);
        self.changes.begin(&slot.run.id);
        Ok(true)
    }

    pub(super) fn run_mut(&mut self, id: &RunId) -> Option<&mut Run> {
        self.runs.slots.get_mut(id).map(|slot| &mut slot.run)
    }

    fn turn(&mut self, turn: &Turn) {
        let (from, to) = match turn.undone {
            true => (RunState::Succeeded, RunState::Undone),
            false => (RunState::Undone, RunState::Succeeded),
        };
        if let Some(run) = self.run_mut(&turn.run)
            && run.state == from
        {
            run.state = to;
        }
        self.changes.turn(turn);
    }

    pub(super) fn run(&self, id: &RunId) -> Option<Run> {
        self.runs.slots.get(id).map(|slot| slot.run.clone())
    }

    pub(super) fn runs(&self, filter: &RunFilter, limit: usize) -> Vec<Run> {
        let end = filter.before.as_ref();
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        let older = self.runs.slots.range((Bound::Unbounded, end)).rev();
        older
            .map(|(_, slot)| &slot.run)
            .filter(|run| {
                filter.tool.as_ref().is_none_or(|t| run.tool == *t)
                    && filter.state.is_none_or(|s| run.state == s)
                    && belongs(run, filter.owner.as_ref())
                    && belongs(run, filter.who.as_ref())
                    && filter.since.is_none_or(|since| run.created >= since)
                    && filter.until.is_none_or(|until| run.created < until)
            })
            .take(limit)
            .cloned()
            .collect()
    }

    pub(super) fn activity(&self, since: At, limit: usize) -> Vec<Done> {
        let newest = self.runs.slots.values().rev().map(|slot| &slot.run);
        newest
            .take(limit)
            .filter(|run| run.created >= since)
            .map(|run| Done {
                created: run.created,
                ended: run.ended,
                state: run.state,
                owner: run.owner.clone(),
                under: run.under.clone(),
            })
            .collect()
    }

    pub(super) fn append_chunks(
        &mut self,
        run: &RunId,
        chunks: Vec<Chunk>,
    ) -> Result<(), StoreError> {
        let Some(slot) = self.runs.slots.get_mut(run) else {
            return Err(StoreError::Unwritable(format!("there is no run `{run}`")));
        };
        if let Some(chunk) = chunks.iter().find(|c| slot.chunks.contains_key(&c.seq)) {
            return Err(taken("chunk", &format!("{run}/{}", chunk.seq)));
        }
        slot.chunks.extend(chunks.into_iter().map(|c| (c.seq, c)));
        Ok(())
    }

    pub(super) fn chunks(&self, run: &RunId, after: u64, limit: usize) -> Vec<Chunk> {
        let Some(slot) = self.runs.slots.get(run) else {
            return Vec::new();
        };
        let later = (Bound::Excluded(after), Bound::Unbounded);
        let chunks = slot.chunks.range(later).map(|(_, chunk)| chunk.clone());
        chunks.take(limit).collect()
    }

    /// Counts a run among those that are over, and lets the oldest of them go.
    fn retire(&mut self, id: RunId) {
        self.runs.over.push_back(id);
        if self.runs.over.len() <= self.runs.bound {
            return;
        }
        let oldest = self.runs.over.pop_front();
        let Some(slot) = oldest.and_then(|id| self.runs.slots.remove(&id)) else {
            return;
        };
        if let Some(key) = slot.key {
            self.runs.keys.remove(&key);
        }
        if let Some(approval) = slot.run.approval {
            self.approvals.remove(&approval);
        }
        self.changes.forget(&slot.run.id);
    }
}

/// Puts a run into a state. It begins once and ends once: to undo what was done
/// does not change when it was.
fn enter(run: &mut Run, state: RunState, at: At) {
    run.state = state;
    if state == RunState::Running {
        run.started.get_or_insert(at);
    }
    if state.is_over() {
        run.ended.get_or_insert(at);
    }
}

/// Whether something can still become of an approval.
pub(super) fn is_open(state: ApprovalState) -> bool {
    matches!(state, ApprovalState::Pending | ApprovalState::Approved)
}

/// Whether a run is of somebody, or of an agent under them.
fn belongs(run: &Run, whose: Option<&String>) -> bool {
    whose.is_none_or(|o| run.owner == *o || run.under.as_ref() == Some(o))
}
