# Prints what zsh offers for command lines, one `LINE<tab>WORD` per line: zsh -f offered.zsh SCRIPT LINE...
# A shell on a pseudo-terminal completes one line after the other; its compadd also writes the words down.
zmodload zsh/zpty
zmodload zsh/zselect
script=$1 place=$(mktemp -d)
shift
cat >$place/setup <<END
PROMPT= RPROMPT=
unsetopt auto_list auto_menu beep
autoload -Uz compinit
compinit -u -D
source ${(q)script}
compadd() {
    if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then
        builtin compadd "\$@"
        return
    fi
    local -a hits
    builtin compadd -A hits "\$@"
    print -rl -- \$hits >>$place/words
    builtin compadd "\$@"
}
ended() {
    print END >>$place/words
    comppostfuncs=(ended)
}
comppostfuncs=(ended)
zle-line-init() { : >$place/ready }
zle -N zle-line-init
END
zpty shell zsh -f -i
zpty -w shell "source $place/setup"
# Waits until a file is there, and takes what the shell prints: it would wait for a reader. After 20 s something is wrong.
await() {
    local -i waited
    until eval "$1"; do
        while zpty -r -t shell seen; do :; done
        zselect -t 2
        (( waited++ < 1000 )) || { print -u 2 "zsh does not answer: $2"; exit 1 }
    done
}
await "[[ -e $place/ready ]]" setup
for line; do
    : >$place/words
    zpty -w -n shell "$line"$'\t'
    await "[[ \$(tail -n 1 $place/words) == END ]]" $line
    # Clears the line.
    zpty -w -n shell $'\C-e\C-u'
    while read -r word; do
        [[ -z $word || $word == END ]] || print -r -- "$line	$word"
    done <$place/words
done
zpty -d shell
rm -r $place
