//! The completion for bash. Two tables, of programs and of values, are searched by one function.

use super::programs::{Content, Program};
use measure::text::shell_quoted;
use plan::{Placing, WrittenOption};
use std::collections::BTreeMap;
use std::fmt::Write;

const TAIL: &str = r#"
_plumb() {
    local options= commands= operands= content= values= program=plumb i key
    local word=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    [[ ${COMP_WORDS[0]##*/} == plumb ]] || program="plumb ${COMP_WORDS[0]##*/}"
    _plumb_program "$program"
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
            program+=" ${COMP_WORDS[i]}"
            _plumb_program "$program"
        fi
    done
    # An option whose value this is: bash takes = for a word.
    key=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $word == = ]]; then
        key+='=' word=
    elif [[ $key == = && COMP_CWORD -ge 2 ]]; then
        key="${COMP_WORDS[COMP_CWORD - 2]}="
    fi
    if [[ $key == *= || $word != [-+]* ]]; then
        _plumb_value "$program" "$key"
    fi
    if [[ -z $content && $word == [-+]* ]]; then
        content=words values=$options
    elif [[ -z $content && -n $commands ]]; then
        content=words values=$commands
    fi
    case ${content:-$operands} in
    words) mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word") ;;
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    directory) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    esac
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F _plumb plumb
"#;

/// The script, to be sourced.
pub(super) fn script(programs: &[Program]) -> String {
    let mut text = concat!("# Completion of plumb ", env!("CARGO_PKG_VERSION"), " for bash 4.2 or newer.\n").to_owned();
    text.push_str("# For this shell alone: source <(plumb --generate bash)\n\n_plumb_program() {\n    case $1 in\n");
    for program in programs {
        let options: Vec<String> = program.options.iter().flat_map(offered).collect();
        let commands: Vec<&str> = program.commands.iter().map(|(name, _)| name.as_str()).collect();
        let _ = write!(
            text,
            "    {})\n        options={}\n        commands={}\n        operands={} ;;\n",
            shell_quoted(&program.words),
            shell_quoted(&options.join(" ")),
            shell_quoted(&commands.join(" ")),
            word_of(program.operands)
        );
    }
    text.push_str("    esac\n}\n\n_plumb_value() {\n    case \"$1 $2\" in\n");
    for program in programs {
        for (result, keys) in values(program) {
            let _ = writeln!(text, "    {})\n        {result} ;;", keys.join(" | "));
        }
    }
    text.push_str("    esac\n}\n");
    text.push_str(TAIL);
    let links: Vec<&str> = programs.iter().filter_map(Program::link).collect();
    let _ = write!(
        text,
        "# Links to plumb are completed as plumb does; the programs that they are named after are left alone.\n\
         for _plumb_link in {}; do\n    \
         if [[ $(readlink -f -- \"$(type -P \"$_plumb_link\")\") == */plumb ]]; then\n        \
         complete -F _plumb \"$_plumb_link\"\n    fi\ndone\nunset _plumb_link\n",
        links.join(" ")
    );
    text
}

/// An option as it is offered; a value behind `=` follows at once.
fn offered(option: &WrittenOption) -> impl Iterator<Item = String> {
    let joined = matches!(option.value.placing, Placing::Joined | Placing::OnlyJoined);
    // `-o` may have its value in the next word only.
    option.spellings.iter().map(move |spelling| {
        let end = if joined && spelling.starts_with("--") { "=" } else { "" };
        format!("{spelling}{end}")
    })
}

/// The values of a program: what is assigned, for these options.
fn values(program: &Program) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for option in &program.options {
        let ends: &[&str] = match option.value.placing {
            Placing::Nowhere => continue,
            Placing::Next | Placing::Joined => &["", "="],
            Placing::NextOrAbsent => &[""],
            Placing::OnlyJoined | Placing::JoinedOrAbsent => &["="],
        };
        let words: Vec<&str> = option.value.words.iter().map(|(word, _)| word.as_str()).collect();
        let result = if words.is_empty() {
            format!("content={}", word_of(Content::named(&option.value.placeholder)))
        } else {
            format!("content=words values={}", shell_quoted(&words.join(" ")))
        };
        let spelled = option.spellings.iter();
        let keys = spelled.flat_map(|spelling| ends.iter().map(move |end| format!("{spelling}{end}")));
        let keys = keys.map(|key| shell_quoted(&format!("{} {key}", program.words)));
        found.entry(result).or_default().extend(keys);
    }
    found
}

fn word_of(content: Content) -> &'static str {
    match content {
        Content::Free => "free",
        Content::File => "file",
        Content::Directory => "directory",
    }
}
