# Prints what bash offers for command lines, one `LINE<tab>WORD` per line: bash offered.bash SCRIPT LINE...
script=$1
shift
# shellcheck source=/dev/null
source "$script"
for line; do
    # As readline splits: at blanks, = is a word.
    read -r -a COMP_WORDS <<<"${line//=/ = }"
    [[ $line != *' ' ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    "$(complete -p "${COMP_WORDS[0]}" | sed 's/.*-F \([^ ]*\).*/\1/')" 2>/dev/null
    for word in "${COMPREPLY[@]}"; do
        printf '%s\t%s\n' "$line" "$word"
    done
done
