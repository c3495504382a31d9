"""The parts of `hardware/bench test`, each with its time, and the verdict at the end.

suite.py tests LABEL [OPTION]… REPORT -- swift test …     a part that consists of Swift tests
suite.py part LABEL [OPTION]… REPORT -- COMMAND…          any other part
suite.py time LABEL SECONDS CPU REPORT                    a part that passed already, with its CPU seconds
suite.py verdict REPORT                                   the verdict; exit code 1 if a part failed

  --once-more       run up to four failed tests again, alone; with exit code 75 (only time limits were missed), the whole part
  --beside          the part runs next to others, so the sum of all times omits it
  --limit=SECONDS   end the part with its child processes after this time; the running tests failed
  --lane=FILTER     run the command once per filter, all lanes at the same time, and print each lane's output at its end
  --workers=N       run at most N lanes at the same time

A test that fails and then passes alone is flaky. A test that is flaky in two runs in a row fails. A part that repeats its own
failed tests prints `flaky: NAME` for each.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

MAX_REPEATED_TESTS = 4  # One defect often fails many tests, so only a few are run again.
LAST_LINES = 40  # Lines of a failed part's output in the verdict.
LATE_ONLY = 75  # The exit code of a part that only missed time limits (EX_TEMPFAIL).
OUTPUT_LIMIT = 10  # Seconds for the output of processes that outlive their part.
HANGS = "it hangs"
running = set()


def wait(process, limit):
    """The exit code; None if the process was still running after the limit. Then its session was killed."""
    running.add(process)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None
    finally:
        running.discard(process)


def end_all(*_):
    for process in list(running):
        os.killpg(process.pid, signal.SIGKILL)
    os._exit(143)


def flaky_file(label):
    """The file with the tests of this part that were flaky in the last run."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(cache) / "waterh-bench" / "flaky" / label


class Events:
    """The results in Swift Testing's event stream."""

    def __init__(self):
        self.passed, self.failed, self.skipped, self.started, self.known = set(), {}, {}, set(), set()

    def read(self, path):
        suites = set()
        for line in path.read_text(errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # The run ended within the line.
            payload = entry.get("payload", {})
            test, kind = payload.get("testID", ""), payload.get("kind")
            texts = [message.get("text", "") for message in payload.get("messages", [])]
            if entry.get("kind") == "test" and kind == "suite":
                suites.add(payload.get("id"))
            elif entry.get("kind") == "test":
                self.known.add(name(payload.get("id", "")))
            elif kind == "issueRecorded" and payload.get("issue", {}).get("isFailure", not payload.get("issue", {}).get("isKnown", False)):
                self.failed.setdefault(name(test), []).append(" ".join(texts)[:600])
            elif test in suites:
                continue
            elif kind == "testStarted":
                self.started.add(name(test))
            elif kind == "testEnded":
                self.started.discard(name(test))
                self.passed.add(name(test))
            elif kind == "testSkipped":
                self.skipped[name(test)] = " ".join(texts)
        self.passed -= self.failed.keys()

    def mark_unfinished(self, reason):
        """Marks the running tests, and those that did not run, as failed."""
        self.failed |= {test: [reason] for test in self.started}
        left = len(self.known - self.passed - self.failed.keys() - self.skipped.keys())
        if left:
            self.failed["the tests after that"] = [f"{left} did not run"]


def name(test):
    """Target.Suite/function(), without the source location."""
    return re.sub(r"/[^/]*\.swift:\d+:\d+$", "", test)


def run(command, folder, limit, output=None, number=0):
    """The exit code and the events of one run; the events are None if no test was found."""
    path = pathlib.Path(folder) / f"events-{number}.jsonl"
    path.unlink(missing_ok=True)
    options = ["--event-stream-output-path", str(path), "--event-stream-version", "0"]
    status = wait(subprocess.Popen(command + options, stdout=output, stderr=subprocess.STDOUT if output else None, start_new_session=True), limit)
    if not path.exists():
        return status or 1, None
    events = Events()
    events.read(path)
    if status is None or events.started:
        events.mark_unfinished(HANGS if status is None else f"it never ended: exit code {status}")
    return 1 if status is None else status, events


def run_lanes(command, lanes, workers, folder, limit):
    """The results of all lanes."""
    def lane(number):
        output = pathlib.Path(folder) / f"output-{number}"
        with open(output, "wb") as file:
            ended = run(command + ["--filter", lanes[number]], folder, limit, file, number)
        with printing:
            sys.stdout.buffer.write(output.read_bytes())
            sys.stdout.buffer.flush()
        return ended

    printing, total = threading.Lock(), Events()
    with concurrent.futures.ThreadPoolExecutor(workers or len(lanes)) as pool:
        ended = list(pool.map(lane, range(len(lanes))))
    for status, events in ended:
        if events is None:
            return status, None
        total.passed |= events.passed
        total.failed |= events.failed
        total.skipped |= events.skipped
    return max(status for status, _ in ended), total


def command_for_test(command, test):
    """The same command for one test."""
    for option in ("--filter", "--skip"):
        while option in command:
            command = command[: command.index(option)] + command[command.index(option) + 2:]
    return command + ["--filter", "^" + re.escape(test)]


def empty_entry(label):
    return {"label": label, "passed": 0, "failed": {}, "skipped": {}, "flaky": {}}


def append_entry(report, entry, seconds, cpu):
    with open(report, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry | {"seconds": seconds, "cpu": cpu}) + "\n")


