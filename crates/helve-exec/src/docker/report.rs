//! What there is to run containers with, for people who ask.

use std::fs;
use std::path::Path;

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{CreateContainerOptions, StartContainerOptions};
use helve_kernel::ToolError;
use helve_sandbox::{Layer, remove_work};

use super::engine::{Engine, Image, Make};
use super::leftovers::{remove_container, remove_volume};
use super::{DockerExecutor, view};
use crate::cage::Kind;
use crate::running::Unstarted;

/// What there is to run containers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerReport {
    /// Where the engine was found.
    pub address: String,
    /// What it is: `Docker 20.10.24`.
    pub engine: String,
    /// What holds back what containers write.
    pub overlays: Overlays,
    /// The listed images that are there.
    pub present: Vec<String>,
    /// Those that are not.
    pub missing: Vec<String>,
}

/// What holds back what containers write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlays {
    /// Overlays: tried, and they work.
    Work,
    /// Copies, because the hub is not root and could not read what the engine mounts.
    NotRoot,
    /// Copies, because the engine refuses; what it says.
    Refused(String),
    /// Not known: there is no listed image to try it with.
    Untried,
    /// Nothing: the engine is on another machine, and containers there write no files here.
    Elsewhere,
}

/// Where the trial mounts its overlay, and a program that no image has. Engines look for
/// it when all is mounted: if that is what they miss, the overlay is there.
const TRIAL: &str = "/trial";
const NOTHING: &str = "/helve-has-no-such-program";

impl DockerExecutor {
    /// Finds out. An overlay is tried in `folder`, where what is made for it is removed.
    pub async fn report(&self, folder: &Path) -> Result<DockerReport, ToolError> {
        let engine = self.link.engine().await?;
        let make = match engine.make {
            Make::Docker => "Docker",
            Make::Podman => "Podman",
        };
        let (mut present, mut missing, mut image) = (Vec::new(), Vec::new(), None);
        for listed in self.allowed.images() {
            match engine.image(listed).await {
                Ok(found) => {
                    present.push(listed.clone());
                    image = image.or(Some(found));
                }
                Err(_) => missing.push(listed.clone()),
            }
        }
        let overlays = match image {
            _ if !engine.address.is_here() => Overlays::Elsewhere,
            _ if self.kind != Kind::Overlays => Overlays::NotRoot,
            None => Overlays::Untried,
            Some(image) => match self.try_overlay(&engine, &image, folder).await {
                Ok(()) => Overlays::Work,
                Err(error) => Overlays::Refused(error.message),
            },
        };
        Ok(DockerReport {
            address: engine.address.to_string(),
            engine: format!("{make} {}", engine.version),
            overlays,
            present,
            missing,
        })
    }

    /// Mounts an overlay into a container that has nothing to run.
    async fn try_overlay(
        &self,
        engine: &Engine,
        image: &Image,
        folder: &Path,
    ) -> Result<(), ToolError> {
        let name = format!("helve-trial-{}", std::process::id());
        let folder = folder.join(&name);
        let tried = self.mount_in(engine, image, &folder, &name).await;
        // All of it is removed, whatever came of it.
        let container = remove_container(engine, &name).await;
        let volume = remove_volume(engine, &format!("{name}-0")).await;
        let _ = remove_work(&folder.join("work"));
        let _ = fs::remove_dir_all(&folder);
        tried.and(container).and(volume)
    }

    async fn mount_in(
        &self,
        engine: &Engine,
        image: &Image,
        folder: &Path,
        name: &str,
    ) -> Result<(), ToolError> {
        let part = |name: &str| folder.join(name);
        for part in ["lower", "upper", "work"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let labels = self.marks.labels(name);
        let layer = Layer::Overlay {
            target: part("lower"),
            upper: part("upper"),
            work: part("work"),
        };
        let made = view::build(&view::Parts {
            address: &engine.address,
            make: engine.make,
            root: &part("lower"),
            readable: &[],
            layers: vec![layer],
            hidden: Vec::new(),
            cover: None,
            name,
            labels: &labels,
        });
        let mut made = made.map_err(Unstarted::error)?;
        for volume in made.volumes {
            let made = engine.docker.create_volume(volume).await;
            made.map_err(|e| engine.failed("make an overlay", &e))?;
        }
        for mount in &mut made.mounts {
            mount.target = Some(TRIAL.to_owned());
        }
        let body = ContainerCreateBody {
            image: Some(image.id.clone()),
            entrypoint: Some(vec![NOTHING.to_owned()]),
            labels: Some(labels),
            host_config: Some(HostConfig {
                mounts: Some(made.mounts),
                network_mode: Some("none".to_owned()),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let named = CreateContainerOptions {
            name: Some(name.to_owned()),
            ..CreateContainerOptions::default()
        };
        let made = engine.docker.create_container(Some(named), body).await;
        made.map_err(|e| engine.failed("make a container", &e))?;
        let started = engine
            .docker
            .start_container(name, None::<StartContainerOptions>);
        match started.await {
            Ok(()) => Ok(()),
            Err(e) => {
                let failed = engine.failed("mount an overlay", &e);
                match failed.message.contains(NOTHING) {
                    true => Ok(()),
                    false => Err(failed),
                }
            }
        }
    }
}
