//! What aliases (YAML) and names (Python, JavaScript) put in their place.
//!
//! A name of a list of names of lists grows by a factor with every line, and gets
//! deeper with every line. Both are budgeted here, for all of a text together, so
//! that ten lines cannot become a billion values.

use super::{MAX_BYTES, MAX_DEPTH, MAX_NODES, Problem, ReadError, syntax};
use crate::node::{Kind, Node};

/// A value that can be put in other places, and what that costs.
pub(super) struct Original {
    node: Node,
    nodes: usize,
    bytes: usize,
    height: usize,
}

impl Original {
    pub(super) fn new(node: Node) -> Self {
        let mut original = Self {
            node: Node::new(node.at, Kind::Null),
            nodes: 0,
            bytes: 0,
            height: 0,
        };
        original.measure(&node, 0);
        original.node = node;
        original
    }

    fn measure(&mut self, node: &Node, depth: usize) {
        self.nodes += 1;
        self.height = self.height.max(depth);
        match &node.kind {
            Kind::String(text) => self.bytes += text.len(),
            Kind::Array(items) => items.iter().for_each(|n| self.measure(n, depth + 1)),
            Kind::Object(entries) => {
                for entry in entries {
                    self.bytes += entry.key.len();
                    self.measure(&entry.value, depth + 1);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
        }
    }
}

/// What may still be copied in one text.
pub(super) struct Copies {
    nodes: usize,
    bytes: usize,
}

impl Copies {
    pub(super) fn new() -> Self {
        Self {
            nodes: MAX_NODES,
            bytes: MAX_BYTES,
        }
    }

    /// A copy for byte `at` of the text, which is `depth` levels deep.
    pub(super) fn copy(
        &mut self,
        original: &Original,
        depth: usize,
        at: usize,
    ) -> Result<Node, ReadError> {
        if depth + original.height > MAX_DEPTH {
            return Err(Problem::TooDeep.at(at));
        }
        let nodes = self.nodes.checked_sub(original.nodes);
        let bytes = self.bytes.checked_sub(original.bytes);
        let (Some(nodes), Some(bytes)) = (nodes, bytes) else {
            return Err(syntax(at, "the names in it stand for too many values"));
        };
        (self.nodes, self.bytes) = (nodes, bytes);
        Ok(original.node.clone())
    }
}
