"""The parts of `hardware/bench test`, each with its time, and the verdict at the end.

suite.py tests LABEL [--once-more] [--beside] [--limit=SECONDS] [--lane=FILTER]… [--workers=N] REPORT -- swift test …
                                                            a part that consists of Swift tests
suite.py part LABEL [--once-more] [--beside] [--limit=SECONDS] REPORT -- COMMAND…
                                                            any other part
suite.py time LABEL SECONDS CPU REPORT                      a part that went well already, with its seconds of processors
suite.py verdict REPORT                                     what stands at the end

A red part does not end the run: it notes what was red, for the verdict, which ends with exit code 1 then.

With --once-more up to four red tests run again, alone: a time limit that a busy processor missed has nothing to do with us. Green then,
a test is flaky: it is named, and remembered; flaky in two runs in a row is red. A part with --once-more runs again where its exit code
says that nothing but limits of time was missed (75). A part that runs its own red tests once more says `flaky: NAME` in a line of its own.

With --limit what hangs is ended, with everything that it started: Swift tests in which for so long no test begins or ends, any other part that takes so long
in all. Where its processes stood is printed. A Swift test that hung is red, and the tests that had not begun run after it.

With --beside a part runs while others do: the sum of all times leaves its own out.

Each part has its time, and what it took of the processors: on a machine with other work only the second says how much there is to do.

With --lane the command runs once for each filter, all of them side by side, or N at a time in the order in which they stand: for tests that wait more
than they count. Each lane's output is printed whole when it has ended.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import watched

# A fault of ours shows in many tests at once; only few are run again.
MOST_AGAIN = 4

# A part that is no Swift tests says itself what was red, at its end: so much of that stands in the verdict, where a reader of a long log looks.
LAST_LINES = 40

# The exit code of a part in which nothing but limits of time was missed (EX_TEMPFAIL).
LATE_ONLY = 75

# A test that hangs is a fault of its own; after so many the rest does not run.
MOST_HUNG = 3

# What a command that has ended left behind may hold its output open: so long is it waited for, in seconds.
OUTPUT_LIMIT = 10


def record(label):
    """What was flaky in this part when it ran last, one name a line."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(cache) / "waterh-bench" / "flaky" / label


