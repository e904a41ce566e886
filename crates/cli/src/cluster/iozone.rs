//! `plumb cluster ... iozone`: iozone's throughput tests with a member for each child.

use super::LeadArgs;
use super::carrier::Place;
use super::lead::Face;
use super::rounds::{self, InRounds};
use crate::failure::Failure;
use crate::iozone::Members;
use cluster::{Outcome, Task};
use iozone::Member;

/// Refuses options of clusters that have no meaning for iozone.
pub(super) fn check(lead: &LeadArgs) -> Result<(), Failure> {
    let own = "its output is iozone's; its own options say where results go";
    let given = [
        ("--shift", lead.shift.is_some(), "children of iozone have their own files"),
        ("--spread", lead.spread.is_some(), "children of iozone have their own files"),
        ("--repeat", lead.repeat.is_some(), own),
        ("--wear-out", lead.wear_out, "children of iozone end together, or mark their amounts, as its options say"),
        ("--partial", lead.partial, "a test of iozone has the children that it was asked for"),
        ("--keep", lead.keep.is_some(), own),
        ("--stream", lead.stream.is_some(), own),
        ("--per", lead.per.is_some(), "iozone's -C shows each child"),
        ("--page", lead.page.is_some(), own),
        ("--json", lead.json, "give it to iozone, after its name"),
        ("--output", lead.output.is_some(), own),
        ("--start-within", lead.start_within.is_some(), own),
    ];
    if let Some((option, _, why)) = given.iter().find(|(_, is_given, _)| *is_given) {
        return Err(Failure::new(format!("cluster: {option} is not for iozone: {why}")));
    }
    Ok(())
}

/// Runs iozone's words by all members.
pub(super) fn run(lead: &LeadArgs, words: &[String]) -> Result<u8, Failure> {
    check(lead)?;
    rounds::with_members(lead, &mut |members, _| {
        let directory = lead.directory()?;
        let child = |place: &Place| Member {
            host: place.host(),
            directory: directory.clone(),
            program: String::new(),
            file: None,
        };
        let children: Vec<Member> = members.places.iter().map(child).collect();
        let mut led = Children(members);
        let status = crate::iozone::run_by(words, children, &mut led);
        led.end();
        status
    })
}

/// Members that are children of iozone.
struct Children<'a>(InRounds<'a>);

impl Members for Children<'_> {
    fn round(&mut self, tasks: Vec<Task>, face: &mut dyn Face) -> Result<Outcome, Failure> {
        self.0.round(tasks, face)
    }

    fn end(&mut self) {
        self.0.end(&mut Quiet);
    }
}

/// Nothing is left to be shown while members exit.
struct Quiet;

impl Face for Quiet {
    fn heard(&mut self, _rank: usize, _answer: &cluster::Answer) {}

    fn say(&mut self, _rank: usize, _text: &str) {}

    fn draw(&mut self, _leader: &cluster::Leader) {}

    fn clear(&mut self) {}

    fn order(&mut self, _leader: &cluster::Leader) -> Option<cluster::Order> {
        None
    }
}
