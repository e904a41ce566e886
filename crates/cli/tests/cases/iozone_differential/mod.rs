//! The same iozone command lines to Debian's iozone and to ours: the same lines in the same order once numbers are
//! folded, the same status, the same files; and by strace the same records in the same order, and files
//! opened the same way.

mod data;
mod trace;

use crate::context::PLUMB;
use house::{Cases, Run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Command lines that end alike, one per line.
const ALIKE: &str = "
-s 64 -r 4
-s 64 -E
-s 64 -i 0
-s 64 -i 0 -i 1
-s 64 -i 0 -i 2
-s 64 -i 0 -i 3
-s 64 -i 0 -i 4
-s 64 -i 0 -i 5
-s 64 -i 0 -i 6 -i 7
-s 64 -i 0 -i 7
-s 64 -i 0 -i 9 -i 10 -E
-s 64 -i 9
-s 64 -i 11
-s 64 -i 12
-s 64 -i 99
-s64 -i0 -r8
-s 1m -r 64k -i 0
-s 250 -r 16 -i 0 -i 1
-s 4 -r 64 -i 0
-s 64 -s 128 -r 4 -r 16 -i 0
-a -n 64 -g 128 -i 0
-a -n 64 -g 64 -i 0 -i 1 -y 8 -q 16
-a -n 64 -g 128 -q 8 -i 0 -i 1 -R
-a -n 64 -g 64 -q 8 -i 0 -b x.xls
-a -n 64 -g 32
-a -y 128 -n 64 -i 0
-A -n 64 -g 64
-+x 4 -a -n 64 -g 256 -i 0
-n 1 -g 4 -a -i 0
-z -s 64 -i 0
-s 64 -i 0 -e
-s 64 -i 0 -i 1 -e -c
-s 64 -i 0 -o
-s 64 -i 0 -I
-s 64 -i 0 -i 1 -+r
-s 64 -i 0 -+D
-s 64 -i 0 -+n
-s 64 -i 0 -w
-s 64 -i 0 -w -f here
-s 64 -i 0 -W
-s 64 -i 0 -p
-s 64 -i 0 -O
-s 64 -i 0 -N
-s 64 -i 0 -O -N
-s 64 -i 0 -B
-s 64 -B -i 0 -i 1
-s 64 -i 0 -D
-s 64 -i 0 -G
-s 64 -i 0 -k 3
-s 64 -i 0 -V 90
-s 64 -i 0 -i 1 -V 300
-s 64 -i 0 -P 0
-s 64 -i 0 -j 3 -S 64 -L 64
-s 64 -i 0 -J 1
-s 64 -i 0 -M
-s 64 -i 0 -x
-s 64 -i 0 -d 10
-s 64 -i 0 -+p 50
-s 64 -i 0 -+n -+p 200
-s 64 -i 0 -+N -+J -+k
-s 64 -i 0 -+B
-s 64 -i 0 -+K 2
-s 64 -i 0 -+O 1000
-s 64 -i 0 -+q 0
-s 64 -i 0 -Q
-s 0 -i 0
-s abc -i 0
-r 0 -s 64 -i 0
-+n foo -s 64 -i 0
-l 3 -u 2 -s 64 -i 0
-t 2 -s 64 -i 0 -i 1 -i 2 -i 8
-t 2 -s 64 -i 3 -i 5 -i 0 -+n
-t 2 -s 64 -i 6 -i 7 -i 9 -i 10 -i 0 -+n
-t 0 -s 64 -i 9
-t 2 -s 64 -i 9 -T -x
-t 2 -s 64 -i 9 -C -w
-t 2 -s 64 -i 9 -O
-t 2 -s 64 -i 9 -F a b
-t 2 -F a -+n -s 64 -i 9
-t 2 -s 64 -r 8 -i 0 -+n -R
-l 1 -u 2 -s 64 -i 0 -+n -R
-t 1 -t 2 -s 64 -i 9
-t 2 -s 64 -i 9 -+k -C -+u
-t 2 -s 64 -i 0 -+n -b x.xls
-t 2 -s 16 -i 0 -i 1 -i 2 -i 3 -Q
-t 2 -s 16 -i 0 -i 5 -i 6 -i 7 -Q
-t 2 -s 16 -i 9 -i 10 -Q
-t 2 -s 16 -i 0 -i 1 -+T
-t 2 -s 16 -i 0 -i 1 -+z
-t 2 -s 64 -i 9 -+V
-t 2 -s 64 -i 9 -+R names -w
-s 16 -i 0 -i 1 -+X
-s 16 -i 0 -i 1 -+Z
-s 16 -i 0 -+b 4,5
-i 0 -X records
-i 0 -i 1 -X records -Y records
-i 0 -i 1 -i 2 -Y records
-t 2 -i 0 -+n -X records
-i 0 -i 1 -X delays -Y delays
-i 0 -i 1 -X delays -Y records
-i 0 -X delays
-s 1m -i 0 -i 1 -K
-s 64 -i 0 -m
-s 64 -i 0 -i 1 -Z
-s 64 -i 0 -i 1 -Z -B
-s 64 -i 0 -i 1 -B -+A 1
-s 64 -i 0 -+A 7
-s 16 -i 0 -i 1 -+l
-s 16 -i 0 -i 1 -+L
-t 2 -s 16 -i 9 -+L -w
-s 16 -i 0 -i 1 -+d
-s 16 -i 0 -i 1 -+w 50 -+y 20 -+C 10 -+S 3 -+W 4
-s 16 -i 0 -i 1 -+w 50 -+M -+a 40
-s 16 -i 0 -+w 200 -+y -1 -+C 101 -+a 300
-t 2 -s 16 -i 0 -i 8 -+F -+B -w
-+E -i 1 -f old -s 64
-+E -i 2 -i 3 -i 5 -i 7 -f old -s 64
-+E -E -i 1 -i 10 -f old -s 64 -+n
-+E -E -i 10 -f old -s 64
-+E -i 2 -f old -s 64 -r 16 -e -c -I
-t 2 -+E -i 1 -i 2 -F old old2 -s 64
-+E -Y records -i 1 -f old
-s 64 -s 128 -i 0
-s 64 -s 128 -s 32 -r 64 -i 0
-s 128 -s 64 -r 64 -i 0
-s 64 -s 64 -r 64 -i 0
-s 64 -s 128 -q 8 -i 0 -R
-s 64 -s 128 -r 128 -i 0
-r 4 -r 8 -g 256 -i 0
-r 4 -r 16 -r 8 -s 64 -i 0
-r 4 -r 8 -r 512 -s 64 -i 0 -R
-r 4 -r 8 -q 4 -i 0 -s 64
-r 4 -r 8 -g 128 -n 32 -i 0 -a
-r 256 -r 512 -s 64 -i 0
-r 64 -y 4 -R -i 0
-a -s 64 -r 16 -R -i 0
-a -r 256 -n 64 -g 128 -i 0
-s 64 -r 64 -i 0 -i 1 -i 2 -i 3 -+u -R
-s 64 -s 128 -r 64 -+u -R -i 3 -i 0 -+n
-a -n 64 -g 128 -q 16 -i 0 -+u -R -b x.xls
-s 64 -r 64 -E -b x.xls -+u
-t 2 -s 64 -i 0 -+u -b x.xls -+n -R
-t 2 -s 64 -i 0 -i 1 -+u -C -+n
-s 64 -B -R
-s 64 -r 64 -B -R -b x.xls -i 0 -i 6
-s 64 -r 64 -E -B -R -i 0 -i 9 -i 10
-s 64 -r 64 -E -B
-s 64 -r 64 -E -A
-a -n 16 -g 16 -q 8 -i 0 -i 1 -Q
-s 16 -i 0 -i 1 -Q -+n
-l 1 -u 2 -s 8 -i 0 -Q
-s 16 -i 6 -w
-s 16 -i 0 -+Q 4
-s 16 -i 0 -+i 7
-s 16 -i 0 -P 999
-s 16 -i 0 -P -1
-t 2 -P 999 -s 16 -i 0 -+n
-s 16 -i 0 -i 5 -j 0
-s 16 -i 0 -j x
-s 16 -i 0 -S 0 -L 0
-s 16 -i 0 -S x -L x
-s 16 -i 0 -+p 0
-s 16 -i 0 -+p 101
-s 16 -i -1
-s 16 -i 0 -J -4
-s 16 -i 0 -J x
-s 16 -i 0 -+b 1m,5
-t 1 -s 16 -i 0 -i 6 -w
-X records
-X records -i 1
-X records -i 2
-X short
-Y records
-Y records -i 0
-Y records -i 2
-Y records -i 1 -f old
-Y records -i 8 -+B
-Y records -s 128 -r 8
-Y delays
-Y records -J 1
-X records -J 1
-X delays -J 1
-X delays -Y records
-X delays -Y records -J 1
-X delays -+J
-X far -Y records
-s 16 -i 0 -J 0
-t 2 -+B -X records -Y records -i 0 -i 8 -+n
-t 2 -Y records -+n
-t 2 -Y records -+n -s 64 -r 16
-t 2 -X records -Y delays -i 2 -+n
-s 16 -i 0 -k 0
-s 16 -i 0 -H -1
-s 4 -i 0 -+n -+O 0
-s 16 -i 0 -+q -1
-s 16 -i 0 -+S 0
-s 16 -i 0 -+S x
-s 16 -i 0 -+Q -1
-t 2 -s 16 -+n -i 0 -i 8 -+K 0
-t 2 -s 16 -+n -i 0 -i 8 -+K x
";

/// Command lines that nothing is run for: the same words and status.
const REFUSED: &str = "
-+m
-+q
-+o
-+K
-+R
-f
-i
-i 0 -s
-t 2 -F
-b
-s 16 -i 0 -J
-f x -F a b
-F a b -t 2
-t 2 -F a
-t 2000
-t 2 -U /mnt
-U /mnt -t 2
-r 32m
-X no-such-file -i 0
-B -H 2 -s 64 -i 0
-H 2 -k 2
-t 2 -a
-a -t 2 -i 9 -s 64
-i 0 -s 64 -N -t 2
-s 16 -+E
-a -X records
-s 64 -X records -i 0
-r 64 -X records -i 0
-j 3 -X records -i 0
-+R names -s 16 -i 0
-+R names -t 2 -s 64 -i 9
-+d -+w 30 -i 0
-+m nofile -t 2
-+b 4 -i 0
-+E -i 0 -f old
-+E -i 2 -i 4 -f old
-+E -i 1 -i 6 -f old
-+E -i 1 -i 8 -f old
-+E -E -i 9 -i 10 -f old
-+E -i 11 -f old
-+E -i 12 -f old
-+E -i 1
-+E -f old
-+E -t 2 -i 1
-+E -t 2 -i 0 -F old old2
-+E -+d -+w 30
-+E -H 2 -k 2
-t 2 -g 4m -i 0
-u 2 -y 8 -i 0
-l 2 -n 8
-t 2 -q 8 -i 0
-A -t 2
-t 2 -s 4 -s 8
-t 2 -r 4 -r 8
-t 2 -f old -i 0
-t 2 -f old -i 0 -z
-t 2 -f old -a
-l 2 -f old
-t 2 -N -f old
-B -H 2 -t 2 -a
-Y records -j 2
-Y records -a
-Y records -s 64 -s 128
-Y records -i 1 -r 4 -r 8
-X delays -s 64
-X delays -B -H 2
-X delays -t 2 -N
-X records -j 3 -V 9
-X records -t 2 -f old
-X delays -Y records -r 4
-J 1 -t 2 -a
-J 1 -+d -+w 30
-J 1 -y 8 -q 4
-+E -X records
-+E -Y records -f old
-y 8 -q 4 -i 0
-y 8 -q 4 -t 2 -N
-y 32m
-q 32m
-r 64 -q 8 -i 0
-r 4 -y 8 -i 0
-r 8 -r 4 -s 64 -i 0
";

/// Command lines that fail, one per line: the same status, and the same first words of the message.
const FAILING: &str = "
-i 0 -f no/such -s 64
-i 1 -f nofile -s 64
-i 1 -f short -s 64 -w
-i 1 -f old -s 64 -w
-i 2 -f no/such -s 64
-i 2 -f short -s 64 -w
-i 2 -f old -s 64 -w
-i 3 -f nofile -s 64
-i 3 -f old -s 64 -w
-i 4 -f no/such -s 64
-i 5 -f nofile -s 64
-i 5 -f short -s 64 -w
-i 5 -f old -s 64 -w
-i 6 -f no/such -s 64
-i 7 -f nofile -s 64
-i 7 -f short -s 64 -w
-i 7 -f old -s 64 -w
-E -i 9 -f no/such -s 64
-E -i 10 -f nofile -s 64
-E -i 10 -f short -s 64 -w
-E -i 10 -f old -s 64 -w
-+E -i 1 -f old -s 64 -V 90
-+E -i 1 -f old -s 64 -+d
-+m nofile -t 2
-+b 4 -s 64 -i 0
-t 2 -+R nolist
-+R nolist
-+R nolist -t 2 -i 0
-a -+R nolist
";

/// What one of the two did.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// The lines before the first result, as they are.
    head: Vec<String>,
    lines: Vec<String>,
    status: i32,
    files: BTreeMap<String, String>,
}