class Events:
    """What Swift Testing's event stream says of one run."""

    def __init__(self, path=None):
        self.passed, self.failed, self.skipped, self.begun, self.known = set(), {}, {}, set(), set()
        if path is not None:
            self.read(path)

    def add(self, other):
        self.passed |= other.passed
        self.failed |= other.failed
        self.skipped |= other.skipped
        self.begun |= other.begun
        self.known |= other.known

    def read(self, path):
        suites = set()
        for line in path.read_text(errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # The last line of a run that ended in the middle.
            payload = entry.get("payload", {})
            test, kind = payload.get("testID", ""), payload.get("kind")
            if entry.get("kind") == "test" and kind == "suite":
                suites.add(payload.get("id"))
            elif entry.get("kind") == "test":
                self.known.add(name(payload.get("id", "")))
            elif kind == "issueRecorded" and payload.get("issue", {}).get("isFailure", not payload.get("issue", {}).get("isKnown", False)):
                words = [message.get("text", "") for message in payload.get("messages", [])]
                self.failed.setdefault(name(test), []).append(" ".join(words)[:600])
            elif test in suites:
                continue
            elif kind == "testStarted":
                self.begun.add(name(test))
            elif kind == "testEnded":
                self.begun.discard(name(test))
                self.passed.add(name(test))
            elif kind == "testSkipped":
                words = [message.get("text", "") for message in payload.get("messages", [])]
                self.skipped[name(test)] = " ".join(words)
        self.passed -= self.failed.keys()


def name(test):
    """Target.Suite/function(), without the place in the file."""
    return re.sub(r"/[^/]*\.swift:\d+:\d+$", "", test)


def run(command, folder, limit, output=None, number=0):
    """Its exit code and events; those are None where not even the first test was found. A test that hangs is red, and what had not begun runs after it."""
    whole, worst, rest = Events(), 0, command
    for hung in range(MOST_HUNG):
        place = pathlib.Path(folder) / f"events-{number}.jsonl"
        place.unlink(missing_ok=True)
        words = None
        try:
            status = watched.run(rest + told(place), limit, lambda: place.stat().st_size if place.exists() else 0, stdout=output, stderr=subprocess.STDOUT if output else None)
        except watched.Hung as error:
            status, words = 1, str(error)
            file = output or sys.stdout.buffer
            file.write(f"== it hangs: {words}\n".encode())
            file.flush()
        worst = worst or status
        if not place.exists():
            return worst, None if hung == 0 else whole
        events = Events(place)
        whole.add(events)
        if words is None:
            break
        whole.failed.update({test: ["it hangs; where, stands in the log"] for test in events.begun})
        whole.begun -= events.begun
        left = events.known - events.passed - events.failed.keys() - events.skipped.keys() - events.begun
        if not left:
            break
        rest = without_filter(command) + ["--filter", "^(" + "|".join(map(re.escape, sorted(left))) + ")(/|$)"]
    else:
        whole.failed["the tests after those that hang"] = [f"did not run: {test}" for test in sorted(left)]
    return worst, whole


def told(events):
    return ["--event-stream-output-path", str(events), "--event-stream-version", "0"]


def run_lanes(command, lanes, workers, folder, limit):
    """The same command with each filter, so many side by side; each one's output as soon as it has ended. A lane that did not begin is as bad as a run that did not."""
    def lane(number):
        output = pathlib.Path(folder) / f"output-{number}"
        with open(output, "wb") as file:
            ended = run(command + ["--filter", lanes[number]], folder, limit, file, number)
        with printing:
            sys.stdout.buffer.write(output.read_bytes())
            sys.stdout.buffer.flush()
        return ended

    printing, worst, whole = threading.Lock(), 0, Events()
    with concurrent.futures.ThreadPoolExecutor(workers or len(lanes)) as pool:
        ended = list(pool.map(lane, range(len(lanes))))
    for status, events in ended:
        worst = worst or status
        if events is None:
            return status or 1, None
        whole.add(events)
    return worst, whole


def without_filter(command):
    """The same command, for other tests."""
    rest, skip = [], False
    for word in command:
        if skip:
            skip = False
        elif word in ("--filter", "--skip"):
            skip = True
        else:
            rest.append(word)
    return rest


def blank(label):
    return {"label": label, "passed": 0, "failed": {}, "skipped": {}, "flaky": {}}


def note(report, entry, seconds, cpu):
    with open(report, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry | {"seconds": seconds, "cpu": cpu}) + "\n")


def cpu_seconds():
    """What all that was waited for has taken of the processors."""
    spent = os.times()
    return spent.children_user + spent.children_system


def tests(label, once_more, lanes, workers, limit, command):
    entry, flaky = blank(label), set()
    with tempfile.TemporaryDirectory() as folder:
        status, events = run_lanes(command, lanes, workers, folder, limit) if lanes else run(command, folder, limit)
        if events is None:
            entry["failed"] = {label: [f"it ended with exit code {status} before a test began"]}
            return entry
        entry.update(passed=len(events.passed), failed=events.failed, skipped=events.skipped)
        if status != 0 and events.begun:
            entry["failed"].update({test: [f"it never ended: exit code {status}"] for test in sorted(events.begun)})
        elif status != 0 and not events.failed:
            entry["failed"] = {label: [f"exit code {status}"]}
        elif once_more and 0 < len(events.failed) <= MOST_AGAIN:
            def is_green(test):
                status, events = run(without_filter(command) + ["--filter", "^" + re.escape(test)], folder, limit)
                return status == 0 and events is not None and test in events.passed
            flaky = again(entry, is_green)
        if once_more:
            remember(label, flaky)
    return entry


def again(entry, is_green):
    """Each red one once more: green now, it is flaky. Those that are, for the run after."""
    place = record(entry["label"])
    before = set(place.read_text().splitlines()) if place.exists() else set()
    remembered = set()
    for test, words in sorted(entry["failed"].items()):
        print(f"== {test}, once more (it was red)", flush=True)
        if not is_green(test):
            continue
        remembered.add(test)
        if test in before:
            words.insert(0, "flaky, as in the run before")
        else:
            entry["flaky"][test] = entry["failed"].pop(test)
            entry["passed"] += test != entry["label"]
    return remembered


