//! A container from its making to its removal. What it does in between is told by
//! [`Container`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bollard::errors::Error;
use bollard::models::{ContainerCreateBody, VolumeCreateRequest};
use bollard::query_parameters::{
    AttachContainerOptions, CreateContainerOptions, StartContainerOptions,
};
use helve_kernel::ToolError;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::container::Container;
use super::engine::{Engine, answered};
use super::leftovers::{Live, remove_container, remove_volume};
use crate::process::Spec;
use crate::running::{Place, Running, Unstarted};

/// How long the engine may take over what was asked of it before a run was stopped.
const LATE: Duration = Duration::from_secs(20);

/// What is asked of the engine for a run.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) engine: Engine,
    pub(crate) name: String,
    pub(crate) body: ContainerCreateBody,
    pub(crate) volumes: Vec<VolumeCreateRequest>,
    /// Cancelled when nothing more is to be asked.
    pub(crate) stop: CancellationToken,
}

/// An order, and whatever is there of it. Dropped before it was removed, it is removed by
/// a task of its own.
#[derive(Debug)]
pub(crate) struct Crate {
    order: Arc<Order>,
    tasks: TaskTracker,
    making: Mutex<Option<JoinHandle<()>>>,
    /// Taken when it is removed.
    live: Option<Live>,
}

impl Crate {
    /// Nothing is asked before the start. What nobody waits for any more is done among
    /// `tasks`.
    pub(crate) fn new(order: Order, live: Live, tasks: TaskTracker) -> Self {
        Self {
            order: Arc::new(order),
            tasks,
            making: Mutex::default(),
            live: Some(live),
        }
    }

    /// Removes the container, whatever it does, and then its volumes. Only when that is
    /// done may anybody look into the folders that it wrote.
    pub(crate) async fn remove(mut self) -> Result<(), ToolError> {
        let removed = self.order.remove().await;
        if removed.is_err() {
            // Whatever is left is swept before the next run.
            self.order.engine.give_up();
        }
        self.live = None;
        removed
    }
}

#[async_trait]
impl Place for Crate {
    async fn start(&self, _: &Spec) -> Result<Box<dyn Running>, Unstarted> {
        // What was asked of the engine it does, whether or not somebody listens, and only
        // what is there can be removed: so it is waited for, whatever becomes of the run.
        let (made, mut told) = oneshot::channel();
        let order = Arc::clone(&self.order);
        let making = self.tasks.spawn(async move {
            let _ = made.send(order.make().await);
        });
        *self.making.lock().unwrap_or_else(PoisonError::into_inner) = Some(making);
        let in_time = tokio::select! {
            biased;
            made = &mut told => Some(made),
            () = self.order.stop.cancelled() => timeout(LATE, told).await.ok(),
        };
        match in_time {
            Some(Ok(made)) => Ok(Box::new(made?)),
            Some(Err(_)) => Err(ToolError::internal("Helve stopped in the middle of it").into()),
            None => {
                self.order.engine.give_up();
                Err(stopped().into())
            }
        }
    }
}

impl Drop for Crate {
    fn drop(&mut self) {
        let Some(live) = self.live.take() else {
            return;
        };
        self.order.stop.cancel();
        // Without a runtime nobody can do it now; the next start does.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let making = self.making.get_mut();
        let making = making.unwrap_or_else(PoisonError::into_inner).take();
        let order = Arc::clone(&self.order);
        let clean = async move {
            if let Some(making) = making {
                let _ = making.await;
            }
            let _ = order.remove().await;
            drop(live);
        };
        self.tasks.spawn_on(clean, &runtime);
    }
}

impl Order {
    async fn make(&self) -> Result<Container, Unstarted> {
        let engine = &self.engine;
        for volume in &self.volumes {
            let made = engine.docker.create_volume(volume.clone()).await;
            made.map_err(|e| match answered(&e) {
                true => Unstarted::Sandbox(engine.failed("make an overlay", &e)),
                false => engine.failed("run it", &e).into(),
            })?;
        }
        self.go_on()?;
        let named = CreateContainerOptions {
            name: Some(self.name.clone()),
            ..CreateContainerOptions::default()
        };
        let made = engine
            .docker
            .create_container(Some(named), self.body.clone())
            .await;
        made.map_err(|e| self.unmade(&e))?;
        let all = AttachContainerOptions {
            stream: true,
            stdin: true,
            stdout: true,
            stderr: true,
            ..AttachContainerOptions::default()
        };
        let attached = engine.docker.attach_container(&self.name, Some(all)).await;
        // Podman prepares the start at this point, and so may fail here as it does there.
        let attached = attached.map_err(|e| self.unstarted(&e))?;
        let container = Container::attached(engine.clone(), self.name.clone(), attached);
        self.go_on()?;
        let none = None::<StartContainerOptions>;
        let started = engine.docker.start_container(&self.name, none).await;
        started.map_err(|e| self.unstarted(&e))?;
        Ok(container)
    }

    async fn remove(&self) -> Result<(), ToolError> {
        remove_container(&self.engine, &self.name).await?;
        for name in self.volumes.iter().filter_map(|v| v.name.as_deref()) {
            remove_volume(&self.engine, name).await?;
        }
        Ok(())
    }

    /// Whether nobody has stopped it yet.
    fn go_on(&self) -> Result<(), ToolError> {
        match self.stop.is_cancelled() {
            true => Err(stopped()),
            false => Ok(()),
        }
    }

    fn unmade(&self, error: &Error) -> ToolError {
        let failed = self.engine.failed("make the container", error);
        match failed.message.contains("source path does not exist") {
            true => failed.with_hint(
                "the engine does not see the files of this machine; is it in another container?",
            ),
            false => failed,
        }
    }

    fn unstarted(&self, error: &Error) -> Unstarted {
        let failed = self.engine.failed("start the container", error);
        if !answered(error) {
            return failed.into();
        }
        let says = |words: &[&str]| words.iter().any(|word| failed.message.contains(word));
        if says(&["argument list too long"]) {
            let problem = failed.message.clone();
            return ToolError::validation(problem)
                .with_hint("the arguments are too long together for a command line")
                .into();
        }
        match !self.volumes.is_empty() && says(&["mounting volume", "failed to mount"]) {
            true => Unstarted::Sandbox(failed),
            false => failed
                .with_hint("the program must be in the image, or in the workspace")
                .into(),
        }
    }
}

fn stopped() -> ToolError {
    ToolError::timeout("stopped before it was started")
}
