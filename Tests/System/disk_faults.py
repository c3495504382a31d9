"""disk_faults.py PRODUCTS [VERB]… [--faults eio,full,kill,killafter] [--first N | --some N] [--call N]

Each call by which a command changes a file goes wrong in turn, in a run of its own: it fails, the disk is full from there on, or the process is
killed. Afterwards: what ended with 0 is there, what failed has changed nothing, what was killed is the one or the other, the store is sound, and
the same command, once more, does what it should. Says how many runs there were, and each that was bad.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
CAPTURE = HERE.parents[1] / "captures" / "boost_two-days.btsnoop"
# What a command may end with here: done, failed, wrong use, refused, bad input, busy.
CODES = {0, 1, 3, 4, 5, 6, 75}
KILLED = -9


class Place:
    """A folder with a store, and what is asked of it."""

    def __init__(self, folder, products):
        self.folder, self.products, self.store = folder, products, folder / "s.sqlite"

    def environment(self):
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(self.folder), "TMPDIR": str(self.folder / "tmp"), "TZ": "UTC", "LC_ALL": "C.UTF-8"}

    def run(self, program, *arguments, fault=None):
        done = subprocess.run(
            [self.products / program, *map(str, arguments)], env=self.environment() | (fault or {}), cwd=self.folder, capture_output=True, timeout=120,
            stdin=subprocess.DEVNULL)
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace").strip()

    def track(self, *arguments, fault=None):
        return self.run("waterh-tracker", *arguments, "--store", self.store, fault=fault)

    def must(self, *arguments):
        code, said = self.track(*arguments)
        assert code == 0, (arguments, code, said)

    def poll(self, fault=None):
        """A bottle that is drained; `fault` strikes the gateway."""
        link, flash, said = self.folder / "b.sock", self.folder / "bottle.json", self.folder / "bottle.txt"
        words = [] if flash.exists() else ["--capture", CAPTURE, "--restamp", "today"]
        with open(said, "wb") as output:
            bottle = subprocess.Popen(
                [self.products / "waterh-emulator", "run", "--link", f"unix:{link}", "--store", flash, "--seed", "7", *words], env=self.environment(),
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            limit = time.monotonic() + 30
            while b"ready" not in said.read_bytes() and time.monotonic() < limit:
                time.sleep(0.02)
            return self.run("waterh-gateway", "poll", "--link", f"unix:{link}", "--store", self.store, fault=fault)
        finally:
            bottle.terminate()
            bottle.wait(30)

    def in_bottle(self):
        return len(json.loads((self.folder / "bottle.json").read_text())["flash"]["records"])

    def ask(self, question, file=None):
        """The answer's rows; none where there is no store yet."""
        file = file or self.store
        if not file.exists() or file.stat().st_size == 0:
            return []
        database = sqlite3.connect(file)
        try:
            return database.execute(question).fetchall()
        except sqlite3.DatabaseError as error:
            return [] if "no such table" in str(error) else [(str(error),)]
        finally:
            database.close()

    def amounts(self, file=None):
        return sorted(row[0] for row in self.ask("SELECT ml FROM drink WHERE deleted = 0", file))

    def health_trouble(self):
        """What of the health files is not what the store has, after a commit."""
        wanted = len(self.ask("SELECT 1 FROM drink WHERE deleted = 0 AND ml > 0"))
        lines = (self.folder / "health" / "s.sqlite-drinks.csv").read_text().count("\n") - 1
        entries = (self.folder / "health" / "s.sqlite-drinks.xml").read_text().count("<Record")
        return [] if lines == entries == wanted else [f"the health files have {lines} and {entries} drinks, the store {wanted}"]


class Verb:
    """A command under test. `before`, `after`: the amounts that count."""

    words, before, after, has_health = (), [], [], False

    def prepare(self, place):
        pass

    def act(self, place, fault):
        return place.track(*self.words, fault=fault)

    def judge(self, place, code, said):
        found = place.amounts()
        if code == 0 and found != self.after:
            yield f"ended with 0, and {found} counts"
        elif code > 0 and found != self.before and "might be lost" not in said:
            yield f"ended with {code}, and {found} counts"
        elif found not in (self.before, self.after):
            yield f"half done: {found} counts"
        yield from self.once_more(place)

    def once_more(self, place):
        """A later write works, and what follows it."""
        code, said = place.track("log", "777")
        if code != 0:
            yield f"a later log ended with {code}: {said[:300]}"
        elif self.has_health:
            yield from place.health_trouble()


class Log(Verb):
    words, before, after, has_health = ("log", "251"), [101, 102, 103], [101, 102, 103, 251], True

    def prepare(self, place):
        place.must("settings", "set", "health.enabled", "true")
        for amount in (101, 102, 103):
            place.must("log", amount)


