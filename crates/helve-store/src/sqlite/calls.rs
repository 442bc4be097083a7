//! Calls on their way into the tables.
//!
//! The start and the end of a run that waits for nobody are written to the journal first, by
//! the task that makes the call: one small write, after which a killed process has lost
//! nothing. Who needs more than that asks for it to be durable (`syncer`). The writer brings
//! what has gathered into the tables, in the same order, with the next thing that it is asked
//! for, or some milliseconds later. So a thousand calls cost a few commits, whether they come
//! at once or one after the other.
//!
//! - *Nobody reads around it.* Who asks for runs or for the record waits until what was
//!   written before is in the tables.
//! - *What is said of a call holds.* A run opens here only if its id is certainly new, and
//!   ends here only if it was opened here and nobody else has touched it. Everything else
//!   goes to the tables at once, and finds there what was written before it.
//! - *A disk that fails closes this way.* Then all calls go to the tables at once, and are
//!   told what is wrong with them.

mod recent;
mod syncer;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use helve_kernel::store::Record;
use helve_kernel::{RunId, RunState, StoreError};

use self::recent::Recent;
use self::syncer::Syncer;
use super::chain::Line;
use super::changes::Kept;
use super::failure::Failure;
use super::journal::{self, Entering, Journal};
use super::op::{Draft, End, Op};
use super::runs::RunRow;

/// What became of something that was to go this way.
pub(super) enum Way<T> {
    /// It is written, under that number.
    Taken(u64),
    /// It has to go to the tables at once.
    Not(T),
}

pub(super) struct Calls {
    state: Mutex<State>,
    syncer: Arc<Syncer>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// What the writer is told with the first call that waits.
    due: Box<dyn Fn() + Send + Sync>,
}

/// Whether it is written here what a run is about to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    No,
    Yes,
}

struct State {
    journal: Journal,
    /// What is written and not in the tables.
    waiting: VecDeque<(u64, Arc<Op>)>,
    next: u64,
    /// The runs that were opened here, and are under way; whether it is written here what they
    /// are about to change.
    live: HashMap<u128, Changed>,
    recent: Recent,
    /// The journal can be written.
    sound: bool,
    /// The tables could be, when it was last tried.
    folding: bool,
    /// It is about to be wiped.
    paused: bool,
    closed: bool,
}

/// What is to be brought into the tables.
pub(super) struct Batch {
    pub(super) ops: Vec<Arc<Op>>,
    /// The number of the last of them.
    pub(super) last: u64,
}

