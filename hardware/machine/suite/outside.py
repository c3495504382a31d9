"""`vm` as its caller sees it: variables, folders and readers. Runs outside of the VM.

usage: outside.py VM [OPTION...]      OPTION: for each VM
"""
import os
import subprocess
import sys
import tempfile

VM, OPTIONS = sys.argv[1], sys.argv[2:]


class Failure(Exception):
    pass


def expect(holds, words):
    if not holds:
        raise Failure(words)


def vm(*command, shell=None, **variables):
    """A VM without adapters; `shell` reads its output in a pipe."""
    words = [VM, "--quiet", *OPTIONS, "--adapters", "0", "--no-bluetoothd", "--timeout", "100", "--", *command]
    script = '"$@"' + (f' | {shell}; echo "codes ${{PIPESTATUS[*]}}"' if shell else "")
    return subprocess.run(["bash", "-c", script, "bash", *words], env=os.environ | variables, capture_output=True, text=True, timeout=200)


def the_variables_of_the_caller_arrive():
    # The first names have a meaning for bash; the next four cannot be set in it.
    names = "POSIXLY_CORRECT BASH_ENV UID EUID PPID BASHOPTS ADAPTERS AIR BLUETOOTHD COMMAND FOLDER HOST_PATH IFS LIMIT LOGS OTHER_FILES RW SUSPEND SYSTEMD USER_MODE box err log out process shared work words".split()
    given = {name: f"mine {number}" for number, name in enumerate(names)}
    answer = vm("sh", "-c", "env; exit 7", **given)
    lines = answer.stdout.splitlines()
    expect(answer.returncode == 7, f"exit code {answer.returncode}: {answer.stderr}")
    # bash sets these itself.
    absent = [name for name, value in given.items() if f"{name}={value}" not in lines and name not in ("IFS", "UID", "EUID", "PPID", "BASHOPTS")]
    expect(not absent, f"came out changed or not at all: {absent}\n{answer.stdout}")


def a_folder_for_files_in_passing_may_have_any_name():
    with tempfile.TemporaryDirectory() as folder:
        odd = f"{folder}/a, b 'c'"
        os.mkdir(odd)
        answer = vm("sh", "-c", "echo here; exit 5", TMPDIR=odd)
        expect((answer.returncode, answer.stdout) == (5, "here\n"), f"{answer}")
        expect(os.listdir(odd) == [], f"left behind: {os.listdir(odd)}")


def a_folder_may_be_named_from_here():
    with tempfile.TemporaryDirectory(dir=".") as folder:
        answer = vm("echo", "here", TMPDIR=os.path.basename(folder))
        expect((answer.returncode, answer.stdout) == (0, "here\n"), f"{answer}")


def what_cannot_be_written_is_told():
    for target, code in ((">/dev/full", 125), ("2>/dev/full", 125), ("2>&-", 7), (">&-", 7)):
        words = [VM, "--quiet", *OPTIONS, "--adapters", "0", "--no-bluetoothd", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]
        answer = subprocess.run(["bash", "-c", f'"$@" {target}', "bash", *words], capture_output=True, text=True, timeout=100)
        expect(answer.returncode == code, f"{target}: {answer}")
        expect("could not be handed on" in answer.stderr or target != ">/dev/full", f"{target}: {answer}")


def nothing_outlives_a_machine_that_is_killed():
    with tempfile.TemporaryDirectory() as folder:
        words = [VM, "--quiet", *OPTIONS, "--adapters", "0", "--no-bluetoothd", "--", "sh", "-c", "echo up; sleep 300"]
        machine = subprocess.Popen(words, env=os.environ | {"TMPDIR": folder}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        expect(machine.stdout.readline() == b"up\n", "it came up")
        machine.kill()
        # A process that survives holds the pipes.
        machine.communicate(timeout=30)


def a_slow_reader_gets_everything():
    answer = vm("sh", "-c", "seq 300000; exit 3", shell="(sleep 6; sha256sum)")
    known = subprocess.run("seq 300000 | sha256sum", shell=True, capture_output=True, text=True).stdout
    expect(answer.stdout == known + "codes 3 0\n", f"{answer.stdout} {answer.stderr}")


def a_reader_that_goes_away_ends_the_machine():
    answer = vm("sh", "-c", "while echo more; do :; done; sleep 90", shell="head -n 1")
    expect(answer.stdout == "more\ncodes 141 0\n", f"{answer.stdout} {answer.stderr}")


failed = False
for test in (
    the_variables_of_the_caller_arrive,
    a_folder_for_files_in_passing_may_have_any_name,
    a_folder_may_be_named_from_here,
    what_cannot_be_written_is_told,
    nothing_outlives_a_machine_that_is_killed,
    a_slow_reader_gets_everything,
    a_reader_that_goes_away_ends_the_machine,
):
    try:
        test()
        print(f"passed {test.__name__}", flush=True)
    except (Failure, subprocess.TimeoutExpired) as error:
        failed = True
        print(f"FAILED {test.__name__}\n  {error}", flush=True)
sys.exit(1 if failed else 0)