class LogNew(Verb):
    words, after = ("log", "251"), [251]


class Edit(Log):
    words, after = ("edit", "d2", "--ml", "333"), [101, 103, 333]


class Delete(Log):
    words, after = ("delete", "d2"), [101, 103]


class Undo(Log):
    words, after = ("undo",), [101, 102]


class Reset(Log):
    words, after = ("reset-today",), []


class Import(Verb):
    form, before = "json", [999]

    def prepare(self, place):
        for amount in range(1, 41):
            place.must("log", amount)
        place.must("export", "--format", self.form, "--output", place.folder / "in")
        for file in place.folder.glob("s.sqlite*"):
            file.unlink()
        place.must("log", "999")
        self.after = [*range(1, 41), 999]

    def act(self, place, fault):
        return place.track("import", place.folder / "in", fault=fault)

    def once_more(self, place):
        code, said = self.act(place, None)
        if code != 0 or place.amounts() != self.after:
            yield f"a later import ended with {code}, and {place.amounts()} counts: {said[:300]}"


class ImportCSV(Import):
    form = "csv"


class ImportXML(Import):
    form = "apple-health"


class JournalImport(Import):
    def prepare(self, place):
        code, said = place.poll()
        assert code == 0, said
        drinks = place.amounts()
        place.must("journal", "export", "--output", place.folder / "in")
        for file in [*place.folder.glob("s.sqlite*"), place.folder / "bottle.json"]:
            file.unlink()
        place.must("log", "999")
        self.after = sorted([*drinks, 999])

    def act(self, place, fault):
        return place.track("journal", "import", place.folder / "in", fault=fault)


class Restore(Verb):
    after, has_health = [101, 102], True

    def prepare(self, place):
        place.must("log", "101")
        place.must("log", "102")
        place.must("backup", place.folder / "in")
        place.must("delete", "d2")
        place.must("settings", "set", "health.enabled", "true")
        code, said = place.poll()
        assert code == 0, said
        self.before = place.amounts()

    def act(self, place, fault):
        return place.track("restore", place.folder / "in", "--yes", fault=fault)

    def judge(self, place, code, said):
        yield from super().judge(place, code, said)
        kept = [file for file in place.folder.glob("s.sqlite-replaced-*") if not file.name.endswith(("-wal", "-shm", "-journal", ".new"))]
        is_whole = [place.amounts(file) == self.before for file in kept]
        if 101 in place.amounts() and 102 in place.amounts() and not any(is_whole):
            yield f"replaced, and what was there is not kept: {said[:300]}"
        if code > 0 and kept and "might be lost" not in said:
            yield f"failed, and left {len(kept)} files beside the store"
        if code != KILLED and not all(is_whole):
            yield "kept half of what was there"
        # Without XDG_RUNTIME_DIR the folder of sockets is there, too.
        if code != KILLED and any(each.name != f"waterh-{os.getuid()}" for each in (place.folder / "tmp").iterdir()):
            yield "left its scratch folder"

    def once_more(self, place):
        return ()


class Backup(Verb):
    """A file that is written on demand: the old one or the new one, whole."""

    words = ("backup",)

    def prepare(self, place):
        for amount in (101, 102, 103):
            place.must("log", amount)
        (place.folder / "out").write_text("old")

    def act(self, place, fault):
        return place.track(*self.words, place.folder / "out", fault=fault)

    def is_whole(self, place):
        return place.amounts(place.folder / "out") == [101, 102, 103]

    def judge(self, place, code, said):
        is_old = (place.folder / "out").read_bytes() == b"old"
        if not is_old and not self.is_whole(place):
            yield "the file is neither the old one nor whole"
        elif code == 0 and is_old:
            yield "ended with 0, and the old file is there"
        elif code > 0 and not is_old:
            yield f"ended with {code}, and the old file is gone: {said[:300]}"
        known = ("s.sqlite", "out", "tmp", "bottle", "b.sock", "health")
        left = [file.name for file in place.folder.iterdir() if not file.name.startswith(known)] + [file.name for file in (place.folder / "tmp").iterdir()]
        if left and code != KILLED:
            yield f"left {left}"


class Export(Backup):
    words = ("export", "--format", "csv", "--output")

    def is_whole(self, place):
        return (place.folder / "out").read_text().count("\n") == 4


