//! Tasks: calls whose answer the client comes back for.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use helve_kernel::{Principal, RunState};
use rmcp::ErrorData;
use serde_json::{Map, Value, json};

use super::client::party;
use super::talk::{Control, Done, Talk};
use super::{Front, lock};

/// How long a task is kept, and how often one should look, where nobody says.
const TTL: Duration = Duration::from_secs(60 * 60);
const POLL: u64 = 500;

/// A call that the client comes back for.
pub(crate) struct Job {
    pub(crate) owner: String,
    id: String,
    created: String,
    ttl: Duration,
    poll: u64,
    begun: Instant,
    state: tokio::sync::Mutex<State>,
    touched: Mutex<String>,
}

struct State {
    talk: Option<Talk>,
    end: Option<End>,
}

enum End {
    Result(Map<String, Value>),
    Error(Box<ErrorData>),
    Cancelled,
}

impl Job {
    /// Whether it need not be kept any longer.
    pub(crate) fn is_old(&self) -> bool {
        self.begun.elapsed() > self.ttl
    }

    fn head(&self, status: &str) -> Map<String, Value> {
        let task = json!({
            "taskId": self.id,
            "status": status,
            "createdAt": self.created,
            "lastUpdatedAt": *lock(&self.touched),
            "ttlMs": u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX),
            "pollIntervalMs": self.poll,
        });
        match task {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

impl Front {
    /// Makes a task of a call; the seed of it for the client. The talk comes back if there
    /// are too many.
    pub(crate) fn make_task(
        &self,
        who: &Principal,
        mut talk: Talk,
        seed: &Value,
    ) -> Result<Map<String, Value>, Box<Talk>> {
        let Some(run) = talk.run.clone() else {
            return Err(Box::new(talk));
        };
        let number = |name: &str| seed.get(name).and_then(Value::as_u64);
        let now = self.kernel().now().to_string();
        talk.put_aside();
        let id = run.as_str().to_owned();
        let job = Arc::new(Job {
            owner: party(who),
            id: id.clone(),
            created: now.clone(),
            ttl: number("ttlMs").map_or(TTL, Duration::from_millis),
            poll: number("pollIntervalMs").unwrap_or(POLL),
            begun: Instant::now(),
            state: tokio::sync::Mutex::new(State {
                talk: Some(talk),
                end: None,
            }),
            touched: Mutex::new(now),
        });
        if !self.0.suspended.put_job(&id, job.clone()) {
            let talk = Arc::try_unwrap(job).ok();
            let talk = talk.and_then(|job| job.state.into_inner().talk);
            return talk.map_or_else(|| Ok(Map::new()), |talk| Err(Box::new(talk)));
        }
        let mut task = Map::new();
        task.insert("resultType".to_owned(), "task".into());
        task.extend(job.head("working"));
        Ok(task)
    }

    /// Where a task stands.
    pub(crate) async fn task(
        &self,
        who: &Principal,
        id: &str,
    ) -> Result<Map<String, Value>, ErrorData> {
        let job = self.job(who, id)?;
        let mut state = job.state.lock().await;
        self.look_at(who, &job, &mut state).await;
        // A client that could be asked for an approval was asked before there was a task.
        let questions = state.talk.as_ref().map(Talk::open_questions);
        let questions = questions.unwrap_or_default();
        Ok(match &state.end {
            Some(End::Result(result)) => {
                let mut task = job.head("completed");
                task.insert("result".to_owned(), Value::Object(result.clone()));
                task
            }
            Some(End::Error(error)) => {
                let mut task = job.head("failed");
                let error = serde_json::to_value(error).unwrap_or_default();
                task.insert("error".to_owned(), error);
                task
            }
            Some(End::Cancelled) => job.head("cancelled"),
            None if !questions.is_empty() => {
                let mut task = job.head("input_required");
                task.insert("inputRequests".to_owned(), Value::Object(questions));
                task
            }
            None => job.head("working"),
        })
    }

    /// Takes what a client was asked during a task.
    pub(crate) async fn update_task(
        &self,
        who: &Principal,
        id: &str,
        answers: &Map<String, Value>,
    ) -> Result<(), ErrorData> {
        let job = self.job(who, id)?;
        let mut state = job.state.lock().await;
        self.look_at(who, &job, &mut state).await;
        let Some(talk) = &mut state.talk else {
            // It ended meanwhile; what was asked matters no more.
            return Ok(());
        };
        for (name, answer) in answers {
            talk.answer(name, answer);
        }
        *lock(&job.touched) = self.kernel().now().to_string();
        Ok(())
    }

    /// Calls a task off.
    pub(crate) async fn cancel_task(&self, who: &Principal, id: &str) -> Result<(), ErrorData> {
        let job = self.job(who, id)?;
        let mut state = job.state.lock().await;
        self.look_at(who, &job, &mut state).await;
        if state.end.is_some() {
            return Ok(());
        }
        let run = state.talk.as_ref().and_then(|talk| talk.run.clone());
        if let Some(run) = run {
            // What is over meanwhile cannot be called off, and says so when it is asked.
            let _ = self.kernel().cancel(who, &run).await;
        }
        *lock(&job.touched) = self.kernel().now().to_string();
        Ok(())
    }

    fn job(&self, who: &Principal, id: &str) -> Result<Arc<Job>, ErrorData> {
        let job = self.0.suspended.job(id, &party(who));
        job.ok_or_else(|| ErrorData::invalid_params("there is no such task", None))
    }

    async fn look_at(&self, who: &Principal, job: &Job, state: &mut State) {
        let Some(talk) = &mut state.talk else {
            return;
        };
        while let Ok(control) = talk.control.try_recv() {
            match *control {
                Control::Questions(round) => talk.rounds.push(round),
                Control::Waits(approval) => talk.approval = Some(approval),
                Control::Long(_) => {}
            }
        }
        let Some(done) = talk.look() else {
            return;
        };
        let cancelled =
            matches!(&done, Done::Answer(a) if a.meta.state == Some(RunState::Cancelled));
        state.end = Some(match self.result_of(who, done) {
            _ if cancelled => End::Cancelled,
            Ok(result) => End::Result(result),
            Err(error) => End::Error(Box::new(error)),
        });
        talk.let_go();
        state.talk = None;
        *lock(&job.touched) = self.kernel().now().to_string();
    }
}
