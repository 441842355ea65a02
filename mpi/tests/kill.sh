# Runs a program that saves its state, undisturbed on one rank; then on several, killed again and again; and compares the results.
#
#   sh kill.sh RESULT STATES STEPS MPIEXEC PROGRAM FOLDER
set -eu
result=$1 states=$2 steps=$3 mpiexec=$4 program=$5 folder=$6
mkdir "$folder/calm" "$folder/killed"
(cd "$folder/calm" && "$mpiexec" -n 1 "$program" $steps)
cd "$folder/killed"

# Ends a run: mpiexec is asked to, and where it does not within 10 s (that of OpenMPI 4.1 may wait for itself for ever), it and its ranks are killed.
end_run() {
    kill -TERM "$1" 2>/dev/null || return 0
    kills=$((kills + 1))
    for tenth in $(seq 100); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL $(ps -o pid= --ppid "$1") "$1" 2>/dev/null || true
}

kills=0
for try in 1 2 3 4 5 6 7 8; do
    ranks=$((try % 3 + 2))
    "$mpiexec" -n $ranks "$program" $steps >/dev/null 2>&1 &
    run=$!
    sleep "0.$((try * 37 % 60 + 30))"
    end_run $run
    wait $run || true
done
"$mpiexec" -n 3 "$program" $steps
# What a killed rank left of a file that it was writing begins with a dot.
diff -r -x '.*' "../calm/$result" "$result" || { echo "the result differs from that of an undisturbed run"; exit 1; }
echo "the same result after $kills kills; states: $(ls "$states" | grep -c step-)"
