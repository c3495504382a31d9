#!/usr/bin/env python3
"""A system simulation with real processes on one store: see README.md.

usage: chaos.py PRODUCTS [MINUTES] [--seed N]
"""
import argparse
import json
import os
import pathlib
import random
import signal
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "SyncTests"))
from actions import READ_ONLY_COMMANDS, Actions
from bottle import Bottle
from processes import last_line
from programs import own_mounts
from server import SyncServer
from service import Service
from verdict import FinalChecks, dump
from world import World

# The exit code if only time limits were missed (EX_TEMPFAIL).
LATE_ONLY = 75
# A bottle without faults is empty after this many polls.
FINAL_POLLS = 12


class Chaos:
    def __init__(self, products, seed):
        self.world = World(products, seed)
        self.rng = random.Random(seed)
        self.server = SyncServer()
        self.server.start()
        self.bottle = Bottle(self.world, random.Random(f"{seed} bottle"))
        self.service = Service(self.world, random.Random(f"{seed} service"), self.bottle)
        self.actions = Actions(self.world, random.Random(f"{seed} acts"), self.bottle, self.service, self.server)
        self.bottle_returns = None
        self.statistics = {}

    def run(self, minutes):
        # Several processes create the store at the same time.
        self.bottle.start("")
        for _ in range(4):
            self.actions.log()
        self.actions.tracker("settings", "settings", "set", "sync.url", self.server.url)
        end, seen = time.monotonic() + minutes * 60, time.monotonic()
        while time.monotonic() < end:
            self.actions.perform_one()
            self.step()
            if time.monotonic() - seen > 60:
                seen = time.monotonic()
                print(f"  {seen - self.world.started:7.1f} s  {self.bottle.sip_count} sips, {self.world.number} processes", flush=True)
            time.sleep(self.rng.choice([0.01, 0.03, 0.1, 0.2]))
        self.settle()

    def step(self):
        """Checks ended processes, and restarts those that are down."""
        self.collect()
        self.actions.resume_stopped()
        self.service.watch()
        if self.world.is_full and self.rng.random() < 0.05:
            self.world.free_disk()
        if not self.bottle.is_up:
            if self.bottle_returns is None:
                self.bottle_returns = time.monotonic() + self.rng.choice([0, 0.3, 2])
            elif time.monotonic() >= self.bottle_returns:
                self.bottle_returns = None
                self.bottle.start()

    def collect(self):
        for child in self.world.collect():
            if child.name == "log":
                self.actions.record_log(child)
            if child.name == "poll" and child.process.returncode == 0:
                self.check_sums(child)

    def check_sums(self, child):
        try:
            report = json.loads(child.output())
            parts = report["new"] + report["duplicates"]
        except (ValueError, KeyError):
            return self.world.fail(f"{child.label} ended with 0 and printed no report: {child.output()[:200]!r}")
        if report["acknowledged"] + report.get("unconfirmed", 0) > parts:
            self.world.fail(f"{child.label} acknowledged {report['acknowledged']} of {parts} records")

    # --- the end ---

    def settle(self):
        """Ends all failures, empties the bottle, and checks the result."""
        world = self.world
        world.log("settle")
        world.free_disk()
        world.set_clock(0)
        world.set_zone("Europe/Berlin")
        self.server.mood = "well"
        self.actions.resume_stopped(all_processes=True)
        self.wait(lambda: not [child for child in world.children if child.name not in ("service", "emulator")], 200, "the last commands")
        if self.service.is_up:
            was_ready = self.service.ready
            self.service.child.send(signal.SIGTERM)
            if self.wait(lambda: not self.service.is_up, 45, "the service after SIGTERM") and was_ready:
                if self.service.child.process.returncode not in (0, -9):
                    world.fail(f"{self.service.child.label} did not stop cleanly: {self.service.child.process.returncode}")
        self.run_process("settings", "waterh-tracker", "settings", "set", "bottle.recordDialect", "calendar", "day.zone", "unset", "bottle.readDelayS", "0")
        self.bottle.kill(signal.SIGTERM)
        self.wait(lambda: not self.bottle.is_up, 30, "the emulator after SIGTERM")
        self.bottle.start("")
        self.wait(self.bottle.is_ready, 30, "the emulator's start")
        self.empty_bottle()
        self.check_read_only_commands()
        self.bottle.kill(signal.SIGTERM)
        self.wait(lambda: not self.bottle.is_up, 30, "the emulator after SIGTERM")
        verdict = FinalChecks(world, self.bottle, self.actions)
        verdict.check()
        self.statistics = verdict.statistics

    def empty_bottle(self):
        child = None
        for _ in range(FINAL_POLLS):
            child = self.run_process("last-poll", "waterh-gateway", "poll", "--link", f"unix:{self.bottle.link}", "--trust-clock", "--json", limit=150)
            try:
                report = json.loads(child.output())
            except ValueError:
                continue
            if child.process.returncode == 0 and report["complete"] and report["received"] == 0:
                return
        self.world.fail(f"the bottle is not empty after {FINAL_POLLS} polls without faults: {last_line(child.errors() or child.output())}")

    def check_read_only_commands(self):
        for words in READ_ONLY_COMMANDS:
            before = dump(self.world)
            self.run_process(f"look-{words[0]}", "waterh-tracker", *words)
            self.compare(before, " ".join(words))
        before = dump(self.world)
        self.run_process("look-doctor", "waterh-gateway", "doctor", "--link", f"unix:{self.bottle.link}")
        self.compare(before, "doctor")

    def compare(self, before, words):
        after = dump(self.world)
        if before != after:
            changed = sorted(set(after) ^ set(before))
            self.world.fail(f"'{words}' only reads, and changed the store: {str(changed[:3])[:300]}")

    def run_process(self, name, product, *words, limit=60):
        """Runs one process to its end."""
        child = self.world.start(name, product, [*words, "--store", self.world.store], limit=limit)
        self.wait(lambda: not child.is_running, limit + 20, child.label)
        self.collect()
        return child

    def wait(self, is_true, limit, what):
        end = time.monotonic() + limit
        while not is_true():
            self.collect()
            if time.monotonic() > end:
                self.world.fail(f"{what} took longer than {limit} s", is_late=True)
                return False
            time.sleep(0.02)
        self.collect()
        return True

    def close(self, keep):
        for child in self.world.children:
            if child.is_running:
                child.process.kill()
                child.process.wait()
        self.server.shutdown()
        self.world.close(keep)


