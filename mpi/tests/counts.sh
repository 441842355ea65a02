# Counts the system calls that name a metadata document: of several ranks one makes all of them, no more than a run on one rank does.
#
#   sh counts.sh MPIEXEC PROGRAM FOLDER
set -eu
mpiexec=$1 program=$2 folder=$3
command -v strace >/dev/null || { echo "no strace here (Debian: strace)"; exit 1; }
for ranks in 1 4; do
    mkdir "$folder/$ranks" "$folder/$ranks/calls"
    (cd "$folder/$ranks" && "$mpiexec" -n $ranks strace -qq -ff -e trace=%file -o calls/of "$program" .)
    threads=$(cd "$folder/$ranks/calls" && grep -l 'zarr\.json' of.* | wc -l)
    # A document is opened to be read, or renamed to (once, or twice where the first way is not there).
    opened=$(cat "$folder/$ranks/calls"/of.* | grep -c 'open.*zarr\.json') || true
    echo "$ranks ranks: $threads threads name a document, $opened calls open it"
    [ "$threads" -eq 1 ] || { echo "expected 1 thread"; exit 1; }
    [ "$opened" -gt 0 ] && [ "$opened" -le "${first:=$opened}" ] || { echo "expected at most $first calls"; exit 1; }
done
