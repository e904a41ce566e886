//! The history of a series: its runs in the order of time with their numbers, and the decisions about its changes.

use crate::derive::{grade_of, kind_of};
use crate::error::StoreError;
use crate::runs::unsigned;
use crate::schema::Store;
use model::{Fact, Grade};
use rusqlite::{OptionalExtension, params};

/// A series: equal tests of one place on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    key: i64,
    /// Its ID: 16 hexadecimal digits, of which the first few are enough where they belong to one series.
    pub id: String,
    /// The test in words.
    pub label: String,
    /// The device in words.
    pub device: String,
    /// The path that was measured last.
    pub path: String,
    /// All paths that were measured, with line ends between them.
    pub paths: String,
    /// Number of runs.
    pub runs: u64,
    /// Start of the first run, in milliseconds since 1970 UTC.
    pub first_unix_ms: u64,
    /// Start of the last run.
    pub last_unix_ms: u64,
}

/// One run of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// ID of the run.
    pub run: String,
    /// Its start, in milliseconds since 1970 UTC.
    pub began_unix_ms: u64,
    /// The worst grade of its rounds.
    pub grade: Grade,
    /// Numbers by name; of several rounds their geometric mean.
    pub values: Vec<(String, f64)>,
    environment: i64,
}

impl Point {
    /// The number with this name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// A decision about a change in the history of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The change is known: the history starts again with it.
    Accepted,
    /// It is not a change: it is not shown again.
    Dismissed,
}

impl Decision {
    /// The word in the store.
    pub const fn word(self) -> &'static str {
        match self {
            Decision::Accepted => "accepted",
            Decision::Dismissed => "dismissed",
        }
    }
}

/// A name as its words and the numbers between them, for sorting.
fn parts(name: &str) -> Vec<(String, u64)> {
    let mut all = vec![(String::new(), 0u64)];
    let mut in_number = false;
    for letter in name.chars() {
        match letter.to_digit(10) {
            Some(digit) => {
                in_number = true;
                if let Some((_, number)) = all.last_mut() {
                    *number = number.saturating_mul(10).saturating_add(u64::from(digit));
                }
            }
            None => {
                if std::mem::take(&mut in_number) {
                    all.push((String::new(), 0));
                }
                if let Some((word, _)) = all.last_mut() {
                    word.push(letter);
                }
            }
        }
    }
    all
}

impl Store {
    /// All series, by place and test; numbers in names are in their own order, like 1, 8, 16 users.
    pub fn series(&self) -> Result<Vec<Series>, StoreError> {
        let sql = "SELECT key, label, device, count(DISTINCT run), min(began_unix_ms), max(began_unix_ms),
            (SELECT path FROM test AS newest WHERE newest.series = key ORDER BY began_unix_ms DESC LIMIT 1),
            (SELECT group_concat(path, char(10)) FROM (SELECT DISTINCT path FROM test AS every WHERE every.series = key))
            FROM series JOIN test ON series = key GROUP BY key ORDER BY 7, label, key";
        let mut all = self.rows(sql, [], |row| {
            let key: i64 = row.get(0)?;
            Ok(Series {
                key,
                id: format!("{key:016x}"),
                label: row.get(1)?,
                device: row.get(2)?,
                runs: unsigned(row.get(3)?),
                first_unix_ms: unsigned(row.get(4)?),
                last_unix_ms: unsigned(row.get(5)?),
                path: row.get(6)?,
                paths: row.get(7)?,
            })
        })?;
        all.sort_by_cached_key(|series: &Series| (series.path.clone(), parts(&series.label)));
        Ok(all)
    }

