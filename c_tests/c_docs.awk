# Writes the C blocks of pages into files of their own: FOLDER/timesteps_1.inc and on.
#   awk -v folder=FOLDER -f c_docs.awk docs/timesteps.md ...
FNR == 1 { page = FILENAME; sub(/.*\//, "", page); sub(/\.md$/, "", page); blocks = 0 }
/^```c$/ { file = folder "/" page "_" ++blocks ".inc"; next }
/^```$/ { file = "" }
file != "" { print > file }
