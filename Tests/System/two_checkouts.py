"""Compares the CPU time of this checkout with that of another one: the same work alternately, the best run of each.

Called by `hardware/bench benchmarks --beside FOLDER`. FOLDER is a checkout (`git worktree add FOLDER COMMIT`); both are built in release.
Measures the CPU seconds of a process, because wall time varies on a busy machine. This checkout makes the input files once.
"""
import contextlib
import itertools
import re
import subprocess

from programs import Programs, cost, write_drinks

ROUNDS = 7
MAXIMUM_RATIO = 1.05
# A short process runs several times per round, because the kernel's CPU time is too coarse for one run.
STARTS = 40


def cpu(side, name, *words):
    """CPU seconds of a command."""
    return cost(side.command(name, words), env=side.environment).cpu


def rate(side, pattern, name):
    """The rate that a benchmark prints."""
    text = subprocess.run([f"{side.products}/Benchmarks", name], check=True, capture_output=True, text=True).stdout
    return float(re.search(pattern, text)[1])


def measure(products, other_products, folder, say, limit, emulator):
    """Prints one line per measure: the other checkout's value, this one's, and their ratio."""
    with contextlib.closing(Programs(products)) as ours, contextlib.closing(Programs(other_products)) as theirs:
        compare(ours, theirs, folder, say, limit, emulator)


def compare(ours, theirs, folder, say, limit, emulator):
    capture, bottle, drinks = f"{folder}/big.btsnoop", f"{folder}/full.hex", f"{folder}/drinks.csv"
    subprocess.run([f"{ours.products}/Benchmarks", "big-capture", capture, "500000"], check=True)
    with open(bottle, "w") as file:
        subprocess.run([f"{ours.products}/Benchmarks", "full-bottle"], check=True, stdout=file)
    write_drinks(drinks, ((1_451_606_400 + number * 1577, 10 + number * 7 % 500) for number in range(50_000)))
    for side in (theirs, ours):
        side.run("waterh-tracker", "import", drinks)
    numbers = itertools.count()

    def new_store(side):
        return side.folder / f"store-{next(numbers)}.sqlite"

    def poll(side, store):
        return cpu(side, "waterh-gateway", "poll", "--link", link, "--keep", "--store", store)

    def poll_again(side):
        return sum(poll(side, side.folder / "poll.sqlite") for _ in range(4)) / 4

    def tracker(*words):
        return lambda side: cpu(side, "waterh-tracker", *words)

    measures = [
        ("frames decoded, with reassembly", lambda side: 1 / rate(side, r"([\d.]+) million records/s reass", "decode")),
        ("a million sips into the store", lambda side: cost([f"{side.products}/Benchmarks", "ingest"]).cpu),
        ("500 evaluations over ten years", lambda side: rate(side, r"sips: ([\d.]+) ms", "tick")),
        ("poll, 500 new records", lambda side: poll(side, new_store(side))),
        ("poll, the same 500 again", poll_again),
        ("drinks of 500,000 notifications", lambda side: cpu(side, "waterh-replay", "drinks", capture)),
        ("att of 500,000 notifications", lambda side: cpu(side, "waterh-replay", "att", capture)),
        ("import of 50,000 drinks", lambda side: cpu(side, "waterh-tracker", "import", drinks, "--store", new_store(side))),
        ("export as csv", tracker("export", "--format", "csv")),
        ("export as json", tracker("export", "--format", "json")),
        ("status over four years", tracker("status")),
        ("start to --help", lambda side: sum(cpu(side, "waterh-tracker", "--help") for _ in range(STARTS)) / STARTS),
    ]
    with emulator(ours.products, "--capture", bottle, "--restamp", "today") as link:
        for name, measured in measures:
            best = {}
            for round in range(ROUNDS):
                for side in (theirs, ours) if round % 2 else (ours, theirs):
                    value = measured(side)
                    best[side] = min(best.get(side, value), value)
            unit, scale = ("ns a record", 1e3) if "decoded" in name else ("ms", 1) if "evaluations" in name else ("ms CPU", 1e3)
            say(f"  {name}: before {best[theirs] * scale:.3g} {unit}, now {best[ours] * scale:.3g} {unit}")
            limit(name, best[ours] / best[theirs], MAXIMUM_RATIO, "times")
