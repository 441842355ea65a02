# Finding libozarr and its functions, at the first call of each: nothing of it is kept in a precompiled package.

const _library = Ref{Ptr{Cvoid}}(C_NULL)
const _names = Sys.isapple() ? ["libozarr.1.dylib", "libozarr.dylib"] : Sys.iswindows() ? ["ozarr.dll"] : ["libozarr.so.1", "libozarr.so"]

"The handle of the loaded library."
function library()
    _library[] == C_NULL || return _library[]
    candidates = haskey(ENV, "OZARR_LIBRARY") ? [ENV["OZARR_LIBRARY"]] : vcat(_installed(), _names)
    problems = String[]
    for name in candidates
        try
            return _library[] = Libdl.dlopen(name)
        catch e
            push!(problems, e isa ErrorException ? e.msg : sprint(showerror, e))
        end
    end
    error("libozarr cannot be loaded; set OZARR_LIBRARY to the file. Tried:\n  " * join(problems, "\n  "))
end

# The library beside this package, where both were installed together: PREFIX/share/ozarr/julia/OZarr/src and PREFIX/lib.
function _installed()
    prefix = normpath(joinpath(@__DIR__, "..", "..", "..", "..", ".."))
    folders = [joinpath(prefix, "lib"), joinpath(prefix, "lib64"), joinpath(prefix, "lib", "$(Sys.ARCH)-linux-gnu")]
    return filter(isfile, [joinpath(folder, name) for folder in folders for name in _names])
end

"`@c_function name(argument::Type, ...)::Result` defines the call of a C function."
macro c_function(signature)
    call, result = signature.args
    name, arguments = call.args[1], call.args[2:end]
    names = [a.args[1] for a in arguments]
    types = [a.args[2] for a in arguments]
    cell = Symbol("_address_of_", name)
    return esc(quote
        const $cell = Ref{Ptr{Cvoid}}(C_NULL)
        @inline function $name($(names...))
            address = $cell[]
            address == C_NULL && (address = $cell[] = Libdl.dlsym(library(), $(QuoteNode(name))))
            return ccall(address, $result, ($(types...),), $(names...))
        end
    end)
end
