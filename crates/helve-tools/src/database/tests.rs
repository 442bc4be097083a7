//! What holds for every engine is tried on each; then what only one of them has.

#![cfg(feature = "postgres")]

mod attacks;
mod changes;
mod crash;
mod exact;
mod queries;
mod security;
mod settings;
mod world;
