"""What a program of netCDF does in a file beside another one, and what it is told: programs for netcdf_format.py, with the lines that each prints in both formats of Zarr."""

PROLOGUE = """
import json, netCDF4, numpy as np, os, pathlib, sys
path = sys.argv[1]
with netCDF4.Dataset(path, "w") as d:
    for name, length in ("t", None), ("x", 5), ("y", 7), ("z", 100):
        d.createDimension(name, length)
    for name, first in ("v", 0), ("other", 100), ("twin", 200):
        d.createVariable(name, "i4", ("t",))[:] = range(first, first + 10)
    d.createVariable("table", "i4", ("x", "y"))[:] = np.arange(35).reshape(5, 7)
    d.createVariable("hundred", "i4", ("z",))[:] = range(100)
    for name in "g", "h":
        d.createGroup(name).createVariable("w", "i2", ("t",)).setncattr("n", np.int16(3))

def elsewhere(*changes):
    child = os.fork()
    if child == 0:
        with netCDF4.Dataset(path, "a") as b:
            for change in changes:
                change(b)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def rename(old, new):
    return lambda b: b.renameVariable(old, new)

def tell(*calls):
    told = []
    for call in calls:
        try:
            call()
            told.append("well")
        except Exception as error:
            told.append(str(error).removeprefix("NetCDF: "))
    print(*told, sep=", ")

# Of calls that are an error in one of the formats.
def attempt(*calls):
    for call in calls:
        try:
            call()
        except Exception:
            pass

# The shape in an array's own document.
def stored(name):
    documents = [f"{path}/{name}/zarr.json", f"{path}/{name}/.zarray"]
    return json.load(open(next(filter(os.path.exists, documents))))["shape"]

def show(*names):
    with netCDF4.Dataset(path) as d:
        for name in names:
            print(name, *d[name].dimensions, *d[name].shape, np.ma.sum(d[name][:]))

a = netCDF4.Dataset(path, "a")
"""

