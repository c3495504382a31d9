"""The bottle of the simulation: the emulator, restarted with other faults, and the list of its drinks."""
import collections
import json
import signal
import time

from programs import control

# The amounts of the sips: one repeats only after all others.
AMOUNTS = range(1, 901)
# The log holds 500 records (protocol spec P3.4, rule 6); then the bottle overwrites the oldest.
FULL_LOG = 470


def fault_plan(rng, is_pieced=False):
    """A random fault plan without faults that no gateway can detect: reordered pieces of entries, and records that the bottle
    overwrites (`ring`)."""
    words = [
        f"drop={rng.choice([2, 5, 10, 20])}", f"twice={rng.choice([5, 20])}", f"slow={rng.choice([20, 150])}",
        f"gap={rng.choice([5, 30])}", "ignore=20", f"early={rng.choice([200, 500])}", f"hang-up={rng.randint(2, 20)}",
        f"hang-up-once={rng.randint(2, 20)}", "refuse=2", f"cut={rng.choice([3, 10])}", f"split={rng.choice([20, 23, 31, 47])}",
        "shuffle", "restart=50", "interleave=30", f"length={rng.choice([5, 10])}", f"entry={rng.choice([5, 10])}", "lie=30", "foreign=10",
        "endless", "forget=50", f"resend={rng.randint(1, 12)}", "drift=200", "step=40", "power=1", "keep-alive",
        f"disconnect@{rng.randint(3, 120)}", f"lose@{rng.randint(1, 14)}", f"repeat@{rng.randint(1, 14)}", f"delay@{rng.randint(1, 10)}:500ms",
        f"late@{rng.randint(1, 20)}:2s", f"silent@{rng.randint(3, 30)}", f"deaf@{rng.randint(1, 6)}", f"mtu={rng.choice([23, 64, 185])}",
    ]
    chosen = rng.sample(words, rng.choice([0, 0, 1, 1, 2, 3]))
    if any(word.startswith(("split", "cut")) for word in chosen):
        chosen = [word for word in chosen if not word.startswith(("shuffle", "delay"))]
    return ",".join(chosen)


class Bottle:
    def __init__(self, world, rng):
        self.world, self.rng = world, rng
        self.flash = world.bench / "bottle.json"
        self.link, self.control = world.bench / "b.sock", world.bench / "c.sock"
        self.profile = rng.choice(["retail", "draft", "both", "both"])
        self.model = rng.choice(["boost", "vita"])
        self.confirmed, self.unconfirmed = collections.Counter(), collections.Counter()
        self.clocks = collections.defaultdict(list)  # By amount: the bottle's clock.
        self.times = collections.defaultdict(list)  # By amount: the true times, ms.
        self.sip_count, self.child, self.waiting = 0, None, 0

    def start(self, faults=None):
        faults = fault_plan(self.rng) if faults is None else faults
        seed = self.rng.randrange(1, 1 << 32)
        arguments = ["run", "--link", f"unix:{self.link}", "--control", f"unix:{self.control}", "--profile", self.profile, "--model", self.model,
                     "--store", self.flash, "--seed", seed]
        # The bottle's clock does not follow the host's.
        self.child = self.world.start("emulator", "waterh-emulator", arguments + (["--faults", faults] if faults else []), limit=None,
                                      environment={"CLOCK_SHIFT": "", "TZ": "Europe/Berlin"})

    @property
    def is_up(self):
        return self.child is not None and self.child.is_running

    def is_ready(self):
        return self.is_up and "ready " in self.child.output()

    def kill(self, number=signal.SIGKILL):
        if self.is_up:
            self.child.send(number)

    def sip(self):
        """A drink. A confirmed one is recorded; an unconfirmed one can be."""
        if not self.is_ready():
            return
        if self.waiting >= FULL_LOG:
            # A poll can have emptied it.
            self.waiting = len(self.records())
            return
        amount = AMOUNTS[self.sip_count % len(AMOUNTS)]
        self.sip_count += 1
        self.times[amount].append(int(time.time() * 1000))
        try:
            status = control(f"unix:{self.control}", "sip", amount)
            self.waiting = status["records"]
            self.clocks[amount].append(status["clock"])
            self.confirmed[amount] += 1
            self.world.log(f"sip {amount}")
        except ConnectionRefusedError:
            pass
        except (OSError, ValueError) as error:
            self.unconfirmed[amount] += 1
            self.world.log(f"sip {amount} unconfirmed: {error!r}")

    def least_records(self, amount):
        """The number of confirmed sips with a record of their own. A clock that restarts or is set back writes the same second again,
        and a record is identified by wall time and amount (tracker spec A6). A second can pass between record and response."""
        seen = []
        for clock in self.clocks[amount]:
            date, _, time_of_day = clock.partition("T")
            hours, minutes, seconds = (int(part) for part in time_of_day.split(":"))
            moment = hours * 3600 + minutes * 60 + seconds
            if not any(date == other and abs(moment - at) <= 1 for other, at in seen):
                seen.append((date, moment))
        return len(seen)

    def random_action(self):
        """Another action with the bottle."""
        word, value = self.rng.choice([("refill", None), ("battery", self.rng.randint(0, 100)), ("drop", None), ("press", None),
                                          ("charging", self.rng.choice(["on", "off"])), ("power-loss", None)])
        if word == "power-loss" and self.rng.random() < 0.7:
            return
        try:
            control(f"unix:{self.control}", word, value)
            self.world.log(f"bottle: {word} {value if value is not None else ''}")
        except (OSError, ValueError):
            pass

    def records(self):
        """The 13 bytes of each record still in the bottle."""
        try:
            return [bytes.fromhex(record["raw"]) for record in json.loads(self.flash.read_text())["flash"]["records"]]
        except FileNotFoundError:
            return []
