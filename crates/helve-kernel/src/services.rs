//! What a hub offers to the tools that are written in Rust, beside files and records: one
//! thing of a type. A tool asks for it by that type, so it needs no state of its own.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Things, by their types.
#[derive(Clone, Default)]
pub(crate) struct Services(Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Services({})", self.0.len())
    }
}

impl Services {
    /// Takes one in; the last of a type stays.
    pub(crate) fn put<T: Send + Sync + 'static>(&mut self, service: Arc<T>) {
        Arc::make_mut(&mut self.0).insert(TypeId::of::<T>(), service);
    }

    /// The one of a type.
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let found = self.0.get(&TypeId::of::<T>())?.clone();
        found.downcast().ok()
    }
}