/// Files that are there before a run and are not iozone's, and what they hold.
const OTHERS: [&str; 2] = ["old", "old2"];

fn others_data() -> Vec<u8> {
    vec![b'x'; 64 << 10]
}

fn run(program: &[&str], words: &str, place: &Path) -> Seen {
    std::fs::create_dir_all(place).expect("as made just before");
    std::fs::write(place.join("records"), "# offset and length\n0 4096\n8192 8192\n4096 1024\n").expect("a file");
    std::fs::write(place.join("delays"), "0 4096 2\n8192 8192 3\n4096 1024 0\n").expect("a file");
    std::fs::write(place.join("short"), "0 1024\n").expect("a file");
    std::fs::write(place.join("far"), "0 4096\n65536 8192\n").expect("a file");
    std::fs::write(place.join("names"), "r1\nr2\n").expect("a file");
    for name in OTHERS {
        std::fs::write(place.join(name), others_data()).expect("a file");
    }
    let ended = Run::new(program[0], place).words(&program[1..]).words(words).end();
    let text = &ended.stdout;
    let files = std::fs::read_dir(place).expect("as made just before").map(|entry| {
        let entry = entry.expect("as made just before");
        (entry.file_name().to_string_lossy().into_owned(), left(&entry.path()))
    });
    let status = ended.status.unwrap_or(-1);
    Seen { head: head(text), lines: folded(text), status, files: files.collect() }
}

