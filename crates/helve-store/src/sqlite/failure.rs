//! What can go wrong between a verb and the file.

use helve_core::audit::NotCanonical;
use helve_kernel::StoreError;
use rusqlite::ErrorCode;

/// Why a verb failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// SQLite said so.
    Sql(rusqlite::Error),
    /// What is kept cannot be understood.
    Broken(String),
    /// What came cannot be kept.
    Refused(String),
    /// The schema is newer than this program.
    TooNew { found: i64, known: i64 },
}

impl Failure {
    /// Whether it lies in what was asked, so that others who asked at the same
    /// time need not fail with it.
    pub(super) fn is_own(&self) -> bool {
        match self {
            Failure::Broken(_) | Failure::Refused(_) => true,
            Failure::TooNew { .. } => false,
            Failure::Sql(error) => matches!(
                error.sqlite_error_code(),
                None | Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig)
            ),
        }
    }

    /// The same, for each who waits.
    pub(super) fn to_error(&self) -> StoreError {
        match self {
            Failure::Broken(why) => StoreError::Damaged(why.clone()),
            Failure::Refused(why) => StoreError::Unwritable(why.clone()),
            Failure::TooNew { found, known } => StoreError::TooNew {
                found: *found,
                known: *known,
            },
            Failure::Sql(error) => match error.sqlite_error_code() {
                // No code: a column that holds something else than it should.
                None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                    StoreError::Damaged(error.to_string())
                }
                Some(_) => StoreError::Unwritable(error.to_string()),
            },
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Failure::Sql(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Refused(error.to_string())
    }
}

impl From<NotCanonical> for Failure {
    fn from(error: NotCanonical) -> Self {
        Failure::Refused(error.to_string())
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        failure.to_error()
    }
}
