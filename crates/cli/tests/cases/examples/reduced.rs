//! An example cut down to what a test can afford: small files in the directory at hand, a second at most.

/// What an option becomes: its own value, another, or nothing.
const CHANGES: &[(&str, Option<&str>)] = &[
    ("size", Some("1m")),
    ("filesize", Some("1m")),
    ("io_size", Some("1m")),
    ("io_limit", Some("1m")),
    ("offset_increment", Some("2m")),
    ("runtime", Some("1")),
    ("timeout", Some("1")),
    ("loops", Some("2")),
    ("numjobs", Some("2")),
    ("nrfiles", Some("4")),
    ("directory", Some(".")),
    ("startdelay", None),
    ("ramp_time", None),
    // 1250 bytes a second: a quarter of an hour for a megabyte.
    ("rate", None),
    ("ratemin", None),
    // Most machines have one node.
    ("numa_cpu_nodes", Some("0")),
    ("numa_mem_policy", Some("bind:0")),
];

/// The job file, cut down. Files elsewhere become files here; what says nothing of its size gets one.
pub(crate) fn reduced(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().filter_map(reduced_line).collect();
    let sized = |line: &String| ["size=", "filesize=", "size =", "filesize ="].iter().any(|key| line.starts_with(key));
    if !lines.iter().any(sized) {
        lines.splice(0..0, ["[global]".to_owned(), "size=1m".to_owned()]);
    }
    lines.join("\n") + "\n"
}

fn reduced_line(line: &str) -> Option<String> {
    let Some((key, value)) = line.split_once('=') else { return Some(line.to_owned()) };
    let (key, value) = (key.trim(), value.trim());
    if let Some((_, change)) = CHANGES.iter().find(|(name, _)| *name == key) {
        return change.map(|value| format!("{key}={value}"));
    }
    // Never a device of this machine.
    let harmless = ["/dev/null", "/dev/zero"].contains(&value);
    if key == "filename" && value.contains('/') && !harmless {
        Some("filename=data".to_owned())
    } else {
        Some(line.to_owned())
    }
}

pub(super) fn an_example_is_cut_down_to_small_files_here() {
    let text = "[global]\nsize = 10g\nfilename=/dev/sdx\nbs=4k\nramp_time=5\n[a]\nrw=read\nfilename=/dev/null\n";
    let expected = "[global]\nsize=1m\nfilename=data\nbs=4k\n[a]\nrw=read\nfilename=/dev/null\n";
    assert_eq!(reduced(text), expected);
    assert_eq!(reduced("[a]\nrw=read"), "[global]\nsize=1m\n[a]\nrw=read\n");
}
