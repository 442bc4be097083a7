//! A call and the conversation about it.
//!
//! Whatever runs speaks through a [`Voice`]; whoever waits for the answer drives the
//! [`Talk`]: it gives on what is told, asks what is asked, and has the answer in the end. In
//! the newer revisions a question ends the request, and the talk is put aside until the
//! client comes back with what it was asked.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use helve_kernel::{Answer, Approval, Caller, ErrorKind, Kernel, Principal, RunId, ToolError};
use serde_json::{Map, Value};
use tokio::sync::{Notify, mpsc, oneshot};

use super::lock;

/// How many words may wait to be given on.
const WAITING: usize = 256;

/// Something that is told to the client.
#[derive(Debug)]
pub(crate) struct Tell {
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// Something that the driver must act on.
pub(crate) enum Control {
    Questions(Round),
    Waits(Box<Approval>),
    Long(Value),
}

/// Questions that were asked together, and go back together.
pub(crate) struct Round {
    questions: Map<String, Value>,
    answers: Map<String, Value>,
    sender: Option<oneshot::Sender<Result<Map<String, Value>, ToolError>>>,
}

impl Round {
    /// What is asked, by name.
    pub(crate) fn questions(&self) -> &Map<String, Value> {
        &self.questions
    }

    /// Takes an answer; whether it belongs here.
    fn take(&mut self, name: &str, answer: &Value) -> bool {
        let asked = self.questions.contains_key(name);
        if asked {
            self.answers.insert(name.to_owned(), answer.clone());
            if self.answers.len() == self.questions.len()
                && let Some(sender) = self.sender.take()
            {
                // Whoever asked may be gone.
                let _ = sender.send(Ok(std::mem::take(&mut self.answers)));
            }
        }
        asked
    }

    fn is_open(&self) -> bool {
        self.sender.is_some()
    }

    /// They cannot be asked.
    pub(crate) fn fail(&mut self, error: ToolError) {
        if let Some(sender) = self.sender.take() {
            let _ = sender.send(Err(error));
        }
    }
}

/// What is behind a call: a front door speaks for its client.
pub(crate) struct Voice {
    session: String,
    protocol: String,
    capabilities: Arc<Value>,
    extras: Map<String, Value>,
    // In boxes: a channel has room for many from its start, and most calls say nothing.
    tells: mpsc::Sender<Box<Tell>>,
    control: mpsc::UnboundedSender<Box<Control>>,
    /// Nobody gives on what is told while the talk is put aside.
    heard: AtomicBool,
    /// That something was told or asked.
    said: Notify,
}

impl Voice {
    fn control(&self, control: Control) -> Result<(), ()> {
        self.control.send(Box::new(control)).map_err(drop)?;
        self.said.notify_one();
        Ok(())
    }
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {} ({})", self.session, self.protocol)
    }
}

#[async_trait]
impl Caller for Voice {
    fn session(&self) -> &str {
        &self.session
    }

    fn protocol(&self) -> &str {
        &self.protocol
    }

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn extras(&self) -> &Map<String, Value> {
        &self.extras
    }

    async fn tell(&self, method: &str, params: Value) {
        if self.heard.load(Ordering::Relaxed) {
            let method = method.to_owned();
            // Before it: a channel that is full is emptied by whoever hears of it.
            self.said.notify_one();
            let _ = self.tells.send(Box::new(Tell { method, params })).await;
        }
    }

    async fn ask(&self, questions: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        let gone = || ToolError::dependency("the client that called is gone, and cannot be asked");
        let (sender, answers) = oneshot::channel();
        let round = Round {
            questions,
            answers: Map::new(),
            sender: Some(sender),
        };
        self.control(Control::Questions(round))
            .map_err(|()| gone())?;
        answers.await.map_err(|_| gone())?
    }

    fn takes_long(&self, task: &Value) {
        let _ = self.control(Control::Long(task.clone()));
    }

    fn waits(&self, approval: &Approval) {
        let _ = self.control(Control::Waits(Box::new(approval.clone())));
    }
}

/// What came of the work.
pub(crate) enum Done {
    /// A call of a tool.
    Answer(Box<Answer>),
    /// Something else that was passed on: its result, or its error.
    Passed(Result<Map<String, Value>, Map<String, Value>>),
}

/// The work itself.
pub(crate) type Work = Pin<Box<dyn Future<Output = Done> + Send>>;

/// A call under way.
pub(crate) struct Talk {
    voice: Arc<Voice>,
    pub(crate) control: mpsc::UnboundedReceiver<Box<Control>>,
    pub(crate) tells: mpsc::Receiver<Box<Tell>>,
    pub(crate) work: Mutex<Option<Work>>,
    pub(crate) rounds: Vec<Round>,
    /// The approval that it waits for.
    pub(crate) approval: Option<Box<Approval>>,
    guard: Option<Guard>,
    /// What the client said before it was asked.
    pub(crate) given: Map<String, Value>,
    /// What the client asked for: whoever comes back must ask for the same.
    pub(crate) asked: Value,
    pub(crate) run: Option<RunId>,
}