/// What a run left in a file: its permissions and length, or what of its contents does not depend on times.
fn left(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let data = std::fs::read(path).expect("as made just before");
    if OTHERS.contains(&&*name) {
        return if data == others_data() { "as before".to_owned() } else { "overwritten".to_owned() };
    }
    let extension = path.extension().unwrap_or_default();
    if extension == "dat" {
        let text = String::from_utf8_lossy(&data);
        let words = text.lines().filter_map(|line| line.split_whitespace().next());
        return words.filter(|word| word.starts_with(char::is_alphabetic)).collect::<Vec<_>>().join(", ");
    }
    let labels = if extension == "xls" { labels(&data).join(", ") } else { String::new() };
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().expect("as made just before").permissions());
    format!("{mode:o}, {} bytes {labels}", data.len())
}

/// The labels of a worksheet.
fn labels(sheet: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = sheet;
    while let [kind, 0, low, high, after @ ..] = rest {
        let (body, next) = after.split_at(usize::from(*low) + 256 * usize::from(*high));
        if *kind == 4 {
            found.push(String::from_utf8_lossy(&body[8..8 + usize::from(body[7])]).into_owned());
        }
        rest = next;
    }
    found
}

/// The lines of options and sizes.
fn head(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.contains("Run began")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("   ") && !line.contains("Children see"));
    lines.map(str::to_owned).collect()
}

