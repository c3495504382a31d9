"""A command with a limit of time. One that hangs is ended with everything that it started, and what it was doing is told: a run that says nothing and never
ends tells nobody what is wrong."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

# How often is looked whether there is anything new, in seconds.
EVERY = 0.5

# So much of what a debugger says of a process that hangs; and so many are asked, from the first on: the one that waits, and whom it may wait for.
MOST_LINES = 400
MOST_ASKED = 4


class Hung(Exception):
    """It came no further for longer than it may. Its words say which processes there were."""


def run(command, limit, sign=lambda: None, **options):
    """Its exit code. `limit`: seconds without a new sign (by default: in all; None: no limit).

    Raises Hung when that is over and everything has been ended."""
    process = subprocess.Popen(command, **options)
    return wait(process, limit, sign)


def wait(process, limit, sign=lambda: None):
    """The same for a process that was begun."""
    seen, since = sign(), time.monotonic()
    while True:
        try:
            return process.wait(EVERY)
        except subprocess.TimeoutExpired:
            pass
        now = sign()
        if now != seen:
            seen, since = now, time.monotonic()
        elif limit is not None and time.monotonic() - since > limit:
            words = "\n".join([f"nothing new for {limit:g} s; its processes:", *tree(process.pid), *stacks(process.pid)])
            end(process)
            raise Hung(words)


def end(process):
    """Kills it and everything below it; what is stopped dies, too."""
    for pid in [*descendants(process.pid), process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def table():
    """Of every process: its parent, its state and its command line."""
    found = {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            # The name in brackets may have anything in it.
            state, parent = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue  # It ended meanwhile.
        found[int(place.name)] = (int(parent), state, words)
    return found


def descendants(root):
    """The processes below one, parents first."""
    processes, found = table(), [root]
    for pid in found:
        found += [child for child, (parent, _, _) in processes.items() if parent == pid]
    return found[1:]


def tree(root):
    """A line for each: number, state and command line."""
    processes = table()
    return [f"  {pid} {processes[pid][1]} {processes[pid][2][:300]}" for pid in [root, *descendants(root)] if pid in processes]


def stacks(root):
    """Where the threads of the first of them stand, by the debugger that is there."""
    return [line for pid in [root, *descendants(root)][:MOST_ASKED] for line in stack(pid)]


def stack(pid):
    if shutil.which("gdb"):
        command = ["gdb", "--batch", "--nx", "-p", str(pid), "-ex", "thread apply all backtrace 30"]
    elif shutil.which("lldb"):
        command = ["lldb", "--batch", "-p", str(pid), "-o", "thread backtrace --count 30 all"]
    else:
        return []
    try:
        said = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [f"of {pid}:", *said.decode(errors="replace").splitlines()[-MOST_LINES:]]
