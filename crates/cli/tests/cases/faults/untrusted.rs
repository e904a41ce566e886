//! Untrusted files and names: no command is run, nothing is written elsewhere, and no page, spreadsheet
//! or terminal takes a name for more than text.

use super::{Bench, Row, Shown};

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = files();
    rows.extend(other_files());
    rows.extend(names());
    rows
}

/// What a stranger's file may ask for.
fn files() -> Vec<Row> {
    vec![
        Row::new("a job's name that leads elsewhere", "--untrusted, [../../x], [/x], [./x]", |bench| {
            std::fs::create_dir_all(bench.file("in/side")).map_err(|error| error.to_string())?;
            let mut shown = None;
            for line in ["[../../x]", "[/x]", "[./x]\nfilename_format=.$jobname", "[a]\nname=../../x"] {
                bench.write("in/side/j.fio", format!("{line}\nsize=64k\nrw=read\nwrite_bw_log\nwrite_lat_log=\n"))?;
                let ran = bench.run(bench.fio("--untrusted j.fio").under("env --chdir=in/side"))?;
                shown = shown.or(Some(ran.expect(1, &["--untrusted: "]).map_err(|why| format!("{line}: {why}"))?));
            }
            shown.ok_or_else(|| "no line".into())
        }),
        Row::new("a stranger's job file", "--untrusted", |bench| {
            let marker = bench.file("ran");
            let lines = [
                format!("exec_prerun=touch {}", marker.display()),
                "ioengine=exec".to_owned(),
                "filename=/etc/plumb-x".to_owned(),
                "directory=..".to_owned(),
                "write_bw_log=../x".to_owned(),
                "write_consent=1".to_owned(),
                "include /etc/passwd".to_owned(),
                "verify_pattern='/etc/passwd'".to_owned(),
                "ioscheduler=none".to_owned(),
            ];
            let mut shown = None;
            for line in lines {
                bench.write("j.fio", format!("[a]\nsize=64k\nrw=read\n{line}\n"))?;
                let ran = bench.run(bench.fio("--untrusted j.fio"))?;
                shown = shown.or(Some(ran.expect(1, &["--untrusted: "]).map_err(|why| format!("{line}: {why}"))?));
            }
            bench.write("j.fio", "[a]\nsize=64k\nrw=read\ndescription=/x\nbssplit=4k/50:8k/50\n")?;
            bench.run(bench.fio("--untrusted j.fio"))?.expect(0, &[])?;
            if marker.exists() { Err("the command ran".into()) } else { shown.ok_or_else(|| "no line".into()) }
        }),
    ]
}

