# Makes a program of the Fortran blocks of docs/fortran.md: complete units (module, program) first, each in a file of its own, then one
# program of all fragments in their order, each in a BLOCK construct. The first fragment has the declarations that the others share.
#   awk -v folder=FOLDER -f f_docs.awk docs/fortran.md
/^```fortran$/ { inside = 1; first = 1; unit = 0; next }
/^```$/ && inside {
    inside = 0
    if (!unit && fragments > 1) print "  end block" > program
    if (!unit && fragments == 1) print "" > program
    next
}
inside && first {
    first = 0
    program = folder "/docs_program.f90"
    unit = $1 == "module" || $1 == "program"
    if (unit) file = folder "/docs_" $1 "_" $2 ".f90"
    else {
        fragments++
        file = program
        if (fragments == 1) print "program docs_program" > program
        else print "  block" > program
    }
}
inside { sub(/ +\.\.\.$/, " continue"); print (unit ? $0 : "    " $0) > file }
END { print "end program docs_program" > (folder "/docs_program.f90") }
