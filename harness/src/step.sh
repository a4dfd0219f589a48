# Runs a program in the foreground, and kills it with all its children if the owner of our standard input ends first.
# usage: step.sh PROGRAM [ARGUMENT…]
exec 3<&0 </dev/null
(
    while read -r _ <&3; do :; done
    kill -s KILL 0
) &
guard=$!
"$@" 3<&-
code=$?
kill -s KILL "$guard"
exit "$code"
