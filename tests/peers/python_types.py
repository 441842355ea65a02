"""The types that the Python package tells (ozarr/__init__.pyi) are those of its functions: names, order, kinds and defaults of parameters, and which
classes, methods and properties there are."""
import ast
import inspect
from pathlib import Path

import ozarr

faults = []


def parameters(function):
    """The parameters of a function of the stub as `inspect` has them: name, kind, whether there is a default."""
    a, kinds = function.args, inspect.Parameter
    positional = [*a.posonlyargs, *a.args]
    defaults = len(positional) - len(a.defaults)
    out = [(p.arg, kinds.POSITIONAL_ONLY if i < len(a.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD, i >= defaults) for i, p in enumerate(positional)]
    out += [(a.vararg.arg, kinds.VAR_POSITIONAL, False)] if a.vararg else []
    out += [(p.arg, kinds.KEYWORD_ONLY, default is not None) for p, default in zip(a.kwonlyargs, a.kw_defaults)]
    return out + ([(a.kwarg.arg, kinds.VAR_KEYWORD, False)] if a.kwarg else [])


def decorators(function):
    return {ast.unparse(one) for one in function.decorator_list}


def compare(place, told, found):
    """A function of the stub with the one that is there."""
    if "property" in decorators(told):
        if not isinstance(found, property):
            faults.append(f"{place} is told to be a property")
        return
    found = found.__func__ if isinstance(found, classmethod) else found
    is_there = [(p.name, p.kind, p.default is not p.empty) for p in inspect.signature(found).parameters.values()]
    names = parameters(told)
    # An overload may leave out what has a default, and demand it.
    same = [p[:2] for p in names] == [p[:2] for p in is_there][:len(names)] if "overload" in decorators(told) else names == is_there
    if not same:
        faults.append(f"{place}: the stub tells {names}, there is {is_there}")
    arguments = [*told.args.posonlyargs, *told.args.args, *told.args.kwonlyargs]
    if told.returns is None or any(p.annotation is None for p in arguments if p.arg not in ("self", "cls")):
        faults.append(f"{place} has parameters or a result without a type")


def members(told, classes):
    """The functions of a class of the stub, with those that it inherits in the stub."""
    out = {}
    for base in told.bases:
        name = ast.unparse(base).split("[")[0]
        out |= members(classes[name], classes) if name in classes else {}
    return out | {one.name: one for one in told.body if isinstance(one, ast.FunctionDef)}


stub = ast.parse(Path(ozarr.__file__).with_name("__init__.pyi").read_text())
assert Path(ozarr.__file__).with_name("py.typed").exists(), "the package does not say that it has types"
classes = {one.name: one for one in stub.body if isinstance(one, ast.ClassDef)}
functions = {one.name: one for one in stub.body if isinstance(one, ast.FunctionDef)}
exported = next(ast.literal_eval(one.value) for one in stub.body if isinstance(one, ast.Assign) and one.targets[0].id == "__all__")
assert sorted(exported) == sorted(ozarr.__all__), set(exported) ^ set(ozarr.__all__)
for name in ozarr.__all__:
    found = getattr(ozarr, name)
    if not inspect.isclass(found):
        compare(name, functions[name], found)
        continue
    told = members(classes[name], classes)
    for method, function in told.items():
        compare(f"{name}.{method}", function, inspect.getattr_static(found, method))
    own = {method for one in found.__mro__ if one.__module__.startswith("ozarr") for method in vars(one) if not method.startswith("_")}
    faults += [f"{name}.{method} has no type in the stub" for method in sorted(own - set(told)) if callable(inspect.getattr_static(found, method, None)) or isinstance(inspect.getattr_static(found, method), property)]

from ozarr._spec import SETTERS  # noqa: E402

choices = {one.target.id for one in classes["_Choices"].body if isinstance(one, ast.AnnAssign)}
assert choices == set(SETTERS), choices ^ set(SETTERS)
assert not faults, "\n".join(faults)
print(f"python types: {len(ozarr.__all__)} names as the stub tells them")
