"""Figures inside the bench machine, as ratios in one run: a poll and a flood of notifications against bleak, and what our
programs cost while nothing happens. Exit code 1 where a limit is missed. Names on the command line select.
"""
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from air import Monitor
from bench import PRODUCTS, Emulator, Failure, expect, forget_all, run, store

HERE = os.path.dirname(os.path.realpath(__file__))
RECORDS = 48
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
FLOOD_SECONDS = 6
IDLE_SECONDS = 30
missed = []


def limit(name, met, sentence):
    print(f"{name}: {sentence}: {'met' if met else 'MISSED'}", flush=True)
    if not met:
        missed.append(name)


# --- poll ---------------------------------------------------------------------------------------------------------

def sips(bottle, count):
    """By the control socket itself: starting a program for each takes its time under emulated processors."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
        control.connect(bottle.control.removeprefix("unix:"))
        answers = control.makefile("r")
        for number in range(count):
            control.sendall(json.dumps({"do": "sip", "value": str(100 + number)}).encode() + b"\n")
            expect(json.loads(answers.readline())["ok"], "the bottle took no sip")


def on_the_air(command):
    """Runs it; the times of what the controller of hci0 was told and told, in seconds from the scan's start."""
    forget_all()
    with Monitor(0) as air:
        began = time.monotonic()
        done = run(*command, check=False)
        whole = time.monotonic() - began
    expect(done.returncode == 0, f"{command}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    marks = [(at, mark) for at, mark in air.marks if mark in ("scan", "connected", "closing", "disconnected")]
    first = {mark: at for at, mark in reversed(marks)}
    expect(len(first) == 4, f"{command}: on the air were only {marks}")
    expect([mark for _, mark in marks].count("connected") == 1, f"{command}: more than one connection: {marks}")
    return {mark: at - first["scan"] for mark, at in first.items()} | {"process": whole}, json.loads(done.stdout)


def ours():
    times, answer = on_the_air([f"{PRODUCTS}/waterh-gateway", "poll", "--link", "bluez:hci0", "--store", store(), "--json"])
    expect((answer["new"], answer["acknowledged"], answer["complete"]) == (RECORDS, RECORDS, True), f"{answer}")
    return times


def theirs():
    """bleak 3.1.0 with BlueZ 5.66 sometimes finds no characteristics, because ServicesResolved comes before the signals that bring
    them. Such a poll does not count: the bottle still has its log, and the script is run again."""
    for attempt in (1, 2, 3):
        try:
            times, answer = on_the_air([sys.executable, f"{HERE}/bleak_poll.py", store()])
            expect(answer["records"] == RECORDS, f"{answer}")
            return times
        except Failure as failure:
            if attempt == 3:
                raise
            print(f"  bleak once more: {str(failure).strip().splitlines()[-1]}")


def poll():
    """Both from the same state: 48 records in the bottle, and bluetoothd does not know it."""
    measured = {"waterh-gateway": [], "bleak": []}
    with Emulator("--profile", "retail", "--quiet") as bottle:
        for turn in range(ROUNDS):
            pair = [("waterh-gateway", ours), ("bleak", theirs)]
            for name, what in pair if turn % 2 == 0 else reversed(pair):
                sips(bottle, RECORDS)
                measured[name].append(what())
    medians = {}
    for name, times in measured.items():
        medians[name] = {mark: statistics.median(t[mark] for t in times) for mark in times[0]}
        m = medians[name]
        print(f"  {name}: scan to disconnect {m['disconnected']:.2f} s: connected after {m['connected']:.2f}, hung up after {m['closing']:.2f}; "
              f"the whole process {m['process']:.2f} s; each: {' '.join(format(t['disconnected'], '.2f') for t in times)}")
    ratio = medians["waterh-gateway"]["disconnected"] / medians["bleak"]["disconnected"]
    limit("poll", ratio <= 0.5, f"{RECORDS} records, scan to disconnect, {ratio:.2f} of bleak's time (at most 0.50; medians of {ROUNDS} rounds)")


# --- notifications ------------------------------------------------------------------------------------------------

def notifications():
    counters = {
        "waterh by signals": [f"{PRODUCTS}/Benchmarks", "notifications", "hci0", "signals", str(FLOOD_SECONDS)],
        "waterh by socket": [f"{PRODUCTS}/Benchmarks", "notifications", "hci0", "socket", str(FLOOD_SECONDS)],
        "bleak by signals": [sys.executable, f"{HERE}/bleak_notifications.py", "signals", str(FLOOD_SECONDS)],
        "bleak by socket": [sys.executable, f"{HERE}/bleak_notifications.py", "socket", str(FLOOD_SECONDS)],
    }
    rates = {name: [] for name in counters}
    flood = subprocess.Popen([f"{PRODUCTS}/Benchmarks", "flood", os.environ.get("BENCH_FLOOD", "bluez:hci1")], stdout=subprocess.PIPE, text=True)
    try:
        expect(flood.stdout.readline().startswith("ready"), "the flood did not start")
        for turn in range(3):
            for name in counters if turn % 2 == 0 else reversed(counters):
                forget_all()
                counted = json.loads(run(*counters[name]))
                rates[name].append(counted["rate"])
                if counted["lost"]:
                    print(f"  {name}: {counted['lost']} of {counted['lost'] + counted['count']} were lost")
    finally:
        flood.send_signal(signal.SIGKILL)
        flood.wait(10)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, rate in medians.items():
        print(f"  {name}: {rate:.0f} notifications/s; each: {' '.join(format(value, '.0f') for value in rates[name])}")
    mine = max(rate for name, rate in medians.items() if name.startswith("waterh"))
    best = max(rate for name, rate in medians.items() if name.startswith("bleak"))
    limit("notifications", mine >= best, f"{mine / best:.2f} of bleak's best mode (at least 1.00; medians of 3 rounds)")


# --- idle ---------------------------------------------------------------------------------------------------------

def ticks(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def idle():
    pass


if __name__ == "__main__":
    tests = {"poll": poll, "notifications": notifications, "idle": idle}
    for name in sys.argv[1:] or tests:
        try:
            tests[name]()
        except Failure as failure:
            limit(name, False, str(failure))
    sys.exit(1 if missed else 0)