    /// The newest runs of a series, up to `most`, oldest first.
    pub fn points(&self, series: &Series, most: u32) -> Result<Vec<Point>, StoreError> {
        let key = series.key;
        let from = "SELECT began_unix_ms FROM test WHERE series = ?1 GROUP BY began_unix_ms, run
            ORDER BY began_unix_ms DESC LIMIT 1 OFFSET ?2";
        let from: Option<i64> =
            self.ask(|db| db.query_row(from, params![key, most.saturating_sub(1)], |row| row.get(0)).optional())?;
        let from = from.unwrap_or(i64::MIN);
        let sql = "SELECT number, id, test.began_unix_ms, max(test.grade), environment FROM test JOIN run ON number = test.run
            JOIN summary ON summary.run = number WHERE series = ?1 AND test.began_unix_ms >= ?2
            GROUP BY test.began_unix_ms, number ORDER BY test.began_unix_ms, number";
        let mut points = self.rows(sql, [key, from], |row| {
            let point = Point {
                run: row.get(1)?,
                began_unix_ms: unsigned(row.get(2)?),
                grade: grade_of(row.get(3)?),
                values: Vec::new(),
                environment: row.get(4)?,
            };
            Ok((row.get::<_, i64>(0)?, point))
        })?;
        let sql = "SELECT run, name, value FROM metric WHERE series = ?1 AND began_unix_ms >= ?2
            ORDER BY began_unix_ms, run, name, round";
        let values: Vec<(i64, String, f64)> =
            self.rows(sql, [key, from], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut rest = values.as_slice();
        for (number, point) in &mut points {
            let own = rest.iter().take_while(|(run, _, _)| run == number).count();
            point.values = means(&rest[..own]);
            rest = &rest[own..];
        }
        let surplus = points.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(points.into_iter().skip(surplus).map(|(_, point)| point).collect())
    }

    /// The facts about the surroundings of a run.
    pub fn facts(&self, point: &Point) -> Result<Vec<Fact>, StoreError> {
        let sql = "SELECT key, value, kind FROM fact WHERE environment = ?1 ORDER BY key";
        self.rows(sql, [point.environment], |row| {
            Ok(Fact { key: row.get(0)?, value: row.get(1)?, kind: kind_of(&row.get::<_, String>(2)?) })
        })
    }

    /// The decisions about a series, by run.
    pub fn decisions(&self, series: &Series) -> Result<Vec<(String, Decision)>, StoreError> {
        let sql = "SELECT id, state FROM change JOIN run ON number = run WHERE series = ?1";
        self.rows(sql, [series.key], |row| {
            let accepted = row.get::<_, String>(1)? == Decision::Accepted.word();
            Ok((row.get(0)?, if accepted { Decision::Accepted } else { Decision::Dismissed }))
        })
    }

    /// Stores a decision about the change of a series at a run.
    /// Fails if there is no such run.
    pub fn decide(&mut self, series: &Series, word: &str, decision: Decision) -> Result<(), StoreError> {
        let (number, _) = self.number(word)?;
        let sql = "INSERT OR REPLACE INTO change VALUES(?1, ?2, ?3)";
        self.write(|transaction| transaction.execute(sql, params![series.key, number, decision.word()])).map(drop)
    }
}

/// The geometric mean of each number over the rounds; the rows are in the order of their names.
fn means(rows: &[(i64, String, f64)]) -> Vec<(String, f64)> {
    rows.chunk_by(|one, other| one.1 == other.1)
        .map(|rounds| {
            let logarithms: f64 = rounds.iter().map(|(_, _, value)| value.ln()).sum();
            let mean =
                if rounds.len() == 1 { rounds[0].2 } else { (logarithms / measure::float(rounds.len() as u64)).exp() };
            (rounds[0].1.clone(), mean)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_sorted_as_numbers() {
        let mut names = ["reads 8K ×16", "reads 128K ×1", "reads 8K ×1", "reads 8K ×8", "log writes 8K ×64", "reads"];
        names.sort_by_cached_key(|name| parts(name));
        assert_eq!(
            names,
            ["log writes 8K ×64", "reads", "reads 8K ×1", "reads 8K ×8", "reads 8K ×16", "reads 128K ×1"]
        );
    }
}
