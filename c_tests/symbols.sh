#!/bin/sh
# symbols.sh LIBRARY ARCHIVE MAP INCLUDE: the shared library exports exactly the functions of the version script MAP, each with its node, and
# the archive the same ones; the headers in the folder INCLUDE declare exactly these; the unwinder is inside; the SONAME has the number of the
# binary interface; flags are right; no function of glibc is newer than 2.28.
#
# A library that is linked on a machine with glibc 2.33 or newer carries the names of that machine for functions that are as old
# as Unix but have moved since: the stat family (2.33), and those of libpthread, libdl, librt and libm that were merged or
# given new errno rules (2.29 to 2.34); and _dl_find_object (2.35), which the compiler's own unwinder uses where it was built
# on such a machine. They are no use of something new, so they are listed here; everything else is refused, unless it is
# weak (Rust's standard library asks for some functions and does without). Packages for old systems are linked on one.
set -eu
library=$1 archive=$2 map=$3 include=$4 nm=${NM:-nm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$library: $*" >&2; exit 1; }

$nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort > "$work/exports"
awk '/ {$/ { node = $1 } /^    ozarr_/ { sub(";", ""); print $1 "@@" node }' "$map" | sort > "$work/wanted"
diff "$work/wanted" "$work/exports" >&2 || fail "exports differ from $map"
sed 's/@.*//' "$work/wanted" | sort > "$work/names"
$nm -g --defined-only "$archive" 2> "$work/errors" | awk 'NF == 3 { print $3 }' | sort > "$work/global"
diff "$work/names" "$work/global" >&2 || fail "the global symbols of $archive differ from $map"

sed -n -e '/^static inline/d' -e 's/^[A-Za-z].*[ *]\(ozarr_[a-z0-9_]*\)(.*/\1/p' "$include"/*.h | sort > "$work/header"
diff "$work/names" "$work/header" >&2 || fail "the headers in $include and $map differ"

$nm -D --undefined-only "$library" | awk '$1 == "U" { print $NF }' | sort -u > "$work/imports"
! grep '^_Unwind_' "$work/imports" >&2 || fail "it imports an unwinder"

readelf -d "$library" > "$work/dynamic"
abi=$(sed -n 's/^#define OZARR_ABI_VERSION //p' "$include/ozarr.h")
grep -q "SONAME.*\[libozarr.so.$abi\]" "$work/dynamic" || fail "no SONAME libozarr.so.$abi"
grep -q NODELETE "$work/dynamic" || fail "it may be unloaded (no -z nodelete)"
! grep 'NEEDED.*\(libgcc_s\|libstdc++\)' "$work/dynamic" >&2 || fail "it needs a compiler's library"

moved='stat|fstat|lstat|fstatat|mknod|mknodat|stat64|fstat64|lstat64|fstatat64|pow|powf|exp|expf|exp2|exp2f|log|logf|log2|log2f'
moved="$moved|dlsym|dlopen|dlclose|dlerror|dladdr|sem_[a-z]*|pthread_[a-z_]*|__pthread_[a-z_]*|shm_[a-z]*|timer_[a-z]*|_dl_find_object"
awk -v moved="^($moved)\$" '
  { n = split($0, p, "@GLIBC_"); if (n < 2) next; split(p[2], v, "."); name = p[1] }
  v[1] * 1000 + v[2] > 2028 && name !~ moved { print "  " $0; bad = 1 }
  END { exit bad }' "$work/imports" >&2 || fail "it needs functions newer than glibc 2.28"
