//! Completions: a script for each shell asks the program for the words that it offers.

use super::programs::{Content, Program};
use plan::{Placing, WrittenOption};
use std::path::Path;

/// The script for bash 4.2 or newer, to be sourced. The value of an option is a separate word there, after one that is
/// `=`.
const BASH: &str = r#"
_plumb() {
    local kind word help program
    program=$(readlink -f -- "$(type -P -- "${COMP_WORDS[0]}")") || return
    COMPREPLY=()
    {
        read -r kind
        while IFS=$'\t' read -r word help; do COMPREPLY+=("$word"); done
    } < <("$program" --complete "${COMP_WORDS[@]:0:COMP_CWORD + 1}")
    word=${COMP_WORDS[COMP_CWORD]#=}
    case $kind in
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    directory) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    esac
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F _plumb plumb
# Links to plumb are completed as plumb does; the programs that they are named after are left alone.
for _plumb_link in LINKS; do
    if [[ $(readlink -f -- "$(type -P "$_plumb_link")") == */plumb ]]; then
        complete -F _plumb "$_plumb_link"
    fi
done
unset _plumb_link
"#;

/// The same for zsh, which also finds it by its name (compinit).
const ZSH: &str = r#"
_plumb() {
    local program=${${commands[$words[1]]:-$words[1]}:A} line
    local -a lines names shown joined
    lines=("${(@f)$("$program" --complete "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    [[ $words[CURRENT] == -*=* ]] && compset -P '*='
    case $lines[1] in
    file) _files; return ;;
    directory) _files -/; return ;;
    esac
    for line in "${(@)lines[2,-1]}"; do
        [[ -n $line ]] || continue
        if [[ $line == *=$'\t'* ]]; then
            joined+=("${line%%$'\t'*}")
        else
            names+=("${line%%$'\t'*}")
            shown+=("${line/$'\t'/  -- }")
        fi
    done
    compadd -S '' -- "${(@)joined}"
    compadd -l -d shown -- "${(@)names}"
}

if [[ $funcstack[1] == _plumb ]]; then
    _plumb "$@"
else
    compdef _plumb plumb
fi
# Links to plumb are completed as plumb does; the programs that they are named after are left alone.
() {
    local link
    for link in LINKS; do
        if [[ ${${commands[$link]:-.}:A} == */plumb ]]; then
            compdef _plumb $link
        fi
    done
}
"#;

/// The same for fish 3 or newer.
const FISH: &str = r#"
function __plumb_offers
    set -l words (commandline -opc) (commandline -ct)
    set -l program (realpath (command -v $words[1]))
    set -l lines ($program --complete $words)
    set -l value (string replace -r '^-[^=]*=' '' -- $words[-1])
    set -l option (string replace -r '^(-[^=]*=|).*' '$1' -- $words[-1])
    for path in $value*
        test -d $path; and set path $path/
        if test "$lines[1]" = file; or test "$lines[1]" = directory -a -d $path
            echo $option$path
        end
    end
    for line in $lines[2..-1]
        echo $option$line
    end
end

complete -c plumb -f -a '(__plumb_offers)'
# Links to plumb are completed as plumb does; the programs that they are named after are left alone.
for link in LINKS
    set -l path (command -v $link); and string match -q '*/plumb' (realpath $path)
    and complete -c $link -f -a '(__plumb_offers)'
end
"#;

/// The script for a shell.
pub(super) fn script(shell: &str, programs: &[Program]) -> String {
    let (head, source, text) = match shell {
        "bash" => ("", "source <(plumb --generate bash)", BASH),
        "zsh" => ("#compdef plumb\n", "source <(plumb --generate zsh)", ZSH),
        _ => ("", "plumb --generate fish | source", FISH),
    };
    let links = programs.iter().filter_map(Program::link).collect::<Vec<_>>().join(" ");
    let version = env!("CARGO_PKG_VERSION");
    let head = format!("{head}# Completion of plumb {version} for {shell}.\n# For this shell alone: {source}\n");
    head + &text.replace("LINKS", &links)
}

/// The lines that a script offers in place of the last of these words, the program first: the kind of content, then
/// each word that begins like it, with a tab before its help. Behind `=`, words are values without their option.
pub(super) fn offers(programs: &[Program], line: &[String]) -> String {
    // bash takes = for a word.
    let mut words: Vec<String> = Vec::new();
    for word in line {
        match words.last_mut().filter(|last| word == "=" || (last.ends_with('=') && last.starts_with('-'))) {
            Some(last) => last.push_str(word),
            None => words.push(word.clone()),
        }
    }
    let Some(((typed, before), (called, _))) = words.split_last().zip(words.split_first()) else {
        return String::new();
    };
    let called = Path::new(called).file_name().unwrap_or_default().to_string_lossy();
    let find = |words: &str| programs.iter().find(|program| program.words == words);
    let Some(mut program) = find(&format!("plumb {called}")).or(programs.first()) else { return String::new() };
    for word in before.iter().skip(1) {
        program = find(&format!("{} {word}", program.words)).unwrap_or(program);
    }
    let with_value = |spelling: &str, placings: &[Placing]| {
        let takes = |option: &&WrittenOption| placings.contains(&option.value.placing);
        let is_it = |option: &&WrittenOption| option.spellings.iter().any(|known| known == spelling);
        program.options.iter().filter(takes).find(is_it)
    };
    let is_option = typed.starts_with(['-', '+']);
    let joined = typed.split_once('=').filter(|_| is_option).and_then(|(spelling, value)| {
        const JOINED: &[Placing] = &[Placing::Next, Placing::Joined, Placing::OnlyJoined, Placing::JoinedOrAbsent];
        Some((with_value(spelling, JOINED)?, value))
    });
    let next = before.last().filter(|_| !is_option).and_then(|spelling| {
        Some((with_value(spelling, &[Placing::Next, Placing::Joined, Placing::NextOrAbsent])?, typed.as_str()))
    });
    let (content, offered, typed) = match joined.or(next) {
        Some((option, value)) => (Content::named(&option.value.placeholder), option.value.words.clone(), value),
        None if is_option => (Content::Free, program.options.iter().flat_map(spelled).collect(), typed.as_str()),
        None => (program.operands, program.commands.clone(), typed.as_str()),
    };
    let content = match content {
        _ if !offered.is_empty() => "words",
        Content::Free => "words",
        Content::File => "file",
        Content::Directory => "directory",
    };
    let words = offered.iter().filter(|(word, _)| word.starts_with(typed));
    words.fold(format!("{content}\n"), |text, (word, help)| {
        text + word + "\t" + help.lines().next().unwrap_or_default() + "\n"
    })
}

/// An option as it is offered, with its help; a value behind `=` follows at once.
fn spelled(option: &WrittenOption) -> impl Iterator<Item = (String, String)> {
    let is_joined = matches!(option.value.placing, Placing::Joined | Placing::OnlyJoined);
    // `-o` may have its value in the next word only.
    option.spellings.iter().map(move |spelling| {
        let end = if is_joined && spelling.starts_with("--") { "=" } else { "" };
        (format!("{spelling}{end}"), option.help.clone())
    })
}
