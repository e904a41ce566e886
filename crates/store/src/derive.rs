//! A document and its surroundings → rows of the derived tables.

use crate::document::{Document, Place, TestResult};
use model::{Fact, FactKind, Grade, Surroundings};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// Writes the rows of a run.
pub(crate) fn derive(db: &Connection, run: i64, document: &Document) -> rusqlite::Result<()> {
    let host = &document.surroundings;
    let mut facts: Vec<Fact> = document.facts.iter().chain(&host.facts).cloned().collect();
    facts.sort();
    facts.dedup_by(|one, other| one.key == other.key);
    let environment = environment(&facts);
    let mut insert = db.prepare("INSERT OR IGNORE INTO fact VALUES(?1, ?2, ?3, ?4)")?;
    for fact in &facts {
        insert.execute(params![environment, fact.key, fact.value, kind_word(fact.kind)])?;
    }
    let began = i64::try_from(document.began_unix_ms).unwrap_or(i64::MAX);
    db.execute(
        "INSERT INTO summary VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
        params![run, began, document.command, document.program, grade_number(document.grade), environment],
    )?;
    let mut series = db.prepare("INSERT OR IGNORE INTO series VALUES(?1, ?2, ?3)")?;
    let mut row = db.prepare("INSERT INTO test VALUES(?1, ?2, ?3, ?4, ?5, ?6)")?;
    let mut number = db.prepare("INSERT OR IGNORE INTO metric VALUES(?1, ?2, ?3, ?4, ?5, ?6)")?;
    let mut rounds: BTreeMap<i64, i64> = BTreeMap::new();
    for test in &document.tests {
        let key = series_key(test, host);
        let round = *rounds.entry(key).and_modify(|round| *round += 1).or_insert(1);
        series.execute(params![key, test.label, device(&test.place)])?;
        let path = match &host.directory {
            Some(directory) => Path::new(directory).join(&test.path).to_string_lossy().into_owned(),
            None => test.path.clone(),
        };
        row.execute(params![key, began, run, round, grade_number(test.grade), path])?;
        for (name, value) in &test.metrics {
            number.execute(params![key, began, run, round, name, value])?;
        }
    }
    Ok(())
}

/// A key of 63 bits from texts.
fn key_of(parts: &[&str]) -> i64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    digest.iter().take(8).fold(0_i64, |key, byte| ((key & 0x007f_ffff_ffff_ffff) << 8) | i64::from(*byte))
}

/// The series of a test: what was done, to what, on which machine, by which epoch of plumb.
fn series_key(test: &TestResult, host: &Surroundings) -> i64 {
    let epoch = host.epoch.map_or_else(String::new, |epoch| epoch.to_string());
    let machine = host.machine.clone().unwrap_or_default();
    key_of(&[&epoch, &machine, &test.work, &identity(test, host)])
}

/// The place that stores the bytes, by permanent identifiers, or else by model and size, the file that holds a loop
/// device, or the path: never by the name of a device, which can be another one after a reboot.
fn identity(test: &TestResult, host: &Surroundings) -> String {
    let place = &test.place;
    let mut devices: Vec<String> = place
        .leaves
        .iter()
        .map(|(name, model, size)| match host.serials.get(name) {
            Some(serial) => serial.clone(),
            None => format!("{} {}", model.as_deref().unwrap_or_default(), size.unwrap_or_default()),
        })
        .collect();
    devices.sort();
    let mount = place.mount.as_ref();
    let file_system = mount.map(|mount| match host.file_systems.get(&mount.point) {
        Some(uuid) => uuid.clone(),
        None => format!("{} {}", mount.kind, mount.point),
    });
    let path = if devices.is_empty() && mount.is_none() { test.path.as_str() } else { "" };
    format!("{devices:?} {file_system:?} {:?} {path}", place.held_by)
}

/// The device in words: `Samsung PM9A3 1.9 TB, ext4`.
fn device(place: &Place) -> String {
    let mut models: Vec<String> =
        place.leaves.iter().map(|(name, model, _)| model.clone().unwrap_or_else(|| name.clone())).collect();
    models.dedup();
    let models = (!models.is_empty()).then(|| models.join(" + "));
    let parts = [models, place.mount.as_ref().map(|mount| mount.kind.clone())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn environment(facts: &[Fact]) -> i64 {
    let parts: Vec<&str> = facts.iter().flat_map(|fact| [fact.key.as_str(), fact.value.as_str()]).collect();
    key_of(&parts)
}

/// The word of a kind in the store.
const fn kind_word(kind: FactKind) -> &'static str {
    match kind {
        FactKind::Identity => "identity",
        FactKind::Condition => "condition",
    }
}

/// The kind with this word; other words are conditions.
pub(crate) fn kind_of(word: &str) -> FactKind {
    if word == "identity" { FactKind::Identity } else { FactKind::Condition }
}

const GRADES: [(Grade, i64); 4] =
    [(Grade::NotChecked, 0), (Grade::Trusted, 1), (Grade::ValidWithLimits, 2), (Grade::NotAStorageResult, 3)];

fn grade_number(grade: Grade) -> i64 {
    GRADES.iter().find(|(known, _)| *known == grade).map_or(0, |(_, number)| *number)
}

/// The grade with this number; an unknown one counts as not checked.
pub(crate) fn grade_of(number: i64) -> Grade {
    GRADES.iter().find(|(_, known)| *known == number).map_or(Grade::NotChecked, |(grade, _)| *grade)
}
