//! The file of the store: how it is opened, its tables, and which versions of it are read and written.

use crate::error::{StoreError, explained};
use rusqlite::{Connection, OpenFlags, Params, Row, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Number of the format of what cannot be derived (`user_version`). No release wrote the first four.
pub(crate) const FORMAT: i64 = 5;
/// Number of the derived tables: raised when a table of [`DERIVED_TABLES`] or its contents change, so that they are
/// made again.
const DERIVED: i64 = 3;
/// Marks the file as a store: "plmb".
const APPLICATION: i64 = 0x706c_6d62;
/// Time to wait for another program that writes.
const PATIENCE: Duration = Duration::from_secs(5);
/// File systems on which several machines may open the file: their shared memory, which WAL needs, is not shared.
const OF_SEVERAL_MACHINES: &[&str] =
    &["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs"];

/// The tables of results and of decisions about them.
const TABLES: &str = "
CREATE TABLE run(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, sha256 BLOB NOT NULL UNIQUE,
  result BLOB NOT NULL);
CREATE TABLE day(day TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE name(name TEXT PRIMARY KEY, run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE change(series INTEGER NOT NULL, run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, state TEXT NOT NULL,
  PRIMARY KEY(series, run)) WITHOUT ROWID;
CREATE TABLE setting(key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
";

/// The tables that follow from them. Numbers go with the tests of a run ([`Store::forget`]): an index by run is half as
/// large again as the numbers.
const DERIVED_TABLES: &str = "
CREATE TABLE summary(run INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE, began_unix_ms INTEGER NOT NULL,
  command TEXT NOT NULL, program TEXT NOT NULL, grade INTEGER NOT NULL, environment INTEGER NOT NULL);
CREATE INDEX summary_began ON summary(began_unix_ms, run);
CREATE TABLE series(key INTEGER PRIMARY KEY, label TEXT NOT NULL, device TEXT NOT NULL);
CREATE TABLE test(series INTEGER NOT NULL, began_unix_ms INTEGER NOT NULL, run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  round INTEGER NOT NULL, grade INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY(series, began_unix_ms, run, round)) WITHOUT ROWID;
CREATE INDEX test_run ON test(run);
CREATE TABLE metric(series INTEGER NOT NULL, began_unix_ms INTEGER NOT NULL, run INTEGER NOT NULL,
  round INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY(series, began_unix_ms, run, round, name)) WITHOUT ROWID;
CREATE TABLE fact(environment INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, kind TEXT NOT NULL,
  PRIMARY KEY(environment, key)) WITHOUT ROWID;
";

/// The derived tables, in the order in which they can be dropped.
pub(crate) const DERIVED_NAMES: [&str; 5] = ["metric", "test", "series", "fact", "summary"];

/// An open store. Each method fails if the file cannot be read, and one that changes it if it cannot be written: then
/// nothing has changed.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

/// State of a file that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Empty,
    /// A store of this format, with the number of its derived tables.
    Known(i64),
    /// A store of a later format.
    Newer(i64),
}

impl Store {
    /// Opens a store that exists; `None` if there is no file. A newer format is read as far as it is known.
    ///
    /// # Errors
    /// The file is not a store, or cannot be read.
    pub fn to_read(path: &Path) -> Result<Option<Store>, StoreError> {
        if !is_file(path)? {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let store = Store::connect(path, flags)?;
        match store.state()? {
            State::Empty => Ok(None),
            State::Known(DERIVED) | State::Newer(_) => Ok(Some(store)),
            State::Known(_) => Err(StoreError::OtherTables(path.to_owned())),
        }
    }

    /// Opens a store to write, and makes it with its directory if there is none. Tables that another version of plumb
    /// derived are made again.
    ///
    /// # Errors
    /// The file is not a store, is one of a newer format, or cannot be written.
    pub fn to_write(path: &Path) -> Result<Store, StoreError> {
        if !is_file(path)? {
            let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
            if let Some(directory) = directory {
                std::fs::create_dir_all(directory)
                    .map_err(|error| StoreError::Directory(directory.to_owned(), error))?;
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut store = Store::connect(path, flags)?;
        match store.patiently(Store::state)? {
            State::Newer(found) => return Err(StoreError::Newer(path.to_owned(), found, FORMAT)),
            State::Empty => {
                store.patiently(Store::choose_journal)?;
                store.create()?;
            }
            State::Known(DERIVED) => {}
            State::Known(_) => drop(store.rebuild()?),
        }
        Ok(store)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        let failed = |error: rusqlite::Error| explained(path, &error);
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", "ON").map_err(failed)?;
        Ok(Store { connection, path: path.to_owned() })
    }

    fn state(&self) -> Result<State, StoreError> {
        // All numbers are of one moment: another program may be making the tables.
        let _moment = self.connection.unchecked_transaction().map_err(|error| explained(&self.path, &error))?;
        let number = |name: &str| self.ask(|db| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0)));
        let (version, application) = (number("user_version")?, number("application_id")?);
        let tables =
            self.ask(|db| db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0)))?;
        match (application, version, tables) {
            (0, 0, 0) => Ok(State::Empty),
            (APPLICATION, FORMAT, _) => self
                .ask(|db| db.query_row("SELECT value FROM setting WHERE key = 'derived'", [], |row| row.get(0)))
                .map(State::Known),
            (APPLICATION, newer, _) if newer > FORMAT => Ok(State::Newer(newer)),
            _ => Err(StoreError::NotAStore(self.path.clone())),
        }
    }

    /// Asks until no other program is in the way: SQLite does not wait by itself while the journal is chosen.
    fn patiently<T>(&self, ask: impl Fn(&Store) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let began = Instant::now();
        loop {
            match ask(self) {
                Err(StoreError::Busy(_)) if began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                answer => return answer,
            }
        }
    }

    fn choose_journal(&self) -> Result<(), StoreError> {
        let mount = sys::files::mounts::holding(Path::new("/"), &self.path).ok().flatten();
        let shared = mount.is_some_and(|mount| OF_SEVERAL_MACHINES.contains(&mount.kind.as_str()));
        let journal = if shared { "DELETE" } else { "WAL" };
        self.ask(|db| db.pragma_update(None, "auto_vacuum", "INCREMENTAL"))?;
        self.ask(|db| db.pragma_update_and_check(None, "journal_mode", journal, |_| Ok(())))
    }

    /// Makes the tables, unless another program was faster.
    fn create(&mut self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let failed = |error: rusqlite::Error| explained(&path, &error);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let made: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        if made == 0 {
            transaction.execute_batch(TABLES).map_err(failed)?;
            transaction.execute_batch(DERIVED_TABLES).map_err(failed)?;
            transaction.execute("INSERT INTO setting VALUES('derived', ?1)", [DERIVED]).map_err(failed)?;
            transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
            transaction.pragma_update(None, "user_version", FORMAT).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// All rows that a statement finds.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        with: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.ask(|db| db.prepare(sql)?.query_map(with, read)?.collect())
    }

    /// Asks the database, with errors that name the file.
    pub(crate) fn ask<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        ask(&self.connection).map_err(|error| explained(&self.path, &error))
    }
}

/// Empties the derived tables and makes them again, for [`Store::rebuild`].
pub(crate) fn clear_derived(connection: &Connection) -> rusqlite::Result<()> {
    for name in DERIVED_NAMES {
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {name}"))?;
    }
    connection.execute_batch(DERIVED_TABLES)?;
    connection.execute("UPDATE setting SET value = ?1 WHERE key = 'derived'", [DERIVED]).map(|_| ())
}

/// Returns true if there is a file; anything else at this path is refused.
fn is_file(path: &Path) -> Result<bool, StoreError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(StoreError::NotAStore(path.to_owned())),
        Err(_) => Ok(false),
    }
}
