//! The answer as text and as JSON.

use super::DurableArgs;
use crate::failure::Failure;
use crate::{streams, width};
use analysis::durability::{Acknowledgements, Answer, Kept, Loss, Lost, Promise};
use formats::printable;
use measure::{float, text};
use serde_json::{Value, json};
use session::colour::Tone;
use std::path::PathBuf;

/// The answers with their colours on a terminal.
pub(super) const ANSWERS: [(&str, Tone); 3] =
    [("Yes:", Tone::Good), ("No:", Tone::Bad), ("Cannot tell:", Tone::Limited)];

/// The answer with all that it is about.
pub(super) struct Verdict {
    pub(super) acks: Acknowledgements,
    pub(super) target: PathBuf,
    pub(super) kept: Vec<Kept>,
    pub(super) answer: Answer,
}

/// The whole output.
pub(super) fn shown(verdict: &Verdict, args: &DurableArgs) -> Result<String, Failure> {
    if args.written.streams.json {
        return document(verdict);
    }
    let columns = width::of_stdout().filter(|_| args.written.output.is_none());
    let sentences = width::for_people(&sentences(verdict).join(" "), "", columns);
    let mut shown = String::new();
    if !args.written.streams.quiet {
        shown += &width::for_people(&heading(verdict), "", columns);
        if !verdict.kept.is_empty() {
            shown += &text::aligned(&table(verdict), &[0, 1]);
        }
        for remark in remarks(verdict) {
            shown += &width::for_people(&format!("! {remark}"), "  ", columns);
        }
    }
    Ok(printable::lines(&(shown + &sentences)).into_owned())
}

fn heading(verdict: &Verdict) -> String {
    let (acks, target) = (&verdict.acks, verdict.target.display());
    let count: u64 = acks.ways.values().map(|of_way| of_way.count).sum();
    let cut = acks.cut.as_ref().map(|command| format!(", power cut by `{command}`")).unwrap_or_default();
    format!(
        "{target}: {} of {} in {} on {}{cut}",
        text::counted(count, "acknowledged write"),
        text::short_bytes(float(acks.started.record)),
        text::time(float(acks.last.0)),
        acks.started.host
    )
}

const HEAD: [&str; 8] = ["way", "promise", "acknowledged", "judged", "lost", "torn", "reordered", "oldest loss"];

fn table(verdict: &Verdict) -> Vec<[String; 8]> {
    let row = |kept: &Kept| {
        let oldest = kept.lost.iter().map(|lost| lost.age.0).max();
        let gone = kept.count(Loss::Whole) + kept.count(Loss::Unreadable);
        let counts = [kept.acknowledged, kept.judged, gone, kept.count(Loss::Torn), kept.reordered()];
        let [acknowledged, judged, gone, torn, reordered] = counts.map(|count| text::grouped(float(count)));
        let oldest = oldest.map_or_else(|| "-".to_owned(), |ns| text::time(float(ns)));
        let words = [kept.way.name().to_owned(), promise(kept.way.promise()).to_owned()];
        let [way, promised] = words;
        [way, promised, acknowledged, judged, gone, torn, reordered, oldest]
    };
    std::iter::once(HEAD.map(str::to_owned)).chain(verdict.kept.iter().map(row)).collect()
}

fn promise(promise: Promise) -> &'static str {
    match promise {
        Promise::Kept => "kept",
        Promise::Whole => "kept, whole",
        Promise::Nothing => "nothing",
    }
}

fn remarks(verdict: &Verdict) -> Vec<String> {
    let acks = &verdict.acks;
    let mut remarks = Vec::new();
    for kept in &verdict.kept {
        let name = kept.way.name();
        if let Some(first) = kept.lost.first().filter(|_| kept.is_broken()) {
            remarks.push(format!("{name}: the first loss is {}", located(first)));
        }
        let unreadable = kept.count(Loss::Unreadable);
        if unreadable > 0 {
            remarks.push(format!("{name}: {} cannot be read", text::counted(unreadable, "record")));
        }
        if kept.torn_in_flight > 0 {
            let count = text::counted(kept.torn_in_flight, "record");
            remarks.push(format!("{name}: {count} that was not acknowledged yet is there in part"));
        }
    }
    if acks.started.is_write_through == Some(true) && verdict.answer == Answer::No {
        remarks.push("the kernel sent no flush to the device: it says that it has no write cache".to_owned());
    }
    remarks.extend(acks.failed.iter().map(|why| format!("the writer ended with an error: {why}")));
    if acks.damaged > 0 {
        let count = text::counted(acks.damaged, "line");
        remarks.push(format!("{count} of the acknowledgements cannot be read, and acknowledge nothing"));
    }
    remarks
}