/// Lines with numbers folded to `#` and runs of blanks to one.
fn folded(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        // When, and that the other's clock has a coarse tick.
        if line.contains("Run began") || line.starts_with("Timer resolution") || line.starts_with("reported inaccurate")
        {
            continue;
        }
        let mut out = String::new();
        for letter in line.chars() {
            let folded = if letter.is_ascii_digit() || letter == '.' { '#' } else { letter };
            // Between two numbers there may be any number of blanks, or none.
            let repeats = out.ends_with(folded) && folded == ' ' || out.ends_with('#') && matches!(folded, '#' | ' ');
            if folded == '#' && out.ends_with(' ') {
                out.pop();
            }
            if !(repeats || folded == '#' && out.ends_with('#')) {
                out.push(folded);
            }
        }
        lines.push(out);
    }
    lines
}

fn scratch(name: &str) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let base = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    base.join(format!("plumb-iozone-{name}-{}", std::process::id()))
}

/// A directory that goes away.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compares what the two did.
type IsSame = fn(&Seen, &Seen) -> bool;

/// The command lines, and the tests of what one line does not show.
pub(super) fn groups() -> Vec<Cases> {
    // The original sleeps for seconds between its tests, so several run at once.
    let mut cases = Cases::waiting("iozone_differential", 32);
    let kinds: [(_, _, IsSame); 3] = [
        ("alike", ALIKE, |theirs, ours| theirs == ours),
        ("refused", REFUSED, |theirs, ours| theirs == ours),
        ("failing", FAILING, fail_alike),
    ];
    for (kind, lines, is_same) in kinds {
        for words in lines.lines().filter(|line| !line.is_empty()) {
            cases = cases.case(&format!("{kind}{}", words.replace(' ', "_")), move || compare(words, is_same));
        }
    }
    vec![house::tests!(
        cases,
        clusters_print_the_same_lines_and_members_keep_no_files,
        enough_command_lines_are_compared,
        trace::records_come_in_the_same_order_for_4_to_128_records,
        trace::strides_of_all_kinds_are_the_same,
        trace::telemetry_files_say_which_records_there_are,
        trace::children_visit_their_records_in_the_same_order,
        trace::a_mix_of_no_readers_has_one_reader,
        trace::files_are_opened_with_the_same_flags,
        trace::reads_elsewhere_are_where_the_original_has_them,
        data::as_much_is_there_twice_as_in_the_files_of_the_original,
        data::as_many_words_are_zero_as_in_the_file_of_the_original,
        data::seeds_and_skews_give_other_data,
        data::the_granule_of_deduplication_changes_nothing_in_the_original,
    )]
}

