//! Tools found by what they do, for the tools about tools.

use helve_kernel::{Kernel, WeakKernel};
use helve_mcp::about::{Asked, Search};

/// Finds tools of a kernel.
pub(crate) struct Finder {
    kernel: WeakKernel,
}

impl Finder {
    pub(crate) fn new(kernel: &Kernel) -> Self {
        let kernel = kernel.downgrade();
        Self { kernel }
    }
}

impl Search for Finder {
    fn search(&self, asked: &Asked<'_>) -> Vec<String> {
        let Some(kernel) = self.kernel.upgrade() else {
            return Vec::new();
        };
        let tools = kernel.tools();
        let names = tools.iter().map(|e| e.def.name.to_string());
        names
            .filter(|name| (asked.allow)(name))
            .filter(|name| asked.queries.iter().any(|q| name.contains(q.as_str())))
            .take(asked.limit)
            .collect()
    }
}
