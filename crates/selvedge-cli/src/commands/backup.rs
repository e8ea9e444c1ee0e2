//! `selvedge backup`: a copy of the database, while others write to it.

use std::path::Path;

use selvedge::store::StoreErrorKind;

use crate::database::Database;
use crate::failure::{Failure, with_sources};

/// Copies the database to a new file; says so.
pub(crate) async fn run(file: &Path, database: &Database) -> Result<(), Failure> {
    copy(file, database).await?;
    println!("{} is copied to {}", database.path().display(), file.display());
    Ok(())
}

/// Copies the database to a new file.
pub(super) async fn copy(file: &Path, database: &Database) -> Result<(), Failure> {
    let copied = database.store().backup(file).await;
    copied.map_err(|error| match error.kind() {
        StoreErrorKind::Exists => Failure::new(error.to_string()).advise("name a file that does not exist"),
        StoreErrorKind::Corrupt => Failure::new(with_sources(&error))
            .advise(format!("{} is damaged; selvedge verify tells where", database.path().display())),
        StoreErrorKind::Unavailable => Failure::new(with_sources(&error)).advise(format!(
            "check that there is space left where {} is to be, and that you may write there",
            file.display()
        )),
        _ => Failure::of_store(&error, None, database.path()),
    })
}
