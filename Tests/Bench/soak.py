"""A long bad day: sips all the while, and every few seconds something is killed or switched off. Each sip exactly once.

usage: soak.py MINUTES [SEED]
"""
import random
import subprocess
import sys
import time

from bench import PRODUCTS, Emulator, Failure, bluetoothd, power, store, poll
from pair import rows

minutes = float(sys.argv[1])
seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
chance = random.Random(seed)
place, flash = store(), store()
print(f"soak: {minutes} minutes, seed {seed}", flush=True)

taken, counts, polls = [], {}, {"done": 0, "failed": 0}
bottle = Emulator("--profile", "retail", "--store", flash)
gateway = None


def count(what):
    counts[what] = counts.get(what, 0) + 1


def alive():
    """The bottle, started again where it was killed."""
    global bottle
    for _ in range(20):
        if bottle.process.poll() is None:
            return bottle
        try:
            bottle = Emulator("--profile", "retail", "--store", flash)
        except Failure:
            time.sleep(1)
    return bottle


def sip():
    """A sip counts as taken when the bottle said so: what a killed process did not confirm may or may not be there."""
    amount = 1 + len(taken)  # Each amount once, so that each sip can be told from the others.
    try:
        alive().sip(amount)
        taken.append((amount, True))
    except Failure:
        taken.append((amount, False))


def mishap():
    what = chance.choice(["bluetoothd", "bluetoothd", "emulator", "gateway", "gateway", "adapter"])
    count(what)
    if what == "bluetoothd":
        bluetoothd("kill")
        time.sleep(chance.uniform(0, 2))
        subprocess.run(["bluetoothd-ctl", "start"], capture_output=True)
    elif what == "emulator":
        bottle.process.kill()
        bottle.process.wait()
    elif what == "gateway" and gateway:
        gateway.kill()
    elif what == "adapter":
        adapter = chance.choice(["hci0", "hci1"])
        try:
            power(adapter, False)
            time.sleep(chance.uniform(0, 2))
            power(adapter, True)
        except Failure:
            pass


end = time.monotonic() + minutes * 60
next_mishap = time.monotonic() + 5
while time.monotonic() < end:
    if gateway is None or gateway.poll() is not None:
        if gateway is not None:
            polls["done" if gateway.returncode == 0 else "failed"] += 1
        gateway = subprocess.Popen([f"{PRODUCTS}/waterh-gateway", "poll", "--link", "bluez:hci0", "--store", place],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sip()
    if time.monotonic() >= next_mishap:
        mishap()
        next_mishap = time.monotonic() + chance.uniform(2, 8)
    time.sleep(chance.uniform(0.2, 1.0))

# Quiet again: what is still in the bottle comes in.
if gateway.poll() is None:
    gateway.wait(180)
subprocess.run(["bluetoothd-ctl", "wait"], capture_output=True)
for adapter in ("hci0", "hci1"):
    power(adapter, True)
alive()
for _ in range(12):
    last = poll(place, check=False)
    if last["exit"] == 0 and last.get("complete") and last.get("new") == 0:
        break
    time.sleep(2)
bottle.stop()

found = rows(place)
lost = [amount for amount, sure in taken if sure and amount not in found]
twice = sorted({amount for amount in found if found.count(amount) > 1})
strange = [amount for amount in found if amount not in {a for a, _ in taken}]
print(f"soak: seed {seed}: {len(taken)} sips ({sum(1 for _, sure in taken if not sure)} while the bottle was being killed), {len(found)} in the store, "
      f"lost {lost}, twice {twice}, strange {strange}; mishaps {counts}; polls {polls}")
sys.exit(1 if lost or twice or strange else 0)