def cpu_seconds():
    """CPU seconds of all ended child processes."""
    spent = os.times()
    return spent.children_user + spent.children_system


def tests(label, once_more, lanes, workers, limit, command):
    entry, flaky = empty_entry(label), set()
    with tempfile.TemporaryDirectory() as folder:
        status, events = run_lanes(command, lanes, workers, folder, limit) if lanes else run(command, folder, limit)
        if events is None:
            entry["failed"] = {label: [f"it ended with exit code {status} before a test began"]}
            return entry
        entry.update(passed=len(events.passed), failed=events.failed, skipped=events.skipped)
        if status != 0 and not events.failed:
            entry["failed"] = {label: [f"exit code {status}"]}
        elif once_more and 0 < len(events.failed) <= MAX_REPEATED_TESTS and not events.started:
            def passes(test):
                status, events = run(command_for_test(command, test), folder, limit)
                return status == 0 and events is not None and test in events.passed
            flaky = repeat_failed(entry, passes)
        if once_more:
            store_flaky(label, flaky)
    return entry


def repeat_failed(entry, passes):
    """Runs each failed test again. Returns the flaky ones, for the next run."""
    path = flaky_file(entry["label"])
    before = set(path.read_text().splitlines()) if path.exists() else set()
    flaky = set()
    for test, texts in sorted(entry["failed"].items()):
        print(f"== {test}, again (it failed)", flush=True)
        if not passes(test):
            continue
        flaky.add(test)
        if test in before:
            texts.insert(0, "flaky, as in the run before")
        else:
            entry["flaky"][test] = entry["failed"].pop(test)
            entry["passed"] += test != entry["label"]
    return flaky


def store_flaky(label, flaky):
    path = flaky_file(label)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(test + "\n" for test in sorted(flaky)))


def last_lines(command, limit):
    """The exit code, the last lines of the output, and the tests that it names as flaky."""
    last, flaky = collections.deque(maxlen=LAST_LINES), []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def listen():
        for line in process.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            texts = line.decode(errors="replace").rstrip()[:600]
            last.append(texts)
            flaky.extend(re.findall(r"^flaky: (\S+)$", texts))

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    status = wait(process, limit)
    listener.join(OUTPUT_LIMIT)
    if status is None:
        last.append(f"{HANGS}: it was ended after {limit:g} s")
    return 1 if status is None else status, list(last), flaky


def part(label, once_more, limit, command):
    entry, flaky = empty_entry(label), set()
    status, texts, named = last_lines(command, limit)
    entry["flaky"].update({name: [] for name in named})
    if status != 0:
        entry["failed"] = {label: [f"exit code {status}, and its last lines:", *texts]}
    if once_more:
        if status == LATE_ONLY:
            flaky = repeat_failed(entry, lambda _: last_lines(command, limit)[0] == 0)
        store_flaky(label, flaky)
    return entry


def clock(seconds):
    return f"{int(seconds) // 60} min {int(seconds) % 60:02} s"


def verdict(report):
    entries = [json.loads(line) for line in report.read_text().splitlines()]
    print("\n== verdict")
    for entry in entries:
        count = f", {entry['passed']} passed" if entry["passed"] else ""
        failed = f", {len(entry['failed'])} failed" if entry["failed"] else ""
        print(f"{clock(entry['seconds']):>12}  {entry['label']}{', beside others' if entry.get('beside') else ''}{count}{failed}, {clock(entry['cpu'])} of processors")
    total = sum(entry["seconds"] for entry in entries if not entry.get("beside"))
    print(f"{clock(total):>12}  in all, {clock(sum(entry['cpu'] for entry in entries))} of processors")
    for title, kind in (("skipped", "skipped"), ("flaky (failed, then passed alone)", "flaky"), ("failed", "failed")):
        found = {test: [reason] if isinstance(reason, str) else reason for entry in entries for test, reason in entry[kind].items()}
        for test, texts in sorted(found.items()):
            print(f"{title}: {test}" + "".join(f"\n    {line}" for line in texts[:LAST_LINES + 1] if line))
    failed = any(entry["failed"] for entry in entries)
    print("FAILED" if failed else "passed")
    return 1 if failed else 0


def main(arguments):
    if arguments[:1] == ["verdict"] and len(arguments) == 2:
        return verdict(pathlib.Path(arguments[1]))
    if arguments[:1] == ["time"] and len(arguments) == 5:
        append_entry(arguments[4], empty_entry(arguments[1]), float(arguments[2]), float(arguments[3]))
        return 0
    if arguments[:1] not in (["tests"], ["part"]) or "--" not in arguments:
        print(__doc__, file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_all)
    middle = arguments.index("--")
    kind, label, *options, report = arguments[:middle]
    values = dict(option.partition("=")[::2] for option in options if not option.startswith("--lane="))
    lanes = [option.removeprefix("--lane=") for option in options if option.startswith("--lane=")]
    limit = float(values["--limit"]) if "--limit" in values else None
    once_more, command = "--once-more" in values, arguments[middle + 1:]
    print(f"== {label}", flush=True)
    # A shell that execs its last command leaves it the times of the shell's ended children.
    started, spent = time.monotonic(), cpu_seconds()
    if kind == "tests":
        entry = tests(label, once_more, lanes, int(values.get("--workers", 0)), limit, command)
    else:
        entry = part(label, once_more, limit, command)
    entry["beside"] = "--beside" in values
    append_entry(report, entry, time.monotonic() - started, cpu_seconds() - spent)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