def remember(label, flaky):
    place = record(label)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(test + "\n" for test in sorted(flaky)))


def last_lines(command, limit):
    """Its exit code, the end of what it said, and what it called flaky."""
    last, flaky = collections.deque(maxlen=LAST_LINES), []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def listen():
        for line in process.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            words = line.decode(errors="replace").rstrip()[:600]
            last.append(words)
            flaky.extend(re.findall(r"^flaky: (\S+)$", words))

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        status, hung = watched.wait(process, limit), []
    except watched.Hung as error:
        status, hung = 1, ["it hangs: " + line if number == 0 else line for number, line in enumerate(str(error).splitlines())]
    listener.join(OUTPUT_LIMIT)
    for line in hung:
        print(line, flush=True)
    return status, [*last, *hung[:LAST_LINES]], flaky


def part(label, once_more, limit, command):
    entry, flaky = blank(label), set()
    status, words, named = last_lines(command, limit)
    entry["flaky"].update({name: [] for name in named})
    if status != 0:
        entry["failed"] = {label: [f"exit code {status}, and its last lines:", *words]}
    if once_more:
        if status == LATE_ONLY:
            flaky = again(entry, lambda _: last_lines(command, limit)[0] == 0)
        remember(label, flaky)
    return entry


def clock(seconds):
    return f"{int(seconds) // 60} min {int(seconds) % 60:02} s"


def verdict(report):
    entries = [json.loads(line) for line in report.read_text().splitlines()]
    failed = {test: words for entry in entries for test, words in entry["failed"].items()}
    flaky = {test: words for entry in entries for test, words in entry["flaky"].items()}
    skipped = {test: why for entry in entries for test, why in entry["skipped"].items()}
    print("\n== verdict")
    for entry in entries:
        count = f", {entry['passed']} passed" if entry["passed"] else ""
        red = f", {len(entry['failed'])} failed" if entry["failed"] else ""
        print(f"{clock(entry['seconds']):>12}  {entry['label']}{', beside others' if entry.get('beside') else ''}{count}{red}, {clock(entry['cpu'])} of processors")
    whole = sum(entry["seconds"] for entry in entries if not entry.get("beside"))
    print(f"{clock(whole):>12}  in all, {clock(sum(entry['cpu'] for entry in entries))} of processors")
    for title, those in (("skipped", {test: [why] for test, why in skipped.items()}), ("flaky (red, then green alone)", flaky), ("failed", failed)):
        for test, words in sorted(those.items()):
            print(f"{title}: {test}" + "".join(f"\n    {line}" for line in words[:LAST_LINES + 1] if line))
    print("FAILED" if failed else "passed")
    return 1 if failed else 0


def main(arguments):
    if arguments[:1] == ["verdict"] and len(arguments) == 2:
        return verdict(pathlib.Path(arguments[1]))
    if arguments[:1] == ["time"] and len(arguments) == 5:
        note(arguments[4], blank(arguments[1]), float(arguments[2]), float(arguments[3]))
        return 0
    if arguments[:1] not in (["tests"], ["part"]) or "--" not in arguments:
        print(__doc__, file=sys.stderr)
        return 2
    middle = arguments.index("--")
    kind, label, *options, report = arguments[:middle]
    lanes = [option.removeprefix("--lane=") for option in options if option.startswith("--lane=")]
    workers = next((int(option.removeprefix("--workers=")) for option in options if option.startswith("--workers=")), 0)
    limit = next((float(option.removeprefix("--limit=")) for option in options if option.startswith("--limit=")), None)
    command = arguments[middle + 1:]
    print(f"== {label}", flush=True)
    # A shell that goes over to its last command leaves it what its children took before.
    begun, spent = time.monotonic(), cpu_seconds()
    if kind == "tests":
        entry = tests(label, "--once-more" in options, lanes, workers, limit, command)
    else:
        entry = part(label, "--once-more" in options, limit, command)
    entry["beside"] = "--beside" in options
    note(report, entry, time.monotonic() - begun, cpu_seconds() - spent)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
