//! Work on many files, on all processors.

use rayon::prelude::*;

use crate::error::Error;

/// Fewer than so many are done where they are: to hand them to other threads, and to wake
/// those, takes longer than most files. One edit is a file and the folders around it.
const MANY: usize = 8;

/// Does the work for each, and gives what came of it in the same order; one that fails ends
/// it.
pub(crate) fn each<T: Send, R: Send>(
    of: Vec<T>,
    work: impl Fn(T) -> Result<R, Error> + Sync + Send,
) -> Result<Vec<R>, Error> {
    match of.len() {
        ..MANY => of.into_iter().map(work).collect(),
        _ => of.into_par_iter().map(work).collect(),
    }
}
