"""The actions of users, timers and failures in the simulation. Every choice is drawn from the seed."""
import json
import pathlib
import signal
import sys
import time

from world import ZONES
from server import MOODS

DAY = 86_400
CENTRAL_SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "Foreign/att_central.py"
READ_ONLY_COMMANDS = [
    ["status"], ["status", "--json"], ["status", "--format", "waybar"], ["history"], ["history", "--day", "today"], ["history", "--month", "2026-11"],
    ["streak"], ["session", "show"], ["session", "list"], ["settings", "get"], ["preset", "list"], ["export", "--format", "csv"],
    ["export", "--format", "json"], ["export", "--format", "apple-health"], ["check", "--doctor"], ["journal", "list"], ["why"],
]
SETTINGS = [
    ("hydration.goalMl", ["1500", "2500", "3000"]), ("bottle.alias", ["unset", "kitchen", "unset"]), ("day.zone", ["unset", *ZONES]),
    ("bottle.recordDialect", ["calendar", "strict", "calendar"]), ("pace.mode", ["wholeHours", "continuous"]),
    ("waterline.intervalMinutes", ["15", "20", "30"]), ("health.enabled", ["true", "false"]), ("sync.url", ["URL", "URL", "URL", "unset"]),
    ("schedule.wake", ["06:00", "08:00"]), ("reminders.engine", ["pace", "adaptive"]), ("day.boundaryHour", ["0", "4"]),
    ("bottle.readDelayS", ["0", "0.5"]),
]


class Actions:
    def __init__(self, world, rng, bottle, service, server):
        self.world, self.rng, self.bottle, self.service, self.server = world, rng, bottle, service, server
        self.logged, self.unconfirmed, self.edits = {}, [], 0  # The amounts of confirmed logs by key; those of unconfirmed ones.
        self.stopped = []  # (when to continue, child)
        self.choices = [
            (30, self.bottle.sip), (10, self.log), (14, self.read), (4, self.session), (3, self.change), (4, self.settings), (6, self.poll), (5, self.check),
            (8, self.service.reload), (2, self.phone), (4, self.kill), (1.5, self.terminate), (2, self.stop), (1.5, self.clock), (1, self.travel),
            (1, self.disk), (2, self.change_server), (1.5, self.restart_bottle), (1.5, self.use_bottle), (1.5, self.doctor),
        ]

    def perform_one(self):
        weights = [weight for weight, _ in self.choices]
        self.rng.choices([action for _, action in self.choices], weights)[0]()

    # --- users ---

    def tracker(self, name, *words, reads=False):
        # A user types a few commands at a time.
        if sum(child.name not in ("emulator", "service") for child in self.world.children) < 6:
            return self.world.start(name, "waterh-tracker", [*words, "--store", self.world.store], reads=reads)
        return None

    def log(self):
        ml = self.rng.randint(1, 2000)
        child = self.tracker("log", "log", ml, "--json")
        if child:
            child.notes["ml"] = ml

    def record_log(self, child):
        """Notes the result of a `log`."""
        ml = child.notes["ml"]
        if child.process.returncode != 0:
            # Killed, or failed after the commit.
            return self.unconfirmed.append(ml)
        try:
            self.logged[json.loads(child.output())["drink"]["key"]] = ml
        except (ValueError, KeyError):
            self.world.fail(f"{child.label} ended with 0 and printed no drink: {child.output()[:200]!r}")

    def read(self):
        words = self.rng.choice(READ_ONLY_COMMANDS)
        self.tracker(f"read-{words[0]}", *words, reads=True)

    def session(self):
        self.tracker(*self.rng.choice([
            ("session", "session", "start"), ("drink", "drink", "Beer"), ("drink", "water"), ("session", "session", "end", "--yes"),
            ("drink", "drink", "Shot"), ("session", "session", "keep-going")]))

    def change(self):
        if not self.logged:
            return
        key = self.rng.choice(sorted(self.logged))
        if self.rng.random() < 0.5:
            self.edits += 1
            self.tracker("edit", "edit", key, "--ml", self.rng.randint(1, 2000))
        else:
            self.tracker("delete", "delete", key)

    def settings(self):
        name, values = self.rng.choice(SETTINGS)
        value = self.rng.choice(values)
        self.tracker("settings", "settings", "set", name, self.server.url if value == "URL" else value)

    def poll(self):
        self.world.start("poll", "waterh-gateway", ["poll", "--link", f"unix:{self.bottle.link}", "--store", self.world.store, "--json"], limit=150)

    def check(self):
        self.tracker("check", "check", *(["--json"] if self.rng.random() < 0.5 else []))

    def doctor(self):
        self.world.start("doctor", "waterh-gateway", ["doctor", "--store", self.world.store, "--link", f"unix:{self.bottle.link}"], limit=60, reads=True)

    def phone(self):
        if self.bottle.profile != "retail" and self.bottle.is_ready():
            self.world.start("phone", sys.executable, [CENTRAL_SCRIPT, self.bottle.link, "founding"])

    def use_bottle(self):
        if self.bottle.is_ready():
            self.bottle.random_action()

    # --- failures ---

    def running_process(self):
        candidates = [child for child in self.world.children if child.name != "emulator" and child.is_running]
        return self.rng.choice(candidates) if candidates else None

    def kill(self):
        if running_process := self.running_process():
            running_process.send(signal.SIGKILL)

    def terminate(self):
        if (running_process := self.running_process()) and not running_process.is_stopped:
            # Python prints a traceback if it receives SIGINT during its start.
            running_process.send(signal.SIGTERM if running_process.name == "phone" else self.rng.choice([signal.SIGTERM, signal.SIGTERM, signal.SIGINT]))

    def stop(self):
        running_process = self.running_process()
        if running_process and not running_process.is_stopped:
            running_process.send(signal.SIGSTOP)
            self.world.last_stop = time.monotonic()
            self.stopped.append((time.monotonic() + self.rng.choice([0.05, 0.5, 2, 8]), running_process))

    def resume_stopped(self, all_processes=False):
        """Continues the stopped processes whose time is over."""
        for entry in list(self.stopped):
            if all_processes or time.monotonic() >= entry[0]:
                self.stopped.remove(entry)
                entry[1].resume()
                self.world.last_stop = time.monotonic()

    def clock(self):
        if self.world.shift != 0 and self.rng.random() < 0.7:
            return self.world.set_clock(0)
        near, far = [-90, 300, 3600, -7200, 40_000], [-51 * DAY, 51 * DAY, -3 * DAY, 3 * DAY, -300 * DAY, 400 * DAY, -20_000 * DAY]
        self.world.set_clock(self.rng.choice(near + far))

    def travel(self):
        self.world.set_zone(self.rng.choice(ZONES))

    def disk(self):
        if not self.world.is_full:
            self.world.fill_disk(self.rng.choice([0, 0, 4096, 40_000, 200_000]))

    def change_server(self):
        self.server.mood = self.rng.choice(MOODS)
        self.world.log(f"the sync server is {self.server.mood}")

    def restart_bottle(self):
        self.bottle.kill(self.rng.choice([signal.SIGKILL, signal.SIGTERM]))
