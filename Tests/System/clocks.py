#!/usr/bin/env python3
"""Wrong clocks at random, and some on purpose: see README.md beside it.

usage: clocks.py PRODUCTS [SEEDS] [--from N] [--hosts N] [--faults] [--wrong-phone] [--story NAME]
"""
import argparse
import datetime
import inspect
import pathlib
import sys
import tempfile

import clock_world
from clock_world import DAY, HOUR, MINUTE, World

ZONES = [
    "Europe/Berlin", "UTC", "America/New_York", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu", "Australia/Lord_Howe", "Asia/Tokyo",
    "America/Los_Angeles",
]
FAULTS = [
    "forget=50", "forget=100", "resend=4", "twice=30", "shuffle", "frame=2,drop=20", "counts", "restart=50", "refuse=2", "lie=30",
]


class Choices:
    """What happens to a world, drawn from its seed."""

    def __init__(self, world, options):
        self.world, self.options, self.chance = world, options, world.chance
        self.has_server = self.chance.random() < 0.5

    def one(self):
        acts = [
            (28, self.drink), (12, self.wait), (24, self.poll), (14, self.set_clock), (8, self.restart), (5, self.travel), (3, self.phone), (3, self.world.lose_power),
            (2, self.resolve),
        ]
        self.chance.choices([act for _, act in acts], [weight for weight, _ in acts])[0]()

    def host(self):
        return self.chance.choice(self.world.hosts)

    def drink(self):
        for _ in range(self.chance.randint(1, 3)):
            self.world.pass_time(self.chance.randint(5, 150) * MINUTE)
            self.world.sip()

    def wait(self):
        low, high, unit = self.chance.choice([(1, 20, HOUR), (1, 20, HOUR), (1, 4, DAY), (1, 4, DAY), (5, 30, DAY), (30, 200, DAY)])
        self.world.pass_time(self.chance.randint(low, high) * unit)

    def poll(self):
        host, options, faults, kill_after = self.host(), [], "", None
        if self.chance.random() < 0.08:
            options.append("--keep")
        if host.error == 0 and self.chance.random() < 0.06:
            options.append("--trust-clock")
        if self.options.faults and self.chance.random() < 0.35:
            if self.chance.random() < 0.5:
                kill_after = self.chance.uniform(0.03, 0.15)
            else:
                faults = self.chance.choice(FAULTS)
        self.world.poll(host, *options, faults=faults, kill_after=kill_after)

    def set_clock(self):
        host, draw = self.host(), self.chance.random()
        if draw < 0.35:
            host.set_clock(0, self.has_server and self.chance.random() < 0.6)
        elif draw < 0.45:
            host.set_clock(self.chance.choice(host.errors))
        else:
            low, high, unit = self.chance.choice([(1, 90, MINUTE), (2, 30, HOUR), (2, 30, HOUR), (1, 20, DAY), (1, 60, DAY), (60, 400, DAY), (365, 1825, DAY)])
            host.set_clock(self.chance.choice([1, -1]) * self.chance.randint(low, high) * unit)

    def restart(self):
        host = self.host()
        away = self.chance.choice([self.chance.randint(1, 30) * MINUTE, self.chance.randint(1, 20) * HOUR, self.chance.randint(1, 20) * DAY])
        self.world.pass_time(away)
        host.start()
        # A clock without a battery goes on where it stood, or begins anew with 1970 or the system's own date.
        error = self.chance.choice([host.error, host.error - away, host.error - away, 0, -self.world.now, 1_740_000_000_000 - self.world.now])
        self.world.say(f"{host.name} was away for {away / HOUR:.1f} h")
        host.set_clock(error, error == 0 and self.has_server and self.chance.random() < 0.5)

    def travel(self):
        self.world.travel(self.chance.choice(ZONES))

    def phone(self):
        wrong = self.options.wrong_phone and self.chance.random() < 0.3
        self.world.phone_sets_bottle(self.chance.choice([1, -1]) * self.chance.randint(2, 400) * DAY if wrong else 0)

    def resolve(self):
        self.host().run("waterh-tracker", "journal", "resolve")

    def make_well(self):
        """Every clock is right again, and a time server or a person says so; what is still doubtful is dated by hand."""
        world, trust = self.world, [] if self.has_server else ["--trust-clock"]
        for host in world.hosts:
            host.set_clock(0, self.has_server)
        world.pass_time(3 * HOUR)
        for _ in range(2):
            self.poll_all(trust)
        world.sip()
        world.pass_time(HOUR)
        self.poll_all(trust)
        if len(world.hosts) == 1 and world.records:
            world.fail(f"{len(world.records)} records stay in the bottle")
        for host in world.hosts:
            for ml, record in world.judge()[host.name].items():
                code, said = host.run("waterh-tracker", "journal", "set", f"r{record}", "--at", clock_world.words(world.drunk[ml]) + "Z")
                if code != 0:
                    world.fail(f"{host.name} lets nobody date {ml} ml: {said.strip()[:200]}")
        self.poll_all(trust)
        world.judge()

    def poll_all(self, options):
        for host in self.world.hosts:
            self.world.poll(host, *options)
            self.world.pass_time(HOUR)