/// Who calls, as the voice says it on.
pub(crate) struct From {
    pub(crate) session: String,
    pub(crate) protocol: String,
    pub(crate) capabilities: Arc<Value>,
    pub(crate) extras: Map<String, Value>,
}

impl Talk {
    /// Begins a talk about what `work` makes of the voice.
    pub(crate) fn new(from: From, asked: Value, work: impl FnOnce(Arc<Voice>) -> Work) -> Self {
        let (tells, heard_tells) = mpsc::channel(WAITING);
        let (control, heard_control) = mpsc::unbounded_channel();
        let voice = Arc::new(Voice {
            session: from.session,
            protocol: from.protocol,
            capabilities: from.capabilities,
            extras: from.extras,
            tells,
            control,
            heard: AtomicBool::new(true),
            said: Notify::new(),
        });
        Self {
            work: Mutex::new(Some(work(voice.clone()))),
            voice,
            control: heard_control,
            tells: heard_tells,
            rounds: Vec::new(),
            approval: None,
            guard: None,
            given: Map::new(),
            asked,
            run: None,
        }
    }

    /// The same for a run, which is called off when nobody waits for it any more.
    pub(crate) fn of_run(mut self, kernel: Kernel, who: Arc<Principal>, run: RunId) -> Self {
        self.run = Some(run.clone());
        self.guard = Some(Guard {
            kernel,
            who,
            run,
            armed: true,
        });
        self
    }

    /// What came of the work, where that comes before `until` and nothing is said about it
    /// in between; otherwise all is there still.
    pub(crate) async fn in_silence(&mut self, until: impl Future<Output = ()>) -> Option<Done> {
        let mut work = lock(&self.work).take()?;
        let done = tokio::select! {
            biased;
            done = &mut work => Some(done),
            () = self.voice.said.notified() => None,
            () = until => None,
        };
        let rest = match done {
            Some(done) if self.tells.is_empty() && self.control.is_empty() => return Some(done),
            Some(done) => Box::pin(std::future::ready(done)),
            None => work,
        };
        *lock(&self.work) = Some(rest);
        None
    }

    /// Nobody listens for a while, and the work goes on.
    pub(crate) fn put_aside(&mut self) {
        self.voice.heard.store(false, Ordering::Relaxed);
        while self.tells.try_recv().is_ok() {}
    }

    /// Somebody listens again.
    pub(crate) fn take_up(&mut self) {
        self.voice.heard.store(true, Ordering::Relaxed);
    }

    /// The work goes on, or waits for people, when the talk is over.
    pub(crate) fn let_go(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.armed = false;
        }
    }

    /// What is asked now, over all rounds.
    pub(crate) fn open_questions(&self) -> Map<String, Value> {
        let open = self.rounds.iter().filter(|r| r.is_open());
        open.flat_map(|r| {
            r.questions
                .iter()
                .filter(|(name, _)| !r.answers.contains_key(*name))
        })
        .map(|(name, question)| (name.clone(), question.clone()))
        .collect()
    }

    /// Takes questions, and answers those to which the client has said something already.
    pub(crate) fn put(&mut self, round: Round) {
        self.rounds.push(round);
        for (name, answer) in std::mem::take(&mut self.given) {
            if !self.answer(&name, &answer) {
                self.given.insert(name, answer);
            }
        }
    }

    /// Gives an answer to whoever asked; whether anybody did.
    pub(crate) fn answer(&mut self, name: &str, answer: &Value) -> bool {
        let taken = self
            .rounds
            .iter_mut()
            .filter(|r| r.is_open())
            .any(|r| r.take(name, answer));
        self.rounds.retain(Round::is_open);
        taken
    }

    /// What came of the work, if it is over.
    pub(crate) fn look(&self) -> Option<Done> {
        let mut work = lock(&self.work);
        let done = work.as_mut()?.now_or_never()?;
        *work = None;
        Some(done)
    }
}

/// Calls a run off when it is dropped.
struct Guard {
    kernel: Kernel,
    who: Arc<Principal>,
    run: RunId,
    armed: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let (kernel, who, run) = (self.kernel.clone(), self.who.clone(), self.run.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                for pause in [0, 50, 500, 5000] {
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    match kernel.cancel(&who, &run).await {
                        // Refused, or not on the record yet: a filter may still hold it.
                        Err(error) if error.kind == ErrorKind::NotFound => {}
                        // Called off, or over.
                        _ => return,
                    }
                }
            });
        }
    }
}
