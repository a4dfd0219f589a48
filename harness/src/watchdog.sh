# The parent of a service. It obeys orders on its standard input, one word a line, and when that closes, because its owner
# ended in whatever way, it stops the service, removes its folder and goes.
# usage: watchdog.sh FOLDER LAST_SIGNAL PROGRAM [ARGUMENT…]     FOLDER may be empty; standard error is the service's log
folder=$1
last_signal=$2
shift 2

# All of this is one process group, and signals are sent to the group: they are meant for the service, not for this script.
trap : HUP INT QUIT TERM
exec 3<&0 4>&1 </dev/null >&2

(
    trap : HUP INT QUIT TERM
    "$@" 3<&- 4>&-
    echo "$?" >&4
) &
service=$!

while read -r order <&3; do
    case $order in
        leave) exit 0 ;;
        *) kill -s "$order" 0 ;;
    esac
done

kill -s "$last_signal" 0
tenths=0
while kill -0 "$service" 2>/dev/null && [ "$tenths" -lt 100 ]; do
    sleep 0.1
    tenths=$((tenths + 1))
done
[ -z "$folder" ] || rm -rf "$folder"
kill -s KILL 0
