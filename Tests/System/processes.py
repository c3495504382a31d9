"""The processes of the simulation: started with a log each, signalled, collected, and judged by how they ended."""
import re
import signal
import subprocess
import time

# Every way to end that the commands' page allows (exit codes of command law C2), and what an end looks like that nobody wanted.
EXIT_CODES = {0, 1, 2, 3, 4, 5, 130}
CRASH = re.compile(r"Fatal error|Program crashed|AddressSanitizer|SIGILL|SIGSEGV|SIGABRT|SIGTRAP|malloc\(\)|free\(\):|Traceback \(most recent")
DAMAGE = re.compile(r"malformed|not a database|is damaged|disk image|database of another program|later version", re.I)
# What a machine that is too busy brings about, too: nobody promised how long a neighbour's turn takes.
LATE = re.compile(r"Another process locked the store for more than")
# Why a program may fail here and still be right: what was done to it says so.
EXCUSES = {
    "disk": re.compile(r"full|no space|disk I/O|cannot be written|could not be written|Writing .* failed|kept no room|ENOSPC", re.I),
    "busy": re.compile(r"busy|locked|another program|another process|in use|SQLITE_BUSY", re.I),
    "sync": re.compile(r"server", re.I),
    "bottle": re.compile(r"did not answer|not found|unexpected bottle response|failed to connect|cannot be reached|hung up|connection", re.I),
}


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Child:
    """One process of ours: what it was asked, what was sent to it, and when it has to be through."""

    def __init__(self, world, name, arguments, limit, environment=None, reads=False):
        self.world, self.name, self.arguments, self.reads = world, name, [str(a) for a in arguments], reads
        self.number = world.count()
        self.base = world.logs / f"{self.number:05d}-{name}"
        self.sent, self.is_stopped, self.note = [], False, {}
        self.started = time.monotonic()
        self.deadline = None if limit is None else self.started + limit
        with open(f"{self.base}.out", "wb") as out, open(f"{self.base}.err", "wb") as err:
            self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env=world.environment | (environment or {}), cwd=world.folder)
        world.line(f"start {self.label}: {' '.join(self.arguments[1:])}")

    @property
    def label(self):
        return f"{self.number:05d}-{self.name}"

    @property
    def is_running(self):
        return self.process.poll() is None

    def output(self):
        return self.text("out")

    def complaint(self):
        return self.text("err")

    def text(self, suffix):
        with open(f"{self.base}.{suffix}", encoding="utf-8", errors="replace") as file:
            return file.read()

    def send(self, number):
        if not self.is_running:
            return
        self.sent.append(number)
        self.is_stopped = number == signal.SIGSTOP or (self.is_stopped and number not in (signal.SIGCONT, signal.SIGKILL))
        self.world.line(f"{signal_name(number)} to {self.label}")
        self.process.send_signal(number)

    def go_on(self):
        if self.is_stopped:
            self.send(signal.SIGCONT)
            # The time in which it stood still is not its own.
            self.deadline = self.deadline and self.deadline + 30

    @property
    def is_overdue(self):
        return self.deadline is not None and not self.is_stopped and time.monotonic() > self.deadline and self.is_running

    def judge(self):
        """After its end: what is wrong with it, a sentence, or None."""
        code, complaint = self.process.returncode, self.complaint()
        self.world.line(f"end {self.label}: {signal_name(-code) if code < 0 else code}, {time.monotonic() - self.started:.1f} s")
        crash = CRASH.search(complaint)
        if crash:
            return f"{self.label} crashed ({crash.group()}): {last_line(complaint)}"
        if code < 0:
            return None if -code in self.sent else f"{self.label} died of {signal_name(-code)} that nobody sent"
        if code not in EXIT_CODES:
            return f"{self.label} ended with {code}, which is on no page"
        if code == 130:
            return None if {signal.SIGTERM, signal.SIGINT} & set(self.sent) else f"{self.label} says it was interrupted, and nobody did that"
        if DAMAGE.search(complaint):
            return f"{self.label} ended with {code}: {last_line(complaint)}"
        if code == 2:
            return f"{self.label} takes its arguments for wrong use: {last_line(complaint)}"
        excuses = self.world.excuses(self)
        if code == 4 and "bottle" in excuses and EXCUSES["bottle"].search(complaint):
            return None  # The bottle's bytes are bad, and that is what the plan of faults asked for.
        if code == 4 or code == 1 and not any(EXCUSES[excuse].search(complaint + self.output()) for excuse in excuses):
            return f"{self.label} failed with {code} and no reason that the simulation gave it: {last_line(complaint or self.output())}"
        return None


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error") or "rror:" in line]
    return (errors or lines or ["(it said nothing)"])[-1][:400]
