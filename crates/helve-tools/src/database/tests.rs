//! What holds for every engine is tried on each; then what only one of them has.

mod attacks;
mod changes;
mod crash;
mod exact;
mod queries;
mod settings;
mod world;
