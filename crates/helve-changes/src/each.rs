//! Work on many files, on all processors.

use rayon::prelude::*;

use crate::error::Error;

/// Does the work for each, and gives what came of it in the same order; one that fails ends
/// it. A single one is done here: to hand it to another thread takes longer than most files.
pub(crate) fn each<T: Send, R: Send>(
    of: Vec<T>,
    work: impl Fn(T) -> Result<R, Error> + Sync + Send,
) -> Result<Vec<R>, Error> {
    match of.len() {
        0 | 1 => of.into_iter().map(work).collect(),
        _ => of.into_par_iter().map(work).collect(),
    }
}
