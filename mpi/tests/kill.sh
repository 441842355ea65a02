# Runs a program that saves its state, undisturbed on one rank; then on several, killed again and again; and compares the results.
#
#   sh kill.sh MPIEXEC PROGRAM FOLDER
set -eu
mpiexec=$1 program=$2 folder=$3 steps=400
mkdir "$folder/calm" "$folder/killed"
(cd "$folder/calm" && "$mpiexec" -n 1 "$program" $steps)
cd "$folder/killed"
kills=0
for try in 1 2 3 4 5 6 7 8; do
    ranks=$((try % 3 + 2))
    "$mpiexec" -n $ranks "$program" $steps >/dev/null 2>&1 &
    run=$!
    sleep "0.$((try * 37 % 60 + 30))"
    if kill -TERM $run 2>/dev/null; then kills=$((kills + 1)); fi
    wait $run || true
done
"$mpiexec" -n 3 "$program" $steps
diff -r ../calm/heat.zarr heat.zarr || { echo "the result differs from that of an undisturbed run"; exit 1; }
echo "the same result after $kills kills; states: $(ls heat-states.zarr | grep -c step-)"
