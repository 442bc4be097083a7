//! The resolver of connections to one place: whatever a name stands for when it is
//! connected to, is looked at then.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Guard, Place, Refused, grant};

/// Resolves one host, and only to addresses that may be reached.
#[derive(Debug, Clone)]
pub struct Pinned {
    guard: Guard,
    place: Place,
}

impl Pinned {
    pub(super) fn new(guard: Guard, place: Place) -> Self {
        Self { guard, place }
    }
}

impl Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        let Pinned { guard, place } = self.clone();
        let asked = grant::plain(name.as_str());
        Box::pin(async move {
            if asked != place.host {
                // A client is for one place; this is another.
                return Err(Refused::NoAddress(asked).into());
            }
            let found = guard.addresses(&place).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
