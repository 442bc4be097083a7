//! What every store must do, as tests.
