"""A long bad day: somebody sips all the while, and every few seconds something is killed or switched off. Each sip is in the
store exactly once at the end, and the figures are printed.

usage: soak.py MINUTES [SEED]
"""
import collections
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time

from bench import PRODUCTS, Emulator, Failure, bluetoothd, poll, power, run, store
from pair import rows

# What the gateway takes for a drink (tracker law A6): each amount comes again only after so many sips.
AMOUNTS = range(1, 901)
# Records that a bottle holds (protocol law P3.4, rule 6): beyond, it loses the oldest by itself, and the soak's question is void.
CAPACITY = 480


class Day:
    """What has happened so far. Each list belongs to one thread; the others only read."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.place, self.flash = store(), store()
        self.certain, self.doubtful = collections.Counter(), collections.Counter()
        self.mishaps, self.polls, self.failures, self.totals = (collections.Counter() for _ in range(4))
        self.resident = collections.Counter()
        self.over = threading.Event()
        self.bottle, self.gateway, self.lock = self.emulator(), None, threading.Lock()

    def emulator(self):
        return Emulator("--profile", "retail", "--store", self.flash, "--quiet")

    # --- sips ---

    def drink(self):
        chance, number = random.Random(self.chance.random()), 0
        while not self.over.wait(chance.uniform(0.3, 1.5)):
            amount = AMOUNTS[number % len(AMOUNTS)]
            number += 1
            try:
                self.tell("sip", amount)
                self.certain[amount] += 1
            except ConnectionRefusedError:
                pass  # Nobody drinks from a bottle that is being repaired.
            except (OSError, ValueError):
                # What a killed process did not confirm may or may not be in its flash.
                self.doubtful[amount] += 1

    def tell(self, word, value=None):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
            control.settimeout(30)
            control.connect(self.bottle.control.removeprefix("unix:"))
            control.sendall(json.dumps({"do": word} | ({} if value is None else {"value": str(value)})).encode() + b"\n")
            answer = json.loads(control.makefile().readline())
        if not answer["ok"]:
            raise ValueError(answer)
        return answer["status"]

    # --- polls ---

    def collect(self):
        while not self.over.is_set():
            self.gateway = subprocess.Popen([f"{PRODUCTS}/waterh-gateway", "poll", "--link", "bluez:hci0", "--store", self.place, "--json"],
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                said, complaint = self.gateway.communicate(timeout=180)
            except subprocess.TimeoutExpired:
                self.polls["hung"] += 1
                print("  a poll was still running after 180 s", flush=True)
                self.gateway.kill()
                self.gateway.communicate()
                continue
            self.note(self.gateway.returncode, said, complaint)

    def note(self, code, said, complaint):
        if code == -9:
            self.polls["killed"] += 1
        elif code < 0:
            self.polls["crashed"] += 1
            print(f"  a poll ended with signal {-code}: {complaint[-600:]}", flush=True)
        else:
            self.polls["whole" if code == 0 else "failed"] += 1
            if code:
                self.failures[json.loads(said).get("error") if said.startswith("{") else "without JSON"] += 1
        if said.startswith("{"):
            report = json.loads(said)
            for name in ("received", "new", "duplicates", "acknowledged", "suspect", "quarantined"):
                self.totals[name] += report.get(name) or 0

    # --- mishaps ---

    def mishap(self):
        what = self.chance.choice(["bluetoothd", "emulator", "emulator", "gateway", "gateway", "hci0", "hci1"])
        self.mishaps[what] += 1
        if what == "bluetoothd":
            bluetoothd("kill")
            time.sleep(self.chance.uniform(0, 2))
            self.revive()
        elif what == "emulator":
            self.bottle.kill()
            time.sleep(self.chance.uniform(0, 1))
            self.alive()
        elif what == "gateway":
            if self.gateway and self.gateway.poll() is None:
                self.gateway.kill()
        else:
            try:
                power(what, False)
                time.sleep(self.chance.uniform(0, 2))
                power(what, True)
            except Failure:
                pass  # bluetoothd 5.66 may end when an adapter goes; `alive` sees to it.

    def alive(self):
        """What a service manager would do: bluetoothd and the emulator run, the adapters have power."""
        if "org.bluez" not in run("busctl", "list", "--acquired", "--no-legend"):
            self.mishaps["bluetoothd by itself"] += 1
            self.revive()
        for adapter in ("hci0", "hci1"):
            on = run("busctl", "get-property", "org.bluez", f"/org/bluez/{adapter}", "org.bluez.Adapter1", "Powered", check=False)
            if "true" not in on.stdout:
                try:
                    power(adapter, True)
                except Failure as failure:
                    print(f"  {adapter} has no power and takes none: {failure}", flush=True)
        if self.bottle.process.poll() is not None:
            if self.bottle.process.returncode != -9:
                self.mishaps["emulator by itself"] += 1
                self.bottle.log.seek(0)
                print(f"  the emulator ended with {self.bottle.process.returncode}: {self.bottle.log.read()[-600:]}", flush=True)
            try:
                self.bottle = self.emulator()
            except Failure as failure:
                self.mishaps["emulator did not start"] += 1
                print(f"  {failure}", flush=True)

    def revive(self):
        for _ in range(3):
            if run("bluetoothd-ctl", "start", check=False, limit=180).returncode == 0:
                return
            self.mishaps["bluetoothd did not start"] += 1

    def watch(self):
        """The most memory that each program has held."""
        while not self.over.wait(1):
            found = {"emulator": self.bottle.process.pid, "gateway": self.gateway.pid if self.gateway else None}
            try:
                found["bluetoothd"] = int(open("/run/guest/bluetoothd.pid").read())
            except (OSError, ValueError):
                pass
            for name, pid in found.items():
                try:
                    peak = next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmHWM"))
                    self.resident[name] = max(self.resident[name], int(peak.split()[1]))
                except (OSError, StopIteration):
                    pass

    # --- the day and its end ---

    def live(self, minutes):
        threads = [threading.Thread(target=work, daemon=True) for work in (self.drink, self.collect, self.watch)]
        for thread in threads:
            thread.start()
        began = last = time.monotonic()
        while time.monotonic() - began < minutes * 60:
            time.sleep(self.chance.uniform(2, 8))
            self.mishap()
            self.alive()
            if time.monotonic() - last > 60:
                last = time.monotonic()
                print(f"  {(last - began) / 60:.0f} min: {sum(self.certain.values())} sips, {len(rows(self.place))} stored, "
                      f"{sum(self.mishaps.values())} mishaps, polls {dict(self.polls)}", flush=True)
            self.check_room()
        self.over.set()
        for thread in threads:
            thread.join(200)

    def check_room(self):
        try:
            records = self.tell("status")["records"]
        except (OSError, ValueError):
            return
        if records > CAPACITY:
            raise Failure(f"the bottle holds {records} records: nobody collects them")

    def settle(self):
        """Quiet again: what is still in the bottle comes in."""
        self.alive()
        for _ in range(12):
            last = poll(self.place, check=False)
            self.note(last["exit"], json.dumps(last), last["said"])
            if last["exit"] == 0 and last.get("complete") and last.get("new") == 0:
                return
            time.sleep(2)
            self.alive()
        print(f"  the last polls brought no end: {last['said']} {last.get('recovery')}", flush=True)

    def judge(self):
        found = collections.Counter(rows(self.place))
        amounts = set(found) | set(self.certain)
        lost = {ml: self.certain[ml] - found[ml] for ml in amounts if found[ml] < self.certain[ml]}
        twice = {ml: found[ml] - self.certain[ml] - self.doubtful[ml] for ml in amounts if found[ml] > self.certain[ml] + self.doubtful[ml]}
        print(f"  sips {sum(self.certain.values())}, and {sum(self.doubtful.values())} while the bottle was being killed; in the store {sum(found.values())}; "
              f"lost {lost or 'none'}, twice {twice or 'none'}")
        print(f"  mishaps {sum(self.mishaps.values())}: {dict(self.mishaps)}")
        print(f"  polls {sum(self.polls.values())}: {dict(self.polls)}; failures {dict(self.failures)}")
        print(f"  records {dict(self.totals)}; duplicates refused {self.totals['duplicates']}")
        print(f"  most resident, KiB: {dict(self.resident)}")
        return not lost and not twice and not self.polls["hung"] and not self.polls["crashed"] and not self.mishaps["emulator by itself"]


def main():
    minutes = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    print(f"soak: {minutes:g} minutes, seed {seed}", flush=True)
    day = Day(seed)
    try:
        day.live(minutes)
        day.settle()
    except Failure as failure:
        print(f"  {failure}")
        day.over.set()
    good = day.judge()
    day.bottle.kill()
    print(f"soak: {'each sip exactly once' if good else 'FAILED'}; {minutes:g} minutes, seed {seed}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.stdout.flush()
    code = main()
    sys.stdout.flush()
    # Threads that wait for a program must not hold the machine up.
    os._exit(code)
