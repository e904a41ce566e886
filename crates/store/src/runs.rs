//! Runs: kept, found by a word, exported, forgotten, named, derived again and checked.

use crate::derive::{derive, grade_of};
use crate::document::Document;
use crate::error::{StoreError, explained};
use crate::packed::{pack, unpack};
use crate::schema::{Store, clear_derived};
use model::Grade;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

const LONGEST_NAME: usize = 64;

/// A run that was given to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedRun {
    /// Its ID.
    pub id: String,
    /// True if the same result was there before.
    pub known: bool,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    /// Its ID.
    pub id: String,
    /// Its names, with commas between them.
    pub names: Option<String>,
    /// Start, in milliseconds since 1970 UTC.
    pub began_unix_ms: u64,
    /// The command that measured.
    pub command: String,
    /// Number of tests.
    pub tests: u64,
    /// The worst grade of its tests.
    pub grade: Grade,
    /// A place that it measured.
    pub path: String,
}

/// Outcome of [`Store::rebuild`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Runs with tables.
    pub runs: u64,
    /// Runs without, by ID and with the reason. They are kept.
    pub unreadable: Vec<(String, String)>,
}

/// Outcome of [`Store::check`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Number of runs.
    pub runs: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// One line for each thing that is wrong.
    pub findings: Vec<String>,
}

impl Store {
    /// Keeps a result in one transaction. `day` is its date, like `2026-11-22`, which its ID starts with. The same
    /// result is kept once.
    pub fn add(&mut self, document: &Document, day: &str) -> Result<AddedRun, StoreError> {
        let sum = Sha256::digest(&document.bytes).to_vec();
        let failed = |message| StoreError::Database(self.path.clone(), message);
        let packed = pack(&document.bytes).map_err(failed)?;
        self.write(|transaction| {
            let known = transaction
                .query_row("SELECT id FROM run WHERE sha256 = ?1", [&sum], |row| row.get::<_, String>(0))
                .optional()?;
            if let Some(id) = known {
                return Ok(AddedRun { id, known: true });
            }
            let number: i64 = transaction.query_row(
                "INSERT INTO day VALUES(?1, 1) ON CONFLICT(day) DO UPDATE SET last = last + 1 RETURNING last",
                [day],
                |row| row.get(0),
            )?;
            let id = format!("{day}-{number:04}");
            let size = i64::try_from(document.bytes.len()).unwrap_or(i64::MAX);
            transaction.execute(
                "INSERT INTO run(id, size, sha256, result) VALUES(?1, ?2, ?3, ?4)",
                params![id, size, sum, packed],
            )?;
            derive(transaction, transaction.last_insert_rowid(), document)?;
            Ok(AddedRun { id, known: false })
        })
    }

    /// The ID of the run that a word stands for: an ID, a name, `last`, or `last~N` for the N-th before it; `None` if
    /// it stands for none.
    pub fn find(&self, word: &str) -> Result<Option<String>, StoreError> {
        if let Some(back) = steps_back(word) {
            let sql = "SELECT id FROM summary JOIN run ON number = run ORDER BY began_unix_ms DESC, run DESC LIMIT 1 OFFSET ?1";
            return self.ask(|db| db.query_row(sql, [back], |row| row.get(0)).optional());
        }
        let sql =
            "SELECT id FROM run WHERE id = ?1 UNION ALL SELECT id FROM name JOIN run ON number = run WHERE name = ?1";
        self.ask(|db| db.query_row(sql, [word], |row| row.get(0)).optional())
    }

    /// The number and the ID of a run.
    pub(crate) fn number(&self, word: &str) -> Result<(i64, String), StoreError> {
        let id = self.find(word)?.ok_or_else(|| StoreError::NoRun(self.path.clone(), word.to_owned()))?;
        let number = self.ask(|db| db.query_row("SELECT number FROM run WHERE id = ?1", [&id], |row| row.get(0)))?;
        Ok((number, id))
    }

