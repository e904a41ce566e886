//! The completion for zsh: the arguments of `_arguments` for each program.

use super::programs::{Content, Program};
use measure::text::shell_quoted;
use plan::{Placing, WrittenOption};
use std::fmt::Write;

const TAIL: &str = r#"
_plumb_commands() {
    _describe -t commands command subcommands
}

_plumb() {
    local program=plumb start=1 i
    local -a subcommands
    [[ ${words[1]:t} == plumb ]] || program="plumb ${words[1]:t}"
    _plumb_subcommands $program
    for (( i = 2; i < CURRENT; i++ )); do
        if [[ -n ${(M)subcommands:#${words[i]}:*} ]]; then
            program+=" $words[i]" start=$i
            _plumb_subcommands $program
        fi
    done
    words=("$program" "${(@)words[start+1,-1]}")
    (( CURRENT -= start - 1 ))
    _plumb_arguments $program
}

if [[ $funcstack[1] == _plumb ]]; then
    _plumb "$@"
else
    compdef _plumb plumb
fi
"#;

/// The script, to be found by compinit or sourced.
pub(super) fn script(programs: &[Program]) -> String {
    let mut text =
        concat!("#compdef plumb\n# Completion of plumb ", env!("CARGO_PKG_VERSION"), " for zsh.\n").to_owned();
    text.push_str("# For this shell alone: source <(plumb --generate zsh)\n\n");
    text.push_str("_plumb_subcommands() {\n    subcommands=()\n    case $1 in\n");
    for program in programs.iter().filter(|program| !program.commands.is_empty()) {
        let _ = writeln!(text, "    ({})\n        subcommands=(", shell_quoted(&program.words));
        for (name, about) in &program.commands {
            let _ = writeln!(text, "            {}", shell_quoted(&format!("{name}:{about}")));
        }
        text.push_str("        ) ;;\n");
    }
    text.push_str("    esac\n}\n\n_plumb_arguments() {\n    case $1 in\n");
    for program in programs {
        let _ = write!(text, "    ({})\n        _arguments", shell_quoted(&program.words));
        for spec in program.options.iter().flat_map(specs).chain(operand(program)) {
            let _ = write!(text, " \\\n            {}", shell_quoted(&spec));
        }
        text.push_str(" ;;\n");
    }
    text.push_str("    esac\n}\n");
    text.push_str(TAIL);
    let links: Vec<&str> = programs.iter().filter_map(Program::link).collect();
    let _ = write!(
        text,
        "# Links to plumb are completed as plumb does; the programs that they are named after are left alone.\n\
         () {{\n    local link\n    for link in {}; do\n        \
         if [[ ${{${{commands[$link]:-.}}:A}} == */plumb ]]; then\n            compdef _plumb $link\n        fi\n    done\n}}\n",
        links.join(" ")
    );
    text
}

/// The specifications of an option, one for each spelling.
fn specs(option: &WrittenOption) -> Vec<String> {
    let value = &option.value;
    let words: Vec<&str> = value.words.iter().map(|(word, _)| word.as_str()).collect();
    let action = if words.is_empty() {
        action(Content::named(&value.placeholder)).to_owned()
    } else {
        format!("({})", escaped(&words.join(" ")))
    };
    let help = escaped(&option.help);
    let described = |spelling: &String| {
        let is_long = spelling.starts_with("--");
        let is_letter = !is_long && spelling.chars().count() == 2;
        // A plus without a backslash behind the dash has another meaning.
        let spelling = spelling.replacen("-+", r"-\+", 1);
        let (mark, colon) = match value.placing {
            Placing::Nowhere => return format!("*{spelling}[{help}]"),
            Placing::Next | Placing::Joined if is_long => ("=", ":"),
            Placing::Next | Placing::Joined if is_letter => ("+", ":"),
            Placing::Next | Placing::Joined => ("", ":"),
            Placing::NextOrAbsent => ("", "::"),
            Placing::OnlyJoined => ("=-", ":"),
            Placing::JoinedOrAbsent => ("=-", "::"),
        };
        format!("*{spelling}{mark}[{help}]{colon}{}:{action}", escaped(&value.placeholder))
    };
    option.spellings.iter().map(described).collect()
}

/// The line about the words that are not options.
fn operand(program: &Program) -> Option<String> {
    match program.operands {
        _ if !program.commands.is_empty() => Some("1: :_plumb_commands".to_owned()),
        Content::Free => None,
        content => Some(format!("*: :{}", action(content))),
    }
}

fn action(content: Content) -> &'static str {
    match content {
        // A blank: nothing is offered, and the placeholder is shown.
        Content::Free => " ",
        Content::File => "_files",
        Content::Directory => "_files -/",
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if [':', '[', ']', '\\', '(', ')'].contains(&letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}