class Stories:
    """What adversaries have found, step by step. Each ends with what has to be true."""

    def vouched_by_a_server(self, world, host, options=(), is_vouched=True):
        """A computer four days behind sets a bottle that has lost its clock; one sip is polled, one is not; a restart, and a right clock."""
        host.set_clock(-4 * DAY)
        world.lose_power()
        world.poll(host)
        self.sip_and_wait(world)
        world.poll(host)
        self.sip_and_wait(world)
        host.start()
        host.set_clock(0, is_vouched)
        for _ in range(2):
            world.poll(host, *options)
            world.pass_time(HOUR)

    def vouched_by_a_person(self, world, host):
        """The same, and a person says that the clock is right."""
        self.vouched_by_a_server(world, host, ["--trust-clock"], False)

    def clock_falls_back(self, world, host):
        """A lone clock falls back by 128 days in one start of the computer, and the bottle, right until then, is taken for its echo; after a restart a time server
        shows what the bottle was told."""
        world.lose_power()
        world.poll(host)
        for _ in range(2):
            self.sip_and_wait(world)
        host.set_clock(-128 * DAY)
        world.poll(host)
        world.pass_time(DAY)
        host.start()
        host.set_clock(0, True)
        for _ in range(2):
            world.poll(host)
            world.pass_time(HOUR)

    def phone_dispels_a_doubt(self, world, host, other):
        """A computer nine days behind sets the bottle; a right one sees that, and keeps the sip as doubtful; then the phone app sets the bottle right."""
        other.set_clock(-9 * DAY)
        world.lose_power()
        world.poll(other)
        self.sip_and_wait(world)
        world.poll(host)
        world.pass_time(HOUR)
        world.phone_sets_bottle()
        world.pass_time(HOUR)
        world.poll(host)
        world.poll(host, "--trust-clock")

    @staticmethod
    def sip_and_wait(world):
        world.pass_time(HOUR)
        world.sip()
        world.pass_time(HOUR)

    @classmethod
    def names(cls):
        return [name for name in vars(cls) if name not in ("sip_and_wait", "names", "tell") and not name.startswith("_")]

    def tell(self, name, products, library):
        act = getattr(self, name)
        people = [parameter for parameter in inspect.signature(act).parameters.values() if parameter.name in ("host", "other")]
        world = World(products, library, name, datetime.datetime(2026, 10, 6, 8, tzinfo=datetime.timezone.utc), len(people))
        act(world, *world.hosts)
        world.judge()
        return world


def random_world(products, library, seed, options):
    world = World(products, library, seed, datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), options.hosts)
    world.pass_time(world.chance.randint(0, 700) * DAY + world.chance.randint(0, 23) * HOUR)
    world.phone_sets_bottle()
    for host in world.hosts:
        host.start()
    choices = Choices(world, options)
    for _ in range(world.chance.randint(8, 26)):
        choices.one()
    choices.make_well()
    return world


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("products", help="folder of the built commands")
    parser.add_argument("seeds", nargs="?", type=int, default=20)
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=1, choices=[1, 2, 3])
    parser.add_argument("--faults", action="store_true", help="polls are killed, and the bottle has bad days")
    parser.add_argument("--wrong-phone", action="store_true", help="the phone app's clock may be wrong, too")
    parser.add_argument("--story", choices=[*Stories.names(), "all"])
    options = parser.parse_args()
    bad, polls, sips = 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="waterh-clocks-") as folder:
        library = clock_world.library(pathlib.Path(folder))
        names = Stories.names() if options.story == "all" else [options.story] if options.story else None
        for name in names or range(options.first, options.first + options.seeds):
            world = Stories().tell(name, options.products, library) if names else random_world(options.products, library, name, options)
            polls, sips = polls + world.polls, sips + len(world.drunk)
            if world.failures:
                bad += 1
                print("\n".join([f"{'story' if names else 'seed'} {name}:", *world.story]), flush=True)
            elif names:
                print(f"story {name}: as it should be", flush=True)
            world.remove()
    print(f"clocks: {bad} bad of {len(names) if names else options.seeds}; {polls} polls, {sips} sips")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