fn located(lost: &Lost) -> String {
    format!("record {} at byte {} of {}", text::grouped(float(lost.number)), lost.place.offset, lost.place.file)
}

/// Two sentences.
fn sentences(verdict: &Verdict) -> [String; 2] {
    let promised = || verdict.kept.iter().filter(|kept| kept.way.promise() != Promise::Nothing && kept.judged > 0);
    match &verdict.answer {
        Answer::Yes => {
            let count: u64 = promised().map(|kept| kept.judged).sum();
            let ways: Vec<&str> = promised().map(|kept| kept.way.name()).collect();
            let (all, ways) = (text::grouped(float(count)), text::listed(&ways));
            [
                format!("Yes: all {all} judged writes that {ways} acknowledged are there."),
                "One cut shows a loss, not that there is none: repeat it.".to_owned(),
            ]
        }
        Answer::No => {
            let broken: Vec<&Kept> = verdict.kept.iter().filter(|kept| kept.is_broken()).collect();
            let parts: Vec<String> = broken.iter().map(|kept| broken_in(kept)).collect();
            let names: Vec<&str> = broken.iter().map(|kept| kept.way.name()).collect();
            [
                format!("No: {}.", text::listed_up_to(&parts, 4)),
                format!(
                    "A program that relies on {} here loses writes that it was given as durable.",
                    text::listed(&names)
                ),
            ]
        }
        Answer::CannotTell(why) => [
            format!("Cannot tell: {why}."),
            "Whatever was acknowledged is still in the file of the witness.".to_owned(),
        ],
    }
}

fn broken_in(kept: &Kept) -> String {
    let (lost, judged) = (kept.lost.len() as u64, text::grouped(float(kept.judged)));
    match kept.count(Loss::Torn) {
        _ if lost == 0 => format!("{} left a part of a write", kept.way.name()),
        torn if torn == lost => {
            format!("{} of {judged} acknowledged by {} are torn", text::grouped(float(lost)), kept.way.name())
        }
        _ => format!("{} of {judged} acknowledged by {} are lost", text::grouped(float(lost)), kept.way.name()),
    }
}

fn document(verdict: &Verdict) -> Result<String, Failure> {
    let Verdict { acks, target, kept, answer } = verdict;
    let (word, why) = match answer {
        Answer::Yes => ("yes", None),
        Answer::No => ("no", None),
        Answer::CannotTell(why) => ("cannot tell", Some(why)),
    };
    let lost = |lost: &Lost| {
        let loss = match lost.loss {
            Loss::Whole => "lost",
            Loss::Torn => "torn",
            Loss::Unreadable => "unreadable",
        };
        json!({ "number": lost.number, "file": lost.place.file, "offset": lost.place.offset, "loss": loss,
            "age_ns": lost.age.0, "later_one_is_there": lost.is_before_kept })
    };
    let way = |kept: &Kept| {
        json!({ "way": kept.way.name(), "calls": kept.way.source(), "promise": promise(kept.way.promise()),
            "acknowledged": kept.acknowledged, "judged": kept.judged, "broken": kept.is_broken(),
            "reordered": kept.reordered(), "torn_in_flight": kept.torn_in_flight,
            "lost": kept.lost.iter().map(lost).collect::<Vec<Value>>() })
    };
    let started = &acks.started;
    let parts = json!({ "answer": word, "why": why, "target": target.display().to_string(), "host": started.host,
        "run": format!("{:016x}", started.run), "record_bytes": started.record, "last_acknowledgement_ns": acks.last.0,
        "write_through": started.is_write_through, "cut": acks.cut, "ended": acks.ended, "failed": acks.failed,
        "damaged_lines": acks.damaged, "ways": kept.iter().map(way).collect::<Vec<Value>>(),
        "sentences": sentences(verdict) });
    streams::document("durable", parts)
}