class Poll(Verb):
    """Of each sip: in the bottle, or in the store."""

    has_health, sips = True, 40

    def prepare(self, place):
        place.must("settings", "set", "health.enabled", "true")

    def act(self, place, fault):
        return place.poll(fault and fault | {"DISK_ROOT": str(place.folder / "s.sqlite")})

    def judge(self, place, code, said):
        stored, waiting = len(place.ask("SELECT 1 FROM bottle_record")), place.in_bottle()
        if stored + waiting < self.sips:
            yield f"lost: {stored} stored, {waiting} in the bottle; {said[:300]}"
        if code == 0 and stored != self.sips:
            yield f"ended with 0, and {stored} are stored"
        code, said = place.poll()
        counted = len(place.ask("SELECT 1 FROM drink WHERE deleted = 0"))
        if code != 0 or counted != self.sips or place.in_bottle() != 0:
            yield f"the next poll ended with {code}: {counted} count, {place.in_bottle()} in the bottle; {said[:300]}"
        yield from self.once_more(place)


class Purge(Log):
    words, after = ("purge", "--yes"), []

    def judge(self, place, code, said):
        yield from super().judge(place, code, said) if place.amounts() else ()
        code, said = place.track("purge", "--yes")
        if code != 0 or place.amounts() or (place.folder / "health").exists():
            yield f"a later purge ended with {code}: {said[:300]}"


VERBS = {
    "log": Log, "log-new": LogNew, "edit": Edit, "delete": Delete, "undo": Undo, "reset": Reset, "import": Import, "import-csv": ImportCSV,
    "import-xml": ImportXML, "journal-import": JournalImport, "restore": Restore, "backup": Backup, "export": Export, "poll": Poll, "purge": Purge,
}


class Trial:
    """One verb, one kind of fault, at every call."""

    def __init__(self, options, root, library, name, fault):
        self.options, self.root, self.library, self.verb, self.fault, self.name = options, root, library, VERBS[name](), fault, name
        self.template = root / "template"
        shutil.rmtree(self.template, ignore_errors=True)
        (self.template / "tmp").mkdir(parents=True)
        self.verb.prepare(Place(self.template, options.products))
        # The bottle leaves its control's folder there.
        shutil.rmtree(self.template / "tmp")
        (self.template / "tmp").mkdir()

    def place(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.root))
        shutil.copytree(self.template, folder, dirs_exist_ok=True)
        # What was prepared names its own folder.
        for file in ("in", "out"):
            assert not (folder / file).exists() or (folder / file).is_file()
        return Place(folder, self.options.products)

    def environment(self, place, **more):
        return {"LD_PRELOAD": str(self.library), "DISK_ROOT": str(place.folder), "DISK_FAULT": self.fault} | more

    def calls(self):
        place = self.place()
        code, said = self.verb.act(place, self.environment(place, DISK_LOG=str(self.root / "calls")))
        assert code == 0, (self.name, code, said)
        lines = (self.root / "calls").read_text().splitlines()
        (self.root / "calls").unlink()
        shutil.rmtree(place.folder)
        return lines

    def strike(self, number):
        place = self.place()
        try:
            code, said = self.verb.act(place, self.environment(place, DISK_CALL=str(number)))
            bad = [] if code in CODES or (code == KILLED and self.fault.startswith("kill")) else [f"ended with {code}: {said[:300]}"]
            bad += self.verb.judge(place, code, said)
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
        if self.options.call:
            numbers = [self.options.call]
        elif self.options.first:
            numbers = numbers[: self.options.first]
        elif self.options.some and len(numbers) > self.options.some:
            numbers = [numbers[index * len(numbers) // self.options.some] for index in range(self.options.some)]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            outcomes = list(pool.map(self.strike, numbers))
        bad = [(number, words) for number, words in outcomes if words]
        print(f"{self.name}, {self.fault}: {len(lines)} calls, {len(numbers)} tried, {len(bad)} bad", flush=True)
        for number, words in bad[:20]:
            print(f"  {lines[number - 1].replace(str(self.root), '')}: {'; '.join(words)}", flush=True)
        return len(numbers), len(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("products", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("verbs", nargs="*", metavar="VERB", help=", ".join(VERBS))
    parser.add_argument("--faults", default="eio,full,kill,killafter")
    parser.add_argument("--first", type=int, help="only so many of the first calls")
    parser.add_argument("--some", type=int, help="only so many of all calls")
    parser.add_argument("--call", type=int, help="only this one")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="disk-faults-") as folder:
        library = pathlib.Path(folder) / "disk_faults.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "disk_faults.c"], check=True)
        totals = collections.Counter()
        for name in options.verbs or VERBS:
            for fault in options.faults.split(","):
                runs, bad = Trial(options, pathlib.Path(folder), library, name, fault).run()
                totals.update(runs=runs, bad=bad)
    print(f"disk faults: {totals['bad']} bad of {totals['runs']}")
    return 1 if totals["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
