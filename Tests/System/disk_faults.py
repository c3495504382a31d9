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

from programs import CAPTURE, preloaded, running, wait_for

# The allowed exit codes.
CODES = {0, 1, 3, 4, 5, 6, 75}
KILLED = -9


class StoreFolder:
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

    def run_or_fail(self, *arguments):
        code, printed = self.run("waterh-tracker", *arguments)
        assert code == 0, (arguments, code, printed)

    def poll(self, fault=None):
        """Polls a bottle; `fault` is for the gateway."""
        link, flash, log = self.folder / "b.sock", self.folder / "bottle.json", self.folder / "bottle.txt"
        words = [] if flash.exists() else ["--capture", CAPTURE, "--restamp", "today"]
        with open(log, "wb") as output:
            command = [self.products / "waterh-emulator", "run", "--link", f"unix:{link}", "--store", flash, "--seed", "7", *words]
            with running(command, env=self.environment, stdout=output, stderr=output):
                wait_for(lambda: b"ready" in log.read_bytes(), "the bottle")
                return self.run("waterh-gateway", "poll", "--link", f"unix:{link}", fault=fault)

    def poll_or_fail(self):
        code, printed = self.poll()
        assert code == 0, printed

    def records_in_bottle(self):
        return len(json.loads((self.folder / "bottle.json").read_text())["flash"]["records"])

    def query(self, statement, file=None):
        """The rows; none without a store."""
        file = file or self.store
        if not file.exists() or file.stat().st_size == 0:
            return []
        with contextlib.closing(sqlite3.connect(file)) as database:
            try:
                return database.execute(statement).fetchall()
            except sqlite3.DatabaseError as error:
                return [] if "no such table" in str(error) else [(str(error),)]

    def amounts(self, file=None):
        return sorted(row[0] for row in self.query("SELECT ml FROM drink WHERE deleted = 0", file))

    def wrong_health_files(self):
        """Differences between the health files and the store, after a commit."""
        expected = len(self.query("SELECT 1 FROM drink WHERE deleted = 0 AND ml > 0"))
        lines = (self.folder / "health" / "s.sqlite-drinks.csv").read_text().count("\n") - 1
        entries = (self.folder / "health" / "s.sqlite-drinks.xml").read_text().count("<Record")
        return [] if lines == entries == expected else [f"the health files have {lines} and {entries} drinks, the store {expected}"]


class Command:
    """A command under test. `before`, `after`: the amounts that count."""

    words, before, after, has_health = (), [], [], False

    def prepare(self, store_folder):
        pass

    def execute(self, store_folder, fault):
        return store_folder.run("waterh-tracker", *(str(word).replace("IN", str(store_folder.folder / "in")) for word in self.words), fault=fault)

    def check(self, store_folder, code, printed):
        found = store_folder.amounts()
        if code == 0 and found != self.after:
            yield f"exit code 0, and {found} counts"
        elif code > 0 and found != self.before and "might be lost" not in printed:
            yield f"exit code {code}, and {found} counts"
        elif found not in (self.before, self.after):
            yield f"incomplete: {found} counts"
        yield from self.check_next_write(store_folder)

    def check_next_write(self, store_folder):
        """A later write works, and updates the health files."""
        code, printed = store_folder.run("waterh-tracker", "log", "777")
        if code != 0:
            yield f"a later log: exit code {code}: {printed[:300]}"
        elif self.has_health:
            yield from store_folder.wrong_health_files()


class Change(Command):
    """A change to a store with three drinks and health files, or to a new store."""

    def __init__(self, after, *words, new=False):
        self.words, self.after = words, after
        self.before, self.has_health = ([], False) if new else ([101, 102, 103], True)

    def prepare(self, store_folder):
        if self.has_health:
            store_folder.run_or_fail("settings", "set", "health.enabled", "true")
            for amount in self.before:
                store_folder.run_or_fail("log", amount)


class Import(Command):
    """The import of an export, or of a journal, into a store with one drink."""

    before = [999]

    def __init__(self, *words):
        self.words = words

    def prepare(self, store_folder):
        if "journal" in self.words:
            store_folder.poll_or_fail()
            store_folder.run_or_fail("journal", "export", "--output", store_folder.folder / "in")
        else:
            for amount in range(1, 41):
                store_folder.run_or_fail("log", amount)
            store_folder.run_or_fail("export", "--format", "json", "--output", store_folder.folder / "in")
        self.after = sorted([*store_folder.amounts(), 999])
        for file in [*store_folder.folder.glob("s.sqlite*"), *store_folder.folder.glob("bottle.json")]:
            file.unlink()
        store_folder.run_or_fail("log", "999")

    def check_next_write(self, store_folder):
        code, printed = self.execute(store_folder, None)
        if code != 0 or store_folder.amounts() != self.after:
            yield f"a later import ended with {code}, and {store_folder.amounts()} counts: {printed[:300]}"


class Restore(Command):
    words, after, has_health = ("restore", "IN", "--yes"), [101, 102], True

    def prepare(self, store_folder):
        store_folder.run_or_fail("log", "101")
        store_folder.run_or_fail("log", "102")
        store_folder.run_or_fail("backup", store_folder.folder / "in")
        store_folder.run_or_fail("delete", "d2")
        store_folder.run_or_fail("settings", "set", "health.enabled", "true")
        store_folder.poll_or_fail()
        self.before = store_folder.amounts()

    def check(self, store_folder, code, printed):
        yield from super().check(store_folder, code, printed)
        kept = [file for file in store_folder.folder.glob("s.sqlite-replaced-*") if not file.name.endswith(("-wal", "-shm", "-journal", ".new"))]
        is_whole = [store_folder.amounts(file) == self.before for file in kept]
        if 101 in store_folder.amounts() and 102 in store_folder.amounts() and not any(is_whole):
            yield f"the store was replaced, and the former one is not kept: {printed[:300]}"
        if code > 0 and kept and "might be lost" not in printed:
            yield f"failed, and left {len(kept)} files next to the store"
        if code != KILLED and not all(is_whole):
            yield "the kept store is incomplete"
        # Without XDG_RUNTIME_DIR the folder of sockets is there.
        if code != KILLED and any(each.name != f"waterh-{os.getuid()}" for each in (store_folder.folder / "tmp").iterdir()):
            yield "left its scratch folder"

    def check_next_write(self, store_folder):
        return ()