/// The same of a survey's and iozone's files.
fn other_files() -> Vec<Row> {
    vec![
        Row::new("a stranger's survey file", "survey --untrusted --config", |bench| {
            let lines = [
                "targets = [\"/dev\"]",
                "targets = [\"..\"]",
                "targets = [\"data\"]\noutput = \"/etc/plumb-x\"",
                "targets = [\"data\"]\nengine = \"exec\"",
                "targets = [\"data\"]\noverwrite = [\"16777216\"]",
                "targets = [\"data\"]\n[vary]\nbuffer_pattern = \"'/etc/shadow'\"",
            ];
            let mut shown = None;
            for line in lines {
                let message = refused(bench, line, "survey --untrusted --dry-run --config given", 1)?;
                shown = shown.or(Some(message));
            }
            std::fs::create_dir_all(bench.file("data")).map_err(|error| error.to_string())?;
            bench.write("given", "targets = [\"data\"]\nsize = \"16M\"\n")?;
            let (status, message) = plumb(bench, "survey --untrusted --dry-run --config given")?;
            if status == Some(0) {
                shown.ok_or_else(|| "no line".into())
            } else {
                Err(format!("{status:?}: {message}"))
            }
        }),
        Row::new("a stranger's result to go on with", "survey --untrusted --resume", |bench| {
            let marker = bench.file("ran");
            let program = format!(r#""program":"touch","arguments":"{}""#, marker.display());
            let runs = format!(r#""targets":["data"],"test":{{"x":{{"rw":"randread","options":{{{program}}}}}}}"#);
            let result = |asked: &str| format!(r#"{{"command":"survey","tests":[],"request":{{{asked}}}}}"#);
            bench.write("given", result(&runs))?;
            let (status, message) = plumb(bench, "survey --resume given")?;
            if marker.exists() || status != Some(1) || !message.contains("runs a command") {
                return Err(format!("{status:?}: {message}"));
            }
            let asks = [
                r#""targets":["/etc"]"#,
                r#""targets":["data"],"output":"/etc/x""#,
                r#""targets":["data"],"overwrite":["1"]"#,
            ];
            let mut shown = None;
            for ask in asks {
                shown = Some(refused(bench, &result(ask), "survey --untrusted --resume given", 1)?);
            }
            shown.ok_or_else(|| "no line".into())
        }),
        Row::new("a stranger's cluster file", "iozone --untrusted -+m", |bench| {
            let marker = bench.file("ran");
            let line = format!("localhost . touch {}\n", marker.display());
            let shown = refused(bench, &line, "iozone --untrusted -i 0 -t 1 -+m given", 1)?;
            if marker.exists() { Err("the command ran".into()) } else { Ok(shown) }
        }),
        Row::new("a stranger's names of files", "iozone --untrusted -+R", |bench| {
            refused(bench, "a\n../outside\n", "iozone --untrusted -i 0 -s 64 -t 2 -+R given", 1)
        }),
    ]
}

/// A command that is given a stranger's file called `given`, and refuses it.
fn refused(bench: &Bench, text: &str, words: &str, status: i32) -> Result<Shown, String> {
    bench.write("given", text)?;
    let (code, message) = plumb(bench, words)?;
    let line = message.lines().find(|line| line.contains("--untrusted: "));
    match (code == Some(status), line) {
        (true, Some(line)) => {
            let kept = "nothing was begun".to_owned();
            Ok(Shown { did: line.to_owned(), status: status.to_string(), kept })
        }
        _ => Err(format!("{text}: exit status {code:?}: {message}")),
    }
}

/// Status, and all that was said.
fn plumb(bench: &Bench, words: &str) -> Result<(Option<i32>, String), String> {
    let ended = bench.plumb(words).end();
    Ok((ended.status, format!("{}{}", ended.stderr, ended.stdout)))
}

/// Untrusted names of jobs.
fn names() -> Vec<Row> {
    vec![
        Row::new("a name that is a script", "a file called <script>, a page of its rows", |bench| {
            let name = "<script>document.title=1<!--.csv";
            bench.write(name, super::personalities::GIVEN)?;
            let (status, message) = plumb(bench, &format!("report {name} --output page.html"))?;
            let page =
                std::fs::read_to_string(bench.file("page.html")).map_err(|error| format!("{error}: {message}"))?;
            if status != Some(0) || page.contains("<script>document.title") || !page.contains("&lt;script&gt;document")
            {
                return Err(format!("status {status:?}, or the name is a script of the page: {message}"));
            }
            let kept = "the page shows the name".to_owned();
            Ok(Shown { did: "the name is text".into(), status: "0".into(), kept })
        }),
        Row::new("a name that is a formula", "a test called =cmd(), a file called =cmd(), as CSV", |bench| {
            let name = "=cmd|' /C calc'!A0";
            let given = super::personalities::GIVEN.replace("randread", &format!("\"{name}\""));
            bench.write("=cmd().csv", given)?;
            let (_, csv) = plumb(bench, "parse --format csv =cmd().csv")?;
            bench.write("own.csv", &csv)?;
            let computed = |cell: &str| cell.trim_matches('"').starts_with(['=', '+', '@']);
            let row = csv.lines().nth(1).unwrap_or_default();
            if row.split(',').any(computed) || !row.contains(&format!("'{name}")) || !row.contains("'=cmd()") {
                return Err(format!("a spreadsheet computes a cell of {row}"));
            }
            let (_, back) = plumb(bench, "parse --format json own.csv")?;
            if !back.contains(name) || back.contains(&format!("'{name}")) {
                return Err(format!("the name is not read back: {back}"));
            }
            let kept = "read back, the name is what it was".to_owned();
            Ok(Shown { did: "an apostrophe makes it text".into(), status: "0".into(), kept })
        }),
        Row::new("a control sequence in all reports", "name=ESC[2J, standard output", |bench| {
            bench.write("j.fio", "[\u{1b}[2Jx]\nsize=64k\nrw=read\ndescription=\u{1b}]0;owned\u{7}\n")?;
            let (status, message) =
                plumb(bench, "fio --output-format=normal,terse,json+ --eta=always --result=own.json j.fio")?;
            let (_, parsed) = plumb(bench, "parse own.json")?;
            let steers = |text: &str| text.contains('\u{1b}') || text.contains('\u{7}');
            if status != Some(0) || steers(&message) || steers(&parsed) {
                return Err(format!("status {status:?}, or it reaches the terminal: {message:?} {parsed:?}"));
            }
            let kept = "the reports".to_owned();
            Ok(Shown { did: "shown as a picture of the character".into(), status: "0".into(), kept })
        }),
        Row::new("a file with a control sequence in a name", "name=ESC[2J", |bench| {
            bench.write("j.fio", "[\u{1b}[2Jx]\nsize=64k\nrw=read\nallow_file_create=0\n")?;
            let ran = bench.run(bench.fio("j.fio"))?;
            if ran.stderr.contains('\u{1b}') {
                return Err(format!("a control sequence reaches the terminal: {:?}", ran.stderr));
            }
            ran.expect(1, &["x"])
        }),
    ]
}
