//! The contract of executors, in containers.

use super::{COPIES, OVERLAYS};
use crate::contract::{whole_contract, writing_contract};

whole_contract!(OVERLAYS);

mod on_copies {
    use super::*;

    writing_contract!(COPIES);
}