impl Calls {
    /// `newest` is the newest run in the tables; `due` is called when the first call waits.
    pub(super) fn start(
        journal: Journal,
        newest: Option<&str>,
        due: impl Fn() + Send + Sync + 'static,
    ) -> std::io::Result<Arc<Self>> {
        let file = journal.file();
        let state = State {
            journal,
            waiting: VecDeque::new(),
            next: 1,
            live: HashMap::new(),
            recent: Recent::after(newest),
            sound: true,
            folding: true,
            paused: false,
            closed: false,
        };
        let calls = Arc::new(Self {
            state: Mutex::new(state),
            syncer: Arc::default(),
            thread: Mutex::default(),
            due: Box::new(due),
        });
        let (written, unsound) = (Arc::downgrade(&calls), Arc::downgrade(&calls));
        let thread = syncer::start(
            &calls.syncer,
            move || written.upgrade().map_or(0, |calls| calls.written()),
            move || file.sync_data(),
            move || {
                if let Some(calls) = unsound.upgrade() {
                    calls.lock().sound = false;
                }
            },
        )?;
        *calls.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(calls)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A call that broke off in a panic is either in the list or not.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the start of a run, or a run that is over at once.
    pub(super) fn open(&self, row: RunRow, line: Line) -> Result<Way<(RunRow, Line)>, Failure> {
        let mut entry = entering(&Draft::Open(&row, &line))?;
        let id = recent::number_of(&row.id);
        let mut state = self.lock();
        let new = id.is_some_and(|id| state.recent.claim(id));
        let Some(number) = new.then(|| state.write(&mut entry)).flatten() else {
            return Ok(Way::Not((row, line)));
        };
        if row.state == RunState::Running.as_str() {
            state.live.extend(id.map(|id| (id, Changed::No)));
        }
        self.keep(state, number, Op::Open(Box::new(row), line));
        Ok(Way::Taken(number))
    }

    /// Writes the end of a run that was opened here.
    pub(super) fn end(
        &self,
        run: &RunId,
        end: End,
        line: Line,
    ) -> Result<Way<(End, Line)>, Failure> {
        let mut entry = entering(&Draft::End(&end, &line))?;
        let mut state = self.lock();
        let live = recent::number_of(run.as_str()).and_then(|id| state.live.remove(&id));
        let Some(number) = live.and_then(|_| state.write(&mut entry)) else {
            return Ok(Way::Not((end, line)));
        };
        self.keep(state, number, Op::End(end, line));
        Ok(Way::Taken(number))
    }

    /// Writes what a run that was opened here is about to change.
    pub(super) fn keep_changes(
        &self,
        kept: Kept,
        record: &Record,
    ) -> Result<Way<Kept>, StoreError> {
        let line = Line::new(record.clone())?;
        let mut entry = entering(&Draft::Keep(&kept, &line)).map_err(|e| e.to_error())?;
        let mut state = self.lock();
        let id = recent::number_of(kept.run());
        // Once: the tables say what becomes of a second time.
        let first = id.is_some_and(|id| state.live.get(&id) == Some(&Changed::No));
        let Some(number) = first.then(|| state.write(&mut entry)).flatten() else {
            return Ok(Way::Not(kept));
        };
        state.live.extend(id.map(|id| (id, Changed::Yes)));
        self.keep(state, number, Op::Keep(Box::new(kept), line));
        Ok(Way::Taken(number))
    }

    fn keep(&self, mut state: MutexGuard<'_, State>, number: u64, op: Op) {
        let first = state.waiting.is_empty();
        state.waiting.push_back((number, Arc::new(op)));
        drop(state);
        if first {
            (self.due)();
        }
    }

    /// That run is opened in the tables.
    pub(super) fn note(&self, row: &RunRow) {
        if let Some(id) = recent::number_of(&row.id) {
            self.lock().recent.claim(id);
        }
    }

    /// That run is changed in the tables from now on.
    pub(super) fn release(&self, run: &RunId) {
        if let Some(id) = recent::number_of(run.as_str()) {
            self.lock().live.remove(&id);
        }
    }

    /// Whether something is not in the tables yet.
    pub(super) fn any(&self) -> bool {
        !self.lock().waiting.is_empty()
    }

    /// What is not in the tables yet.
    pub(super) fn batch(&self) -> Batch {
        let state = self.lock();
        Batch {
            ops: state.waiting.iter().map(|(_, op)| op.clone()).collect(),
            last: state.waiting.back().map_or(0, |(number, _)| *number),
        }
    }

    /// All up to that number is in the tables, and on the disk with them where `durable`.
    pub(super) fn folded(&self, last: u64, durable: bool) {
        let mut state = self.lock();
        state.folding = true;
        while state.waiting.front().is_some_and(|(n, _)| *n <= last) {
            state.waiting.pop_front();
        }
        if durable {
            // What was brought there before is on the disk with it.
            let upto = state.waiting.front().map_or(state.next, |(n, _)| *n) - 1;
            state.journal.done(upto);
            drop(state);
            self.syncer.is_durable(upto);
        }
    }

    /// The tables cannot be written.
    pub(super) fn not_folded(&self) {
        self.lock().folding = false;
    }

    /// Waits until that number is on the disk; `false` where it cannot be said.
    pub(super) async fn durable(&self, number: u64) -> bool {
        self.syncer.wait(number).await
    }

    /// Sends all calls to the tables, until it is resumed.
    pub(super) fn pause(&self) {
        self.lock().paused = true;
    }

    /// Wipes the journal, of which all is in the tables, and takes calls again.
    pub(super) fn wipe(&self) -> std::io::Result<()> {
        let file = self.lock().journal.file();
        let wiped = journal::wipe(&file);
        let mut state = self.lock();
        match &wiped {
            Ok(()) => {
                state.journal.rewind();
                state.paused = false;
            }
            Err(_) => {
                state.sound = false;
                self.syncer.fail();
            }
        }
        wiped
    }

    /// Takes calls again, without anything else.
    pub(super) fn resume(&self) {
        self.lock().paused = false;
    }

    /// Takes nothing more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    /// Lets nobody wait any more, once all is in the tables.
    pub(super) fn let_go(&self) {
        self.syncer.close();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // As long as a sync takes.
            let _ = thread.join();
        }
    }

    /// Leaves an empty journal, where all of it is in the tables.
    pub(super) fn clear(&self) {
        let state = self.lock();
        if state.waiting.is_empty() {
            // Otherwise the next start reads what it has, and finds that it is done.
            let _ = state.journal.clear();
        }
    }

    /// The last number that is written.
    pub(super) fn written(&self) -> u64 {
        self.lock().next - 1
    }

    /// The last number that is known to be on the disk.
    #[cfg(test)]
    pub(super) fn is_durable(&self) -> u64 {
        self.syncer.durable()
    }
}

impl State {
    /// Writes to the journal; `None` where that way is closed, or there is no room.
    fn write(&mut self, entry: &mut Entering) -> Option<u64> {
        if self.closed || self.paused || !self.sound || !self.folding {
            return None;
        }
        let number = self.next;
        match self.journal.put(number, entry) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(_) => {
                // What may be there of it is no entry, and nothing is written after it.
                self.sound = false;
                return None;
            }
        }
        self.next += 1;
        Some(number)
    }
}

fn entering(op: &Draft<'_>) -> Result<Entering, Failure> {
    Entering::new(|out| op.write(out)).map_err(|e| Failure::Refused(e.to_string()))
}
