"""What does not depend on the machine's load: system calls by strace, instructions by valgrind's callgrind."""
import os, re, subprocess, tempfile
from collections import Counter

# Which of its variants the C library takes is pinned where it can be: copies otherwise differ with the processor and its caches.
PINNED = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-ERMS,-FSRM,-AVX512F,-AVX512VL,-AVX512BW:glibc.cpu.x86_non_temporal_threshold=0x40000000"
                          ":glibc.cpu.x86_rep_stosb_threshold=0x40000000:glibc.cpu.x86_rep_movsb_threshold=0x40000000"}


def answers(command, lines, env=None, timeout=600):
    """An adapter's answers to lines, in a process of its own; its standard error comes second."""
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}, start_new_session=True)
    try:
        out, err = p.communicate("\n".join([*lines, "quit"]) + "\n", timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, 9)
        p.communicate()
        raise
    if p.returncode or '"error"' in out:
        said = [x for x in (err + out).splitlines() if x and not x.startswith(("==", '{"wall'))]
        raise RuntimeError((said or [f"status {p.returncode}"])[-1][:200])
    return out, err


def system_calls(command, lines, env=None, timeout=60):
    """{name: number} of the calls in the timed part of the last of the lines: it lies between the last two marks."""
    with tempfile.NamedTemporaryFile("r", prefix="ozarr-strace-") as f:
        answers(["strace", "-f", "-qq", "-s", "0", "-e", "signal=none", "-o", f.name, *command], lines, env, timeout)
        names, marks = [], []
        for line in f:
            m = re.match(r"\d+\s+(\w+)\(", line)
            if m and m[1] == "getppid":
                marks.append(len(names))
            elif m:
                names.append(m[1])
    return Counter(names[marks[-2]:marks[-1]])


def instructions(command, lines, keep=None, env=None, timeout=600):
    """Instructions of the second of three lines of the same work: a process that does two, less one whose second prepares all but does nothing."""
    def total(some, out):
        _, err = answers(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command], some, {**PINNED, **(env or {})}, timeout)
        return int(re.search(r"Collected : (\d+)", err)[1])
    with tempfile.TemporaryDirectory(prefix="ozarr-callgrind-") as folder:
        return total(lines[:2], keep or folder + "/two") - total([lines[2], lines[1] + " skip=1"], folder + "/one")
