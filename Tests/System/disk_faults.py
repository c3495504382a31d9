"""Disk faults during a command.

usage: disk_faults.py PRODUCTS [COMMAND]… [--faults eio,full,kill,killafter] [--first N | --some N]

Each call by which a command changes a file fails in a run of its own: it returns an error, the disk is full from there on, or the
process is killed. Then the changes of a command that exited with 0 are stored, a failed command changed nothing, a killed one
changed all or nothing, the store is intact, and the same command succeeds.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from programs import running, wait_for

HERE = pathlib.Path(__file__).parent
CAPTURE = HERE.parents[1] / "captures" / "boost_two-days.btsnoop"
# The allowed exit codes.
CODES = {0, 1, 3, 4, 5, 6, 75}
KILLED = -9


class Place:
    """A folder with a store."""

    def __init__(self, folder, products):
        self.folder, self.products, self.store = folder, products, folder / "s.sqlite"
        self.environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(folder), "TMPDIR": str(folder / "tmp"), "TZ": "UTC", "LC_ALL": "C.UTF-8"}

    def run(self, program, *arguments, fault=None):
        """Runs a program on the store; returns exit code and output."""
        done = subprocess.run(
            [self.products / program, *map(str, arguments), "--store", self.store], env=self.environment | (fault or {}), cwd=self.folder,
            capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace").strip()

    def must(self, *arguments):
        code, said = self.run("waterh-tracker", *arguments)
        assert code == 0, (arguments, code, said)

    def poll(self, fault=None):
        """Polls a bottle; `fault` is for the gateway."""
        link, flash, log = self.folder / "b.sock", self.folder / "bottle.json", self.folder / "bottle.txt"
        words = [] if flash.exists() else ["--capture", CAPTURE, "--restamp", "today"]
        with open(log, "wb") as output:
            command = [self.products / "waterh-emulator", "run", "--link", f"unix:{link}", "--store", flash, "--seed", "7", *words]
            with running(command, env=self.environment, stdout=output, stderr=output):
                wait_for(lambda: b"ready" in log.read_bytes(), "the bottle")
                return self.run("waterh-gateway", "poll", "--link", f"unix:{link}", fault=fault)

    def must_poll(self):
        code, said = self.poll()
        assert code == 0, said

    def in_bottle(self):
        return len(json.loads((self.folder / "bottle.json").read_text())["flash"]["records"])

    def ask(self, question, file=None):
        """The rows; none without a store."""
        file = file or self.store
        if not file.exists() or file.stat().st_size == 0:
            return []
        with contextlib.closing(sqlite3.connect(file)) as database:
            try:
                return database.execute(question).fetchall()
            except sqlite3.DatabaseError as error:
                return [] if "no such table" in str(error) else [(str(error),)]

    def amounts(self, file=None):
        return sorted(row[0] for row in self.ask("SELECT ml FROM drink WHERE deleted = 0", file))

    def wrong_health_files(self):
        """Differences between the health files and the store, after a commit."""
        wanted = len(self.ask("SELECT 1 FROM drink WHERE deleted = 0 AND ml > 0"))
        lines = (self.folder / "health" / "s.sqlite-drinks.csv").read_text().count("\n") - 1
        entries = (self.folder / "health" / "s.sqlite-drinks.xml").read_text().count("<Record")
        return [] if lines == entries == wanted else [f"the health files have {lines} and {entries} drinks, the store {wanted}"]


class Command:
    """A command under test. `before`, `after`: the amounts that count."""

    words, before, after, has_health = (), [], [], False

    def prepare(self, place):
        pass

    def act(self, place, fault):
        return place.run("waterh-tracker", *(str(word).replace("IN", str(place.folder / "in")) for word in self.words), fault=fault)

    def check(self, place, code, said):
        found = place.amounts()
        if code == 0 and found != self.after:
            yield f"exit code 0, and {found} counts"
        elif code > 0 and found != self.before and "might be lost" not in said:
            yield f"exit code {code}, and {found} counts"
        elif found not in (self.before, self.after):
            yield f"incomplete: {found} counts"
        yield from self.again(place)

    def again(self, place):
        """A later write works, and updates the health files."""
        code, said = place.run("waterh-tracker", "log", "777")
        if code != 0:
            yield f"a later log: exit code {code}: {said[:300]}"
        elif self.has_health:
            yield from place.wrong_health_files()


class Change(Command):
    """A change to a store with three drinks and health files, or to a new store."""

    def __init__(self, after, *words, new=False):
        self.words, self.after = words, after
        self.before, self.has_health = ([], False) if new else ([101, 102, 103], True)

    def prepare(self, place):
        if self.has_health:
            place.must("settings", "set", "health.enabled", "true")
            for amount in self.before:
                place.must("log", amount)


class Import(Command):
    """The import of an export, or of a journal, into a store with one drink."""

    before = [999]

    def __init__(self, *words):
        self.words = words

    def prepare(self, place):
        if "journal" in self.words:
            place.must_poll()
            place.must("journal", "export", "--output", place.folder / "in")
        else:
            for amount in range(1, 41):
                place.must("log", amount)
            place.must("export", "--format", "json", "--output", place.folder / "in")
        self.after = sorted([*place.amounts(), 999])
        for file in [*place.folder.glob("s.sqlite*"), *place.folder.glob("bottle.json")]:
            file.unlink()
        place.must("log", "999")

    def again(self, place):
        code, said = self.act(place, None)
        if code != 0 or place.amounts() != self.after:
            yield f"a later import ended with {code}, and {place.amounts()} counts: {said[:300]}"


class Restore(Command):
    words, after, has_health = ("restore", "IN", "--yes"), [101, 102], True

    def prepare(self, place):
        place.must("log", "101")
        place.must("log", "102")
        place.must("backup", place.folder / "in")
        place.must("delete", "d2")
        place.must("settings", "set", "health.enabled", "true")
        place.must_poll()
        self.before = place.amounts()

    def check(self, place, code, said):
        yield from super().check(place, code, said)
        kept = [file for file in place.folder.glob("s.sqlite-replaced-*") if not file.name.endswith(("-wal", "-shm", "-journal", ".new"))]
        is_whole = [place.amounts(file) == self.before for file in kept]
        if 101 in place.amounts() and 102 in place.amounts() and not any(is_whole):
            yield f"the store was replaced, and the former one is not kept: {said[:300]}"
        if code > 0 and kept and "might be lost" not in said:
            yield f"failed, and left {len(kept)} files next to the store"
        if code != KILLED and not all(is_whole):
            yield "the kept store is incomplete"
        # Without XDG_RUNTIME_DIR the folder of sockets is there.
        if code != KILLED and any(each.name != f"waterh-{os.getuid()}" for each in (place.folder / "tmp").iterdir()):
            yield "left its scratch folder"

    def again(self, place):
        return ()


class Backup(Command):
    """The old file or the new one, complete."""

    words = ("backup", "IN")

    def prepare(self, place):
        place.must("backup", place.folder / "in")
        self.old = (place.folder / "in").read_bytes()
        for amount in (101, 102, 103):
            place.must("log", amount)

    def check(self, place, code, said):
        is_old = (place.folder / "in").read_bytes() == self.old
        if not is_old and place.amounts(place.folder / "in") != [101, 102, 103]:
            yield "the file is neither the old one nor complete"
        elif code == 0 and is_old:
            yield "exit code 0, and the file is the old one"
        elif code > 0 and not is_old:
            yield f"exit code {code}, and the old file is gone: {said[:300]}"
        known = ("s.sqlite", "in", "tmp", "bottle", "b.sock", "health")
        left = [file.name for file in place.folder.iterdir() if not file.name.startswith(known)] + [file.name for file in (place.folder / "tmp").iterdir()]
        if left and code != KILLED:
            yield f"left {left}"


class Poll(Command):
    """Each sip is in the bottle or in the store."""

    has_health, sips = True, 40

    def prepare(self, place):
        place.must("settings", "set", "health.enabled", "true")

    def act(self, place, fault):
        return place.poll(fault and fault | {"DISK_ROOT": str(place.folder / "s.sqlite")})

    def check(self, place, code, said):
        stored, waiting = len(place.ask("SELECT 1 FROM bottle_record")), place.in_bottle()
        if stored + waiting < self.sips:
            yield f"lost: {stored} stored, {waiting} in the bottle; {said[:300]}"
        if code == 0 and stored != self.sips:
            yield f"ended with 0, and {stored} are stored"
        code, said = place.poll()
        counted = len(place.ask("SELECT 1 FROM drink WHERE deleted = 0"))
        if code != 0 or counted != self.sips or place.in_bottle() != 0:
            yield f"the next poll ended with {code}: {counted} count, {place.in_bottle()} in the bottle; {said[:300]}"
        yield from self.again(place)


class Purge(Change):
    def check(self, place, code, said):
        yield from super().check(place, code, said) if place.amounts() else ()
        code, said = place.run("waterh-tracker", "purge", "--yes")
        if code != 0 or place.amounts() or (place.folder / "health").exists():
            yield f"a later purge: exit code {code}: {said[:300]}"


COMMANDS = {
    "log": Change([101, 102, 103, 251], "log", "251"), "log-new": Change([251], "log", "251", new=True),
    "edit": Change([101, 103, 333], "edit", "d2", "--ml", "333"), "delete": Change([101, 103], "delete", "d2"),
    "undo": Change([101, 102], "undo"), "reset": Change([], "reset-today"), "import": Import("import", "IN"), "journal-import": Import("journal", "import", "IN"),
    "restore": Restore(), "backup": Backup(), "poll": Poll(), "purge": Purge([], "purge", "--yes"),
}


class Trial:
    """One command with one kind of fault, at every call."""

    def __init__(self, options, root, library, name, fault):
        self.options, self.root, self.library, self.command, self.fault, self.name = options, root, library, COMMANDS[name], fault, name
        self.template = root / "template"
        shutil.rmtree(self.template, ignore_errors=True)
        (self.template / "tmp").mkdir(parents=True)
        self.command.prepare(Place(self.template, options.products))
        # The emulator leaves the folder of its control socket there.
        shutil.rmtree(self.template / "tmp")
        (self.template / "tmp").mkdir()

    def place(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.root))
        shutil.copytree(self.template, folder, dirs_exist_ok=True)
        return Place(folder, self.options.products)

    def environment(self, place, **more):
        return {"LD_PRELOAD": str(self.library), "DISK_ROOT": str(place.folder), "DISK_FAULT": self.fault} | more

    def calls(self):
        place = self.place()
        code, said = self.command.act(place, self.environment(place, DISK_LOG=str(self.root / "calls")))
        assert code == 0, (self.name, code, said)
        lines = (self.root / "calls").read_text().splitlines()
        (self.root / "calls").unlink()
        shutil.rmtree(place.folder)
        return lines

    def try_call(self, number):
        place = self.place()
        try:
            code, said = self.command.act(place, self.environment(place, DISK_CALL=str(number)))
            bad = [] if code in CODES or (code == KILLED and self.fault.startswith("kill")) else [f"ended with {code}: {said[:300]}"]
            bad += self.command.check(place, code, said)
            if place.ask("PRAGMA integrity_check") not in ([("ok",)], []):
                bad.append("the store is damaged")
        except subprocess.TimeoutExpired as late:
            bad = [f"hung: {late.cmd}"]
        finally:
            shutil.rmtree(place.folder, ignore_errors=True)
        return number, bad

    def run(self):
        lines = self.calls()
        numbers = list(range(1, len(lines) + 1))
        if self.options.first:
            numbers = numbers[: self.options.first]
        elif self.options.some and len(numbers) > self.options.some:
            numbers = [numbers[index * len(numbers) // self.options.some] for index in range(self.options.some)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(self.try_call, numbers))
        bad = [(number, words) for number, words in outcomes if words]
        print(f"{self.name}, {self.fault}: {len(lines)} calls, {len(numbers)} tried, {len(bad)} bad", flush=True)
        for number, words in bad[:20]:
            print(f"  {lines[number - 1].replace(str(self.root), '')}: {'; '.join(words)}", flush=True)
        return len(numbers), len(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("products", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=", ".join(COMMANDS))
    parser.add_argument("--faults", default="eio,full,kill,killafter")
    parser.add_argument("--first", type=int, help="only the first N calls")
    parser.add_argument("--some", type=int, help="only N calls, evenly distributed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="disk-faults-") as folder:
        library = pathlib.Path(folder) / "disk_faults.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "disk_faults.c"], check=True)
        totals = collections.Counter()
        for name in options.commands or COMMANDS:
            for fault in options.faults.split(","):
                runs, bad = Trial(options, pathlib.Path(folder), library, name, fault).run()
                totals.update(runs=runs, bad=bad)
    print(f"disk faults: {totals['bad']} bad of {totals['runs']}")
    return 1 if totals["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
