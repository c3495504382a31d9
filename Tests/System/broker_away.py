#!/usr/bin/env python3
"""A broker that is away for minutes while somebody drinks from the bottle and the service is killed again and again: each sip arrives once, in order, with its own time.

usage: broker_away.py PRODUCTS [MINUTES] [--seed N] [--kill-midway]    MINUTES: 10 where it is not said

--kill-midway: killed once more while it tells what waited. What the broker has and the store has not noted yet comes twice then, with the same id.
"""
import argparse
import collections
import datetime
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from broker_figures import Lines, answers, free_port, resident, running, until

# What is late by more than that is called historical (tracker law Section 10.2).
LATE = 900
# What is said last.
END = '{"end": true}'


class Away:
    def __init__(self, products, folder, seed):
        self.products, self.folder, self.chance = products, folder, random.Random(seed)
        self.port, self.store = free_port(), f"{folder}/s.sqlite"
        self.environment = os.environ | {"HOME": folder, "XDG_RUNTIME_DIR": folder, "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_ZONE": "UTC"}
        self.service, self.kills, self.starts, self.drunk = None, 0, 0, []
        with open(f"{folder}/waterh.toml", "w") as file:
            file.write(f'link = "unix:{folder}/b.sock"\nstore = "{self.store}"\n[mqtt]\nurl = "mqtt://127.0.0.1:{self.port}"\n')
        with open(f"{folder}/mosquitto.conf", "w") as file:
            file.write(f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/\nautosave_interval 1\nautosave_on_changes true\n"
                       f"max_queued_messages 0\nuser {'root' if os.geteuid() == 0 else 'mosquitto'}\n")

    def broker(self):
        return running([shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", f"{self.folder}/mosquitto.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def serve(self):
        self.starts += 1
        log = open(f"{self.folder}/service-{self.starts}.log", "w")
        self.service = subprocess.Popen([f"{self.products}/waterh-gateway", "run", "--config", f"{self.folder}/waterh.toml", "--listen", "off"], env=self.environment, stdout=subprocess.DEVNULL,
                                        stderr=log)

    def said(self):
        with open(f"{self.folder}/service-{self.starts}.log") as file:
            return file.read()

    def kill(self):
        self.service.send_signal(signal.SIGKILL)
        self.service.wait()
        self.kills += 1

    def sip(self):
        ml, before = 20 + len(self.drunk), time.time()
        subprocess.run([f"{self.products}/waterh-emulator", "control", "--control", f"unix:{self.folder}/c.sock", "sip", str(ml)], check=True, capture_output=True)
        self.drunk.append((ml, before, time.time()))

    def hurry(self):
        """SIGHUP before it can hear it would end it: that it speaks of its broker shows that it can."""
        if "MQTT: " in self.said():
            self.service.send_signal(signal.SIGHUP)


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def play(away, minutes, kills_midway):
    emulator = [f"{away.products}/waterh-emulator", "run", "--link", f"unix:{away.folder}/b.sock", "--control", f"unix:{away.folder}/c.sock", "--quiet"]
    with running(emulator, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        until("the bottle", lambda: os.path.exists(f"{away.folder}/c.sock"))
        ear = ["mosquitto_sub", "-p", str(away.port), "-q", "1", "-i", "ear", "-c", "-t", "hydration/sip", "-F", "%p"]
        with away.broker():
            until("the broker", lambda: answers(away.port))
            # The broker keeps for it what comes while it is not there.
            with running(ear, stdout=subprocess.PIPE, text=True) as process:
                heard = Lines(process)
                away.serve()
                until("the service", lambda: "MQTT: connected" in away.said())
                away.sip()
                away.hurry()
                until("the first sip", lambda: heard.lines)
        print(f"the broker is away for {minutes} min", flush=True)
        gone, end = time.time(), time.monotonic() + minutes * 60
        next_sip, next_kill, down = 0, 0, None
        while time.monotonic() < end:
            now = time.monotonic()
            if now >= next_sip:
                away.sip()
                if down is None:
                    away.hurry()
                next_sip = now + away.chance.uniform(0.2, 3)
            if down is not None and now >= down:
                away.serve()
                down, next_kill = None, now + away.chance.uniform(0.05, 20)
            elif down is None and now >= next_kill:
                away.kill()
                down = now + away.chance.choice([0, 0.1, 1, 5])
            time.sleep(0.02)
        if down is not None:
            away.serve()
        back = time.time()
        with away.broker():
            until("the broker", lambda: answers(away.port))
            began = time.monotonic()
            with running(ear, stdout=subprocess.PIPE, text=True) as process:
                later = Lines(process)
                everything = lambda: [json.loads(line) for _, line in heard.lines + later.lines if line != END]
                until("the service", lambda: "MQTT: connected" in away.said())
                connected = time.monotonic()
                away.hurry()
                if kills_midway:
                    until("the first of them", lambda: later.lines)
                    away.kill()
                    away.serve()
                    until("the service", lambda: "MQTT: connected" in away.said())
                    away.hurry()
                until("all of them", lambda: {sip["ml"] for sip in everything()} >= {ml for ml, _, _ in away.drunk})
                last = time.monotonic()
                memory = resident(away.service)
                away.service.send_signal(signal.SIGTERM)
                code = away.service.wait(20)
                # What the broker had before this comes before it.
                subprocess.run(["mosquitto_pub", "-p", str(away.port), "-q", "1", "-t", "hydration/sip", "-m", END], check=True)
                until("the end", lambda: any(line == END for _, line in later.lines))
    return gone, back, everything(), last - began, connected - began, memory, code


def judge(away, minutes, kills_midway, found):
    gone, back, told, took, connected, memory, code = found
    failures = [] if code == 0 else [f"the service ended with {code}"]
    times = collections.Counter(sip["id"] for sip in told)
    first, seen = [], set()
    for sip in told:
        if sip["id"] not in seen:
            seen.add(sip["id"])
            first.append(sip)
    if [sip["ml"] for sip in first] != [ml for ml, _, _ in away.drunk]:
        failures.append(f"drunk {[ml for ml, _, _ in away.drunk]}, told {[sip['ml'] for sip in first]}")
    if len(told) > len(first) and not kills_midway:
        failures.append(f"came twice: {[sip['ml'] for sip in told if times[sip['id']] > 1]}")
    # How far outside of the time in which it was drunk: a bottle counts whole seconds.
    off = [max(0, before - moment(sip["at"]), moment(sip["at"]) - after) for sip, (_, before, after) in zip(first, away.drunk)]
    if max(off) > 1.5:
        failures.append(f"times that are not their own: {[round(one, 1) for one in off if one > 1.5]} s off")
    wrong = [sip for sip in told if sip["historical"] != (sip["event_type"] == "historical") or (sip["historical"] and moment(sip["at"]) > time.time() - LATE + 60)]
    if wrong:
        failures.append(f"fresh ones that are called historical: {wrong[:3]}")
    print(f"{len(away.drunk)} sips, {sum(gone <= at <= back for _, at, _ in away.drunk)} of them in {minutes} min without a broker; the service was killed {away.kills} times and started {away.starts} times")
    print(f"at the listener: {len(first)} of them, in order; {len(told) - len(first)} came twice, known by their ids ({max(times.values())} times at most)")
    print(f"each with its own time: off by {statistics.median(off):.2f} s in the median, {max(off):.2f} s at most (a bottle counts whole seconds)")
    print(f"connected {connected:.2f} s after the broker was back, the last told {took:.2f} s after{', with one more kill in between' * kills_midway}; {memory:.1f} MiB resident")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("products")
    parser.add_argument("minutes", nargs="?", type=float, default=10)
    parser.add_argument("--kill-midway", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    asked = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="waterh-away-")
    print(f"--seed {asked.seed}", flush=True)
    away = Away(asked.products, folder, asked.seed)
    failures = judge(away, asked.minutes, asked.kill_midway, play(away, asked.minutes, asked.kill_midway))
    if failures:
        raise SystemExit("\n".join(failures + [f"see {folder}"]))
    shutil.rmtree(folder)


main()