# By name: the program's lines, and those that it prints.
PROGRAMS = {
    "an array of another rank has a variable's name": (
        """
elsewhere(rename("v", "moved"), rename("table", "v"))
a["other"][10] = 1
tell(a.sync, lambda: a["v"].__setitem__(0, 1), a.sync, a.close)
show("moved", "v", "other")
""",
        "well, Variable not found, well, well\nmoved t 11 45\nv x y 5 7 595\nother t 11 1046",
    ),
    "an array of another dimension has a variable's name": (
        """
elsewhere(rename("v", "moved"), rename("hundred", "v"))
a["other"][10] = 1
tell(a.sync, a.close)
show("moved", "v", "other")
""",
        "well, well\nmoved t 11 45\nv z 100 4950\nother t 11 1046",
    ),
    "an array of the same kind has a variable's name": (
        """
elsewhere(rename("v", "moved"), rename("twin", "v"))
tell(lambda: a["v"].__setitem__(0, 1), a.sync, lambda: a["v"].__setitem__(0, 1), a.close)
show("moved", "v")
""",
        "well, Variable not found, Variable not found, well\nmoved t 10 45\nv t 10 2045",
    ),
    "a variable of another program has another name, and this one's gets its": (
        """
b = netCDF4.Dataset(path, "a")
b.createVariable("new", "i4", ("t",))
b.sync()
a["v"][10] = 1
a.sync()
b.renameVariable("new", "newer"), b.close()
a.renameVariable("hundred", "new")
a["v"][11] = 1
tell(a.sync, a.close)
show("v", "new", "newer")
""",
        "well, well\nv t 12 47\nnew z 100 4950\nnewer t 12 --",
    ),
    "a variable has its old name again": (
        """
a["v"][0], a["hundred"][0] = 1, 1
elsewhere(rename("v", "moved"), rename("hundred", "away"))
tell(a.sync, lambda: a["hundred"].__setitem__(0, 1))
elsewhere(rename("moved", "v"), rename("away", "hundred"))
tell(lambda: a["v"].__setitem__(0, 5), lambda: a["hundred"].__setitem__(0, 5), a.sync, a.close)
show("v", "hundred")
""",
        "Variable not found, Variable not found\nwell, well, well, well\nv t 10 50\nhundred z 100 4955",
    ),
    "a variable is renamed by two programs": (
        """
a["hundred"].setncattr("n", np.int16(5))
a.sync()
elsewhere(rename("hundred", "away"))
tell(lambda: a.renameVariable("hundred", "mine"))
a["v"].setncattr("n", np.int16(5)), a["hundred"].setncattr("m", np.int16(5))
tell(a.sync, a.sync)
elsewhere(rename("away", "hundred"))
tell(a.close)
with netCDF4.Dataset(path) as d:
    print(*sorted(d.variables), *(d["hundred"].getncattr(name).dtype for name in d["hundred"].ncattrs()))
""",
        "Variable not found\nVariable not found, well\nwell\nhundred other table twin v int16",
    ),
    "a dimension has another name": (
        """
elsewhere(lambda b: b.renameDimension("t", "time"))
a["v"][10] = 1
tell(a.sync, lambda: a["v"].__setitem__(10, 2), a.close)
show("v", "other", "hundred")
""",
        "well, well, well\nv time 11 47\nother time 11 1045\nhundred z 100 4950",
    ),
    "another group has a group's name": (
        """
with netCDF4.Dataset(path, "a") as b:
    b["h/w"][:] = np.full(10, 2)
elsewhere(lambda b: b.renameGroup("g", "k"))
elsewhere(lambda b: b.renameGroup("h", "g"))
a["g/w"][0] = 9
tell(a.sync)
a["g"].setncattr("n", np.int16(5))
tell(a.sync, lambda: a.renameGroup("g", "q"))
with netCDF4.Dataset(path) as d:
    print(*sorted(d.groups), *d["g"].ncattrs(), np.ma.sum(d["g/w"][:]), d["g/w"].n.dtype)
""",
        "Variable not found\nNo group found., No group found.\ng k 20 int16",
    ),
    "a fill value is set where another program has written": (
        """
for name in "late", "empty":
    a.createVariable(name, "i4", ("t",)).setncattr("mine", np.int16(1))
a["v"][:] = range(10)
a.sync()
def fill(b):
    b["late"].setncattr("n", np.int16(5)), b["empty"].setncattr("n", np.int16(5))
    b["late"][:12] = np.full(12, 7)
elsewhere(fill)
for name in "late", "empty":
    a[name].setncattr("f", np.int32(-1)), a[name].renameAttribute("f", "_FillValue")
tell(a.sync, a.close)
show("late", "empty", "v")
with netCDF4.Dataset(path) as d:
    for name in "late", "empty":
        print(*(f"{key} {d[name].getncattr(key).dtype} {d[name].getncattr(key)}" for key in sorted(d[name].ncattrs())))
""",
        "well, well\nlate t 12 84\nempty t 12 --\nv t 12 45\n_FillValue int32 -1 mine int16 1 n int16 5\n_FillValue int32 -1 mine int16 1 n int16 5",
    ),
    "another program has written since an array could not be made anew": (
        """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
most = resource.getrlimit(resource.RLIMIT_FSIZE)
a.createVariable("late", "i4", ("t",))
a.sync()
a["late"].setncattr("f", np.int32(-1)), a["late"].renameAttribute("f", "_FillValue"), a["late"].setncattr("long", "x" * 20000)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, most[1]))
try:
    a.sync()
    print("synced")
except Exception:
    print("no room")
resource.setrlimit(resource.RLIMIT_FSIZE, most)
def fill(b):
    b["late"].setncattr("n", np.int16(5))
    b["late"][:12] = np.full(12, 7)
elsewhere(fill)
tell(a.sync, a.close)
show("late")
with netCDF4.Dataset(path) as d:
    print(*sorted(d["late"].ncattrs()))
""",
        "no room\nwell, well\nlate t 12 84\n_FillValue long n",
    ),
    "a variable is defined by two programs": (
        """
def define(b):
    kind = b.createEnumType("i1", "kind", {"zero": 0, "one": 1})
    b.createVariable("new", kind, ("x",)).setncattr("n", np.int16(5))
    b["new"][:] = np.ones(5, "i1")
elsewhere(define)
tell(lambda: a.createVariable("new", "f8", ("x",)).setncattr("n", "text"), a.sync, a.sync, a.close)
with netCDF4.Dataset(path) as d:
    print(d["new"].datatype.name, d["new"].n.dtype, d["new"][:].sum())
""",
        "well, String match to name in use, String match to name in use, String match to name in use\nkind int16 5",
    ),
    "an attribute that another program sets is deleted": (
        """
a["v"].setncattr("q", np.int16(5)), a["v"].delncattr("q"), a["v"].setncattr("r", np.int16(6))
a.setncattr("q", np.int16(5)), a.delncattr("q"), a.setncattr("r", np.int16(6))
def set(b):
    for node in b, b["v"]:
        node.setncattr("p", np.int16(3)), node.setncattr("q", np.int16(4))
elsewhere(set)
tell(a.sync, a.close)
with netCDF4.Dataset(path) as d:
    print(*sorted(d["v"].ncattrs()), *sorted(d.ncattrs()))
""",
        "well, well\np r p r",
    ),
    "a reader follows": (
        """
r = netCDF4.Dataset(path)
r["other"][:]
elsewhere(rename("v", "moved"), rename("other", "away"))
elsewhere(rename("table", "v"), rename("hundred", "other"))
tell(r.sync, lambda: r["v"][:], lambda: r["other"][:])
print(len(r.dimensions["t"]))
elsewhere(rename("v", "table"), rename("other", "hundred"))
elsewhere(rename("moved", "v"), rename("away", "other"))
tell(r.sync)
print(r["v"][:].sum(), r["other"][:].sum())
""",
        "well, Variable not found, Variable not found\n10\nwell\n45 1045",
    ),
    "the attributes of an array are spoilt": (
        """
elsewhere(lambda b: b.createVariable("new", "i4", ("t",)).__setitem__(slice(0, 10), 1))
for step, name in enumerate(("new", "v"), 10):
    attributes = f"{path}/{name}/.zattrs"
    was = os.path.exists(attributes) and open(attributes).read()
    open(attributes, "w").write('{"a": ')
    a["other"][step] = 1
    attempt(a.sync)
    print(*stored("other"))
    open(attributes, "w").write(was or "{}")
tell(a.close)
pathlib.Path(path, ".zmetadata").unlink(missing_ok=True)
r = netCDF4.Dataset(path)
open(attributes, "w").write('{"a": ')
tell(r.sync, lambda: r["v"][:])
open(attributes, "w").write(was or "{}")
show("v", "other", "new")
""",
        "11\n12\nwell\nwell, well\nv t 12 45\nother t 12 1047\nnew t 12 10",
    ),
    "there is no room for consolidated metadata": (
        """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
most = resource.getrlimit(resource.RLIMIT_FSIZE)
path = "new_" + path
n = netCDF4.Dataset(path, "w")
n.createDimension("t", None)
for name in "bcd":
    n.createVariable(name, "i4", ("t",)).setncattr("long", "x" * 4000)
n.sync()
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, most[1]))
n["b"][:2] = [3, 4]
attempt(n.sync)
resource.setrlimit(resource.RLIMIT_FSIZE, most)
print(*stored("b"), *stored("c"))
tell(n.close)
show("b", "c")
""",
        "2 2\nwell\nb t 2 7\nc t 2 --",
    ),
    "what cannot be understood is in a variable's place": (
        """
import shutil
a["hundred"][0], a["v"][10] = 5, 1
document = next(name for name in ("zarr.json", ".zarray") if os.path.exists(f"{path}/hundred/{name}"))
shutil.rmtree(f"{path}/hundred"), os.mkdir(f"{path}/hundred")
open(f"{path}/hundred/{document}", "w").write('{"zarr_format": 9}')
attempt(a.sync, a.close)
show("v", "other")
""",
        "v t 11 46\nother t 11 1045",
    ),
}
