# Writes the blocks of docs/parallel.md into files of their own: FOLDER/docs_fortran_1.inc and on, docs_c_1.inc, docs_cpp_1.inc.
#   awk -v folder=FOLDER -f docs.awk docs/parallel.md
/^```(c|cpp|fortran)$/ { language = substr($0, 4); file = folder "/docs_" language "_" ++blocks[language] ".inc"; next }
/^```$/ { file = "" }
file != "" { print (language == "fortran" ? "    " : "") $0 > file }