def main():
    parser = argparse.ArgumentParser(prog="hardware/bench chaos", description="Run every program as a real process on one store, with failures at random.")
    parser.add_argument("products", help=argparse.SUPPRESS)
    parser.add_argument("minutes", nargs="?", type=float, default=10, help="duration (default 10; fractions are allowed)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the choices of a run (default CHAOS_SEED, or a new seed)")
    options = parser.parse_args()
    if not 0 < options.minutes <= 10_000:
        parser.error(f"invalid MINUTES {options.minutes:g}: expected more than 0, at most 10000")
    own_mounts()
    seed = options.seed if options.seed is not None else int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(1, 1_000_000))
    print(f"chaos: {options.minutes:g} minutes, --seed {seed}", flush=True)
    chaos = Chaos(options.products, seed)
    world = chaos.world
    if not world.has_small_disk:
        print("  without root there is no small disk: the disk is never full in this run", flush=True)
    if not world.has_clock:
        print("  without gcc the host's clock is correct in this run", flush=True)
    is_finished = False
    try:
        chaos.run(options.minutes)
        is_finished = True
    finally:
        good = is_finished and not world.failures
        chaos.close(keep=not good)
        if not is_finished:
            print(f"chaos: aborted; the logs are in {world.folder}", flush=True)
    print(f"  {chaos.bottle.profile} {chaos.bottle.model}, {world.number} processes, {chaos.server.requests} requests to the sync server")
    print("  " + ", ".join(f"{name} {value}" for name, value in chaos.statistics.items()))
    if good:
        print(f"chaos: no failures (--seed {seed})")
        return 0
    print(f"chaos: {len(world.failures)} failures with --seed {seed}{'' if world.broken_guarantees else ', all of them time limits'}; the logs and timeline.txt are in {world.folder}")
    return 1 if world.broken_guarantees else LATE_ONLY


if __name__ == "__main__":
    sys.exit(main())