fn enough_command_lines_are_compared() {
    let lines = ALIKE.lines().filter(|line| !line.is_empty()).count();
    assert!(lines >= 60, "{lines} command lines");
}

/// The same command line to both.
fn compare(words: &str, is_same: IsSame) -> Result<(), String> {
    let place = Place(scratch(&words.replace(|letter: char| !letter.is_alphanumeric(), "_")));
    let theirs = run(&["iozone"], words, &place.0.join("theirs"));
    let ours = run(&[PLUMB, "iozone"], words, &place.0.join("ours"));
    if is_same(&theirs, &ours) { Ok(()) } else { Err(difference(words, &theirs, &ours)) }
}

/// True if both failed with the same status and the same first words.
fn fail_alike(theirs: &Seen, ours: &Seen) -> bool {
    let is_message =
        |line: &&String| ["Error", "Can not", "Unable", "Failed", "-+"].iter().any(|word| line.starts_with(word));
    let words = |seen: &Seen| {
        let line = seen.lines.iter().find(is_message)?;
        Some(line.split([' ', '#']).take(2).map(str::to_owned).collect::<Vec<_>>())
    };
    theirs.status != 0 && theirs.status == ours.status && words(theirs) == words(ours) && words(ours).is_some()
}

fn difference(words: &str, theirs: &Seen, ours: &Seen) -> String {
    let mut text = format!("iozone {words}\n");
    if theirs.status != ours.status {
        text += &format!("  status {} and ours {}\n", theirs.status, ours.status);
    }
    if theirs.files != ours.files {
        text += &format!("  files {:?}\n   ours {:?}\n", theirs.files, ours.files);
    }
    if let Some((their, our)) = theirs.head.iter().zip(&ours.head).find(|(their, our)| their != our) {
        text += &format!("  above the results {their:?}\n    and ours {our:?}\n");
    }
    let longest = theirs.lines.len().max(ours.lines.len());
    for at in 0..longest {
        let (their, our) = (theirs.lines.get(at), ours.lines.get(at));
        if their != our {
            text += &format!("  line {at}\n    {their:?}\n    {our:?}\n");
            break;
        }
    }
    text
}

/// Runs one of the two as a cluster of two members on this machine: the remote shell is a script that has none.
fn cluster(program: &[&str], member: &str, place: &Path) -> Seen {
    for directory in ["a", "b"] {
        std::fs::create_dir_all(place.join(directory)).expect("a directory");
    }
    let shell = place.join("rsh");
    // iozone says -n: its members do not listen to standard input.
    let script =
        "#!/bin/sh\nshift\nif [ \"$1\" = -n ]; then shift; exec sh -c \"$*\" < /dev/null; fi\nexec sh -c \"$*\"\n";
    std::fs::write(&shell, script).expect("a script");
    std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let line = |directory: &str| format!("localhost {}/{directory} {member}\n", place.display());
    std::fs::write(place.join("hosts"), format!("# two members\n{}{}", line("a"), line("b"))).expect("a file");
    let words = "-+m hosts -+h localhost -t 2 -s 64 -r 4 -i 0 -i 1 -i 2";
    let ended = Run::new(program[0], place).words(&program[1..]).words(words).env("RSH", &shell).end();
    let mut files = BTreeMap::new();
    for directory in ["a", "b"] {
        for entry in std::fs::read_dir(place.join(directory)).expect("a directory").flatten() {
            files.insert(format!("{directory}/{}", entry.file_name().to_string_lossy()), String::new());
        }
    }
    Seen { head: Vec::new(), lines: folded(&ended.stdout), status: ended.status.unwrap_or(-1), files }
}

fn clusters_print_the_same_lines_and_members_keep_no_files() {
    let place = Place(scratch("cluster"));
    let theirs = cluster(&["iozone"], "/usr/bin/iozone", &place.0.join("theirs"));
    let ours = cluster(&[PLUMB, "iozone"], PLUMB, &place.0.join("ours"));
    assert!(theirs == ours && ours.files.is_empty(), "{}", difference("-+m hosts", &theirs, &ours));
    assert!(ours.lines.iter().any(|line| line.contains("Test cleanup")), "{ours:?}");
}
