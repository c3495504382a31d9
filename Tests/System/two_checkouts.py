"""Compares the CPU time of this checkout with that of another one: the same work alternately, the best run of each.

Called by `hardware/bench benchmarks --beside FOLDER`. FOLDER is a checkout (`git worktree add FOLDER COMMIT`); both are built in release.
Measures the CPU seconds of a process, because wall time varies on a busy machine. This checkout makes the input files once.
"""
import os
import re
import subprocess

from programs import cost, write_drinks

ROUNDS = 7
MAXIMUM_RATIO = 1.05
# A short process runs several times per round, because the kernel's CPU time is too coarse for one run.
STARTS = 40


class Checkout:
    def __init__(self, name, products, folder):
        self.name, self.products = name, products
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder)

    def program(self, name):
        return os.path.join(self.products, name)

    def file(self, name):
        return os.path.join(self.folder, name)

    def new_store(self, name):
        """A new path for a store."""
        path = self.file(name)
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(path + suffix):
                os.remove(path + suffix)
        return path

    def cpu(self, *command):
        """CPU seconds of a command that must succeed; its output is discarded."""
        environment = os.environ | {"HOME": self.folder, "XDG_STATE_HOME": self.folder, "XDG_CONFIG_HOME": self.folder, "WATERH_LISTEN": "off"}
        return cost(command, env=environment).cpu

    def rate(self, pattern, *command):
        """The inverse of the rate that a benchmark prints, so that less is better, as for seconds."""
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        value = re.search(pattern, text)
        if not value:
            raise SystemExit(f"{' '.join(command)} printed no rate: {text.strip()}")
        return 1 / float(value[1])


def measure(products, other_products, folder, say, limit, emulator):
    """Prints one line per measure: the other checkout's value, this one's, and their ratio."""
    ours, theirs = Checkout("ours", products, folder), Checkout("before", other_products, folder)
    capture, bottle, drinks = f"{folder}/big.btsnoop", f"{folder}/full.hex", f"{folder}/drinks.csv"
    subprocess.run([ours.program("Benchmarks"), "big-capture", capture, "500000"], check=True)
    with open(bottle, "w") as file:
        subprocess.run([ours.program("Benchmarks"), "full-bottle"], check=True, stdout=file)
    write_drinks(drinks, ((1_451_606_400 + number * 1577, 10 + number * 7 % 500) for number in range(50_000)))
    for side in (theirs, ours):
        side.cpu(side.program("waterh-tracker"), "import", drinks, "--store", side.new_store("history.sqlite"))

    def poll(side, store):
        return side.cpu(side.program("waterh-gateway"), "poll", "--link", link, "--keep", "--store", store)

    def poll_again(side):
        return sum(poll(side, side.file("poll.sqlite")) for _ in range(4)) / 4

    def tracker(*words):
        return lambda side: side.cpu(side.program("waterh-tracker"), *words, "--store", side.file("history.sqlite"))

    measures = [
        ("frames decoded, with reassembly", lambda side: side.rate(r"([\d.]+) million records/s reass", side.program("Benchmarks"), "decode")),
        ("a million sips into the store", lambda side: side.cpu(side.program("Benchmarks"), "ingest")),
        ("500 evaluations over ten years", lambda side: side.rate(r"sips: ([\d.]+) ms", side.program("Benchmarks"), "tick") ** -1),
        ("poll, 500 new records", lambda side: poll(side, side.new_store("poll.sqlite"))),
        ("poll, the same 500 again", poll_again),
        ("drinks of 500,000 notifications", lambda side: side.cpu(side.program("waterh-replay"), "drinks", capture)),
        ("att of 500,000 notifications", lambda side: side.cpu(side.program("waterh-replay"), "att", capture)),
        ("import of 50,000 drinks", lambda side: side.cpu(side.program("waterh-tracker"), "import", drinks, "--store", side.new_store("import.sqlite"))),
        ("export as csv", tracker("export", "--format", "csv")),
        ("export as json", tracker("export", "--format", "json")),
        ("status over four years", tracker("status")),
        ("start to --help", lambda side: sum(side.cpu(side.program("waterh-tracker"), "--help") for _ in range(STARTS)) / STARTS),
    ]
    with emulator(products, "--capture", bottle, "--restamp", "today") as link:
        for name, measured in measures:
            best = {}
            for round in range(ROUNDS):
                for side in (theirs, ours) if round % 2 else (ours, theirs):
                    value = measured(side)
                    best[side.name] = min(best.get(side.name, value), value)
            unit, scale = ("ns a record", 1e3) if "decoded" in name else ("ms", 1) if "evaluations" in name else ("ms CPU", 1e3)
            say(f"  {name}: before {best['before'] * scale:.3g} {unit}, now {best['ours'] * scale:.3g} {unit}")
            limit(name, best["ours"] / best["before"], MAXIMUM_RATIO, "times")
