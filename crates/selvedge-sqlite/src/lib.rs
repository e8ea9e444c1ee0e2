//! SqliteStore: the embedded store of Selvedge, one SQLite file with group commit.
