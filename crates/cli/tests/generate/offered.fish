# Prints what fish offers for command lines, one `LINE<tab>WORD` per line: fish --no-config offered.fish SCRIPT LINE...
source $argv[1]
for line in $argv[2..-1]
    for offer in (complete -C $line)
        printf '%s\t%s\n' $line (string split \t -- $offer)[1]
    end
end
