# Writes the Fortran blocks of docs/parallel.md into files of their own, FOLDER/docs_1.inc and on.
#   awk -v folder=FOLDER -f docs.awk docs/parallel.md
/^```fortran$/ { file = folder "/docs_" ++blocks ".inc"; next }
/^```$/ { file = "" }
file != "" { print "    " $0 > file }
