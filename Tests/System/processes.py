"""The processes of the simulation: each has a log, gets signals, and is checked at its end."""
import re
import signal
import subprocess
import time

# The exit codes of the CLI spec (C2), and the signs of a crash and of a damaged store.
EXIT_CODES = {0, 1, 2, 3, 4, 5, 130}
CRASH = re.compile(r"Fatal error|Program crashed|AddressSanitizer|SIGILL|SIGSEGV|SIGABRT|SIGTRAP|malloc\(\)|free\(\):|Traceback \(most recent")
DAMAGE = re.compile(r"malformed|not a database|is damaged|disk image|database of another program|later version", re.I)
# A missed time limit, which also occurs on a busy machine.
LATE = re.compile(r"Another process locked the store for more than")
# Messages of expected failures, by the failure that the simulation injected.
EXPECTED_ERRORS = {
    "disk": re.compile(r"full|no space|disk I/O|cannot be written|could not be written|Writing .* failed|kept no room|ENOSPC", re.I),
    "busy": re.compile(r"busy|locked|another program|another process|in use|SQLITE_BUSY", re.I),
    "sync": re.compile(r"server", re.I),
    "bottle": re.compile(r"did not answer|not found|unexpected bottle response|failed to connect|cannot be reached|hung up|connection", re.I),
}


class Child:
    """One process: its arguments, the signals sent to it, and its time limit."""

    def __init__(self, world, name, arguments, limit, environment=None, reads=False):
        self.world, self.name, self.arguments, self.reads = world, name, [str(a) for a in arguments], reads
        self.number = world.number = world.number + 1
        self.base = world.logs / f"{self.number:05d}-{name}"
        self.sent_signals, self.is_stopped, self.notes = [], False, {}
        self.started = time.monotonic()
        self.deadline = None if limit is None else self.started + limit
        with open(f"{self.base}.out", "wb") as out, open(f"{self.base}.err", "wb") as err:
            self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env=world.environment | (environment or {}), cwd=world.folder)
        world.log(f"start {self.label}: {' '.join(self.arguments[1:])}")

    @property
    def label(self):
        return f"{self.number:05d}-{self.name}"

    @property
    def is_running(self):
        return self.process.poll() is None

    def output(self):
        return self.text("out")

    def errors(self):
        return self.text("err")

    def text(self, suffix):
        with open(f"{self.base}.{suffix}", encoding="utf-8", errors="replace") as file:
            return file.read()

    def send(self, number):
        if not self.is_running:
            return
        self.sent_signals.append(number)
        self.is_stopped = number == signal.SIGSTOP or (self.is_stopped and number not in (signal.SIGCONT, signal.SIGKILL))
        self.world.log(f"{signal.Signals(number).name} to {self.label}")
        self.process.send_signal(number)

    def resume(self):
        if self.is_stopped:
            self.send(signal.SIGCONT)
            # The time while it was stopped does not count.
            self.deadline = self.deadline and self.deadline + 30

    @property
    def is_overdue(self):
        return self.deadline is not None and not self.is_stopped and time.monotonic() > self.deadline and self.is_running

    def check(self):
        """After its end: its error, or None."""
        code, errors = self.process.returncode, self.errors()
        self.world.log(f"end {self.label}: {signal.Signals(-code).name if code < 0 else code}, {time.monotonic() - self.started:.1f} s")
        crash = CRASH.search(errors)
        if crash:
            return f"{self.label} crashed ({crash.group()}): {last_line(errors)}"
        if code < 0:
            return None if -code in self.sent_signals else f"{self.label} died of {signal.Signals(-code).name}, and the simulation did not send it"
        if code not in EXIT_CODES:
            return f"{self.label} ended with {code}, which is not specified"
        if code == 130:
            return None if {signal.SIGTERM, signal.SIGINT} & set(self.sent_signals) else f"{self.label} reports an interruption that did not occur"
        if DAMAGE.search(errors):
            return f"{self.label} ended with {code}: {last_line(errors)}"
        if code == 2:
            return f"{self.label} rejects its arguments: {last_line(errors)}"
        expected_failures = self.world.expected_failures(self)
        if code == 4 and "bottle" in expected_failures and EXPECTED_ERRORS["bottle"].search(errors):
            return None  # The fault plan makes invalid bytes.
        if code == 4 or code == 1 and not any(EXPECTED_ERRORS[failure].search(errors + self.output()) for failure in expected_failures):
            return f"{self.label} failed with {code} without an injected failure: {last_line(errors or self.output())}"
        return None


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error") or "rror:" in line]
    return (errors or lines or ["(no output)"])[-1][:400]