class Backup(Command):
    """The old file or the new one, complete."""

    words = ("backup", "IN")

    def prepare(self, store_folder):
        store_folder.run_or_fail("backup", store_folder.folder / "in")
        self.old = (store_folder.folder / "in").read_bytes()
        for amount in (101, 102, 103):
            store_folder.run_or_fail("log", amount)

    def check(self, store_folder, code, printed):
        is_old = (store_folder.folder / "in").read_bytes() == self.old
        if not is_old and store_folder.amounts(store_folder.folder / "in") != [101, 102, 103]:
            yield "the file is neither the old one nor complete"
        elif code == 0 and is_old:
            yield "exit code 0, and the file is the old one"
        elif code > 0 and not is_old:
            yield f"exit code {code}, and the old file is gone: {printed[:300]}"
        known = ("s.sqlite", "in", "tmp", "bottle", "b.sock", "health")
        left = [file.name for file in store_folder.folder.iterdir() if not file.name.startswith(known)] + [file.name for file in (store_folder.folder / "tmp").iterdir()]
        if left and code != KILLED:
            yield f"left {left}"


class Poll(Command):
    """Each sip is in the bottle or in the store."""

    has_health, sips = True, 40

    def prepare(self, store_folder):
        store_folder.run_or_fail("settings", "set", "health.enabled", "true")

    def execute(self, store_folder, fault):
        return store_folder.poll(fault and fault | {"DISK_ROOT": str(store_folder.folder / "s.sqlite")})

    def check(self, store_folder, code, printed):
        stored, waiting = len(store_folder.query("SELECT 1 FROM bottle_record")), store_folder.records_in_bottle()
        if stored + waiting < self.sips:
            yield f"lost: {stored} stored, {waiting} in the bottle; {printed[:300]}"
        if code == 0 and stored != self.sips:
            yield f"ended with 0, and {stored} are stored"
        code, printed = store_folder.poll()
        counted = len(store_folder.query("SELECT 1 FROM drink WHERE deleted = 0"))
        if code != 0 or counted != self.sips or store_folder.records_in_bottle() != 0:
            yield f"the next poll ended with {code}: {counted} count, {store_folder.records_in_bottle()} in the bottle; {printed[:300]}"
        yield from self.check_next_write(store_folder)


class Purge(Change):
    def check(self, store_folder, code, printed):
        yield from super().check(store_folder, code, printed) if store_folder.amounts() else ()
        code, printed = store_folder.run("waterh-tracker", "purge", "--yes")
        if code != 0 or store_folder.amounts() or (store_folder.folder / "health").exists():
            yield f"a later purge: exit code {code}: {printed[:300]}"


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
        self.command.prepare(StoreFolder(self.template, options.products))
        # The emulator leaves the folder of its control socket there.
        shutil.rmtree(self.template / "tmp")
        (self.template / "tmp").mkdir()

    def store_folder(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.root))
        shutil.copytree(self.template, folder, dirs_exist_ok=True)
        return StoreFolder(folder, self.options.products)

    def environment(self, store_folder, **more):
        return {"LD_PRELOAD": str(self.library), "DISK_ROOT": str(store_folder.folder), "DISK_FAULT": self.fault} | more

    def list_calls(self):
        store_folder = self.store_folder()
        code, printed = self.command.execute(store_folder, self.environment(store_folder, DISK_LOG=str(self.root / "calls")))
        assert code == 0, (self.name, code, printed)
        lines = (self.root / "calls").read_text().splitlines()
        (self.root / "calls").unlink()
        shutil.rmtree(store_folder.folder)
        return lines

    def run_with_fault_at(self, number):
        store_folder = self.store_folder()
        try:
            code, printed = self.command.execute(store_folder, self.environment(store_folder, DISK_CALL=str(number)))
            bad = [] if code in CODES or (code == KILLED and self.fault.startswith("kill")) else [f"ended with {code}: {printed[:300]}"]
            bad += self.command.check(store_folder, code, printed)
            if store_folder.query("PRAGMA integrity_check") not in ([("ok",)], []):
                bad.append("the store is damaged")
        except subprocess.TimeoutExpired as timeout:
            bad = [f"hung: {timeout.cmd}"]
        finally:
            shutil.rmtree(store_folder.folder, ignore_errors=True)
        return number, bad

    def run(self):
        lines = self.list_calls()
        numbers = list(range(1, len(lines) + 1))
        if self.options.first:
            numbers = numbers[: self.options.first]
        elif self.options.some and len(numbers) > self.options.some:
            numbers = [numbers[index * len(numbers) // self.options.some] for index in range(self.options.some)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(self.run_with_fault_at, numbers))
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
        library = preloaded("disk_faults", folder)
        totals = collections.Counter()
        for name in options.commands or COMMANDS:
            for fault in options.faults.split(","):
                runs, bad = Trial(options, pathlib.Path(folder), library, name, fault).run()
                totals.update(runs=runs, bad=bad)
    print(f"disk faults: {totals['bad']} bad of {totals['runs']}")
    return 1 if totals["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