    /// The result of a run, byte by byte as it was kept.
    ///
    /// # Errors
    /// There is no such run, or its checksum is another.
    pub fn export(&self, word: &str) -> Result<Vec<u8>, StoreError> {
        let (number, id) = self.number(word)?;
        let sql = "SELECT sha256, result FROM run WHERE number = ?1";
        let (sum, packed): (Vec<u8>, Vec<u8>) =
            self.ask(|db| db.query_row(sql, [number], |row| Ok((row.get(0)?, row.get(1)?))))?;
        unpacked(&packed, &sum).map_err(|why| StoreError::Damaged(self.path.clone(), id, why))
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunLine>, StoreError> {
        let sql =
            "SELECT id, (SELECT group_concat(name, ',') FROM name WHERE name.run = number), began_unix_ms, command,
            (SELECT count(*) FROM test WHERE test.run = number), grade,
            coalesce((SELECT path FROM test WHERE test.run = number LIMIT 1), '')
            FROM run JOIN summary ON summary.run = number ORDER BY began_unix_ms, number";
        self.rows(sql, [], |row| {
            Ok(RunLine {
                id: row.get(0)?,
                names: row.get(1)?,
                began_unix_ms: unsigned(row.get(2)?),
                command: row.get(3)?,
                tests: unsigned(row.get(4)?),
                grade: grade_of(row.get(5)?),
                path: row.get(6)?,
            })
        })
    }

    /// Removes a run with all that was derived from it. Returns its ID.
    /// Fails if there is no such run.
    pub fn forget(&mut self, word: &str) -> Result<String, StoreError> {
        let (number, id) = self.number(word)?;
        self.write(|transaction| {
            let of_run = "SELECT series, began_unix_ms, run FROM test WHERE run = ?1";
            transaction
                .execute(&format!("DELETE FROM metric WHERE (series, began_unix_ms, run) IN ({of_run})"), [number])?;
            transaction.execute("DELETE FROM run WHERE number = ?1", [number])?;
            transaction.execute("DELETE FROM series WHERE key NOT IN (SELECT series FROM test)", [])?;
            transaction.execute("DELETE FROM fact WHERE environment NOT IN (SELECT environment FROM summary)", [])
        })?;
        self.ask(|db| db.execute_batch("PRAGMA incremental_vacuum"))?;
        Ok(id)
    }

    /// Gives a run a name, which leaves the run that had it. Returns the run's ID, and that of the earlier one.
    ///
    /// # Errors
    /// There is no such run, the word cannot be a name, or the store cannot be written.
    pub fn name(&mut self, word: &str, name: &str) -> Result<(String, Option<String>), StoreError> {
        let bad = |why| Err(StoreError::BadName(name.to_owned(), why));
        let plain = |letter: char| letter.is_alphanumeric() || "-_.+".contains(letter);
        if steps_back(name).is_some() || is_id(name) {
            return bad("it stands for a run already");
        }
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) || name.starts_with(['-', '.']) {
            return bad("use up to 64 letters, digits, - _ . and +, and start with a letter or digit");
        }
        let (number, id) = self.number(word)?;
        let earlier = self.find(name)?;
        self.write(|transaction| {
            let sql = "INSERT INTO name VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET run = excluded.run";
            transaction.execute(sql, params![name, number])
        })?;
        Ok((id, earlier))
    }

    /// Removes a name; returns false if there was none.
    pub fn unname(&mut self, name: &str) -> Result<bool, StoreError> {
        self.write(|transaction| transaction.execute("DELETE FROM name WHERE name = ?1", [name])).map(|count| count > 0)
    }

    /// True if commands keep their results without being asked to: until [`Store::set_keeping`] says something else.
    pub fn is_keeping(&self) -> Result<bool, StoreError> {
        let sql = "SELECT count(*) FROM setting WHERE key = 'keep' AND value = 'off'";
        self.ask(|db| db.query_row(sql, [], |row| row.get::<_, i64>(0))).map(|count| count == 0)
    }

    /// Sets if commands keep their results: `on` or `off`.
    pub fn set_keeping(&mut self, word: &str) -> Result<(), StoreError> {
        self.write(|transaction| transaction.execute("INSERT OR REPLACE INTO setting VALUES('keep', ?1)", [word]))
            .map(drop)
    }

    /// Makes all derived tables again.
    pub fn rebuild(&mut self) -> Result<Rebuilt, StoreError> {
        self.write(|transaction| {
            clear_derived(transaction)?;
            let mut rebuilt = Rebuilt::default();
            let mut statement = transaction.prepare("SELECT number, id, sha256, result FROM run ORDER BY number")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (number, id): (i64, String) = (row.get(0)?, row.get(1)?);
                let (sum, packed): (Vec<u8>, Vec<u8>) = (row.get(2)?, row.get(3)?);
                let read =
                    unpacked(&packed, &sum).and_then(|bytes| Document::read(bytes).map_err(|error| error.to_string()));
                match read {
                    Ok(document) => {
                        derive(transaction, number, &document)?;
                        rebuilt.runs += 1;
                    }
                    Err(why) => rebuilt.unreadable.push((id, why)),
                }
            }
            Ok(rebuilt)
        })
    }

    /// Checks the file, and each result against its checksum.
    pub fn check(&self) -> Result<Checked, StoreError> {
        let mut checked =
            Checked { bytes: std::fs::metadata(&self.path).map_or(0, |file| file.len()), ..Checked::default() };
        let lines = self.rows("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))?;
        checked.findings.extend(lines.into_iter().filter(|line| line != "ok"));
        let ids = self.rows("SELECT id FROM run ORDER BY number", [], |row| row.get::<_, String>(0))?;
        for id in ids {
            checked.runs += 1;
            checked.findings.extend(self.export(&id).err().map(|error| error.to_string()));
        }
        let sql = "SELECT count(*) FROM run WHERE number NOT IN (SELECT run FROM summary)";
        let without: i64 = self.ask(|db| db.query_row(sql, [], |row| row.get(0)))?;
        if without > 0 {
            checked.findings.push(format!("{without} runs are in no table; make them again: plumb store rebuild"));
        }
        Ok(checked)
    }

    /// Writes in one transaction, which ends without effect if anything fails.
    pub(crate) fn write<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let path = self.path.clone();
        let failed = |error: rusqlite::Error| explained(&path, &error);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let written = write(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(written)
    }
}

/// A number of SQLite, which has no unsigned ones.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// How many runs before the newest `last` and `last~N` mean; `None` for other words.
fn steps_back(word: &str) -> Option<i64> {
    match word.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse::<u32>().ok().map(i64::from),
    }
}

/// True for a word that has the form of an ID: `2026-11-22-0007`.
fn is_id(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    parts.len() == 4 && parts.iter().all(|part| part.len() >= 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The result in a packed one, if it has this checksum.
fn unpacked(packed: &[u8], sum: &[u8]) -> Result<Vec<u8>, String> {
    let bytes = unpack(packed)?;
    if Sha256::digest(&bytes).as_slice() == sum {
        Ok(bytes)
    } else {
        Err("its checksum is not the one that it was kept with".to_owned())
    }
}
