"""Computers whose clocks are wrong, and a bottle that goes from one to the next, in virtual time: a month passes while nobody waits.

A computer is what virtual_host.c shows the programs: its own time of day, uptime and start, and perhaps a time server. The bottle is the emulator,
started for each poll with the flash that it had after the last; between two polls its clock is moved on in that file.
"""
import datetime
import json
import pathlib
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import time
import zoneinfo

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
# Of the bottle's own clock, milliseconds since 1970: it counts without a zone.
EPOCH_2000 = 946_684_800_000
# What the commands may end with here: done, refused, or a bottle that did not do as it should.
CODES = range(0, 5)


def real_now():
    return int(time.time() * 1000)


def zone_offset(zone, moment):
    return int(datetime.datetime.fromtimestamp(moment / 1000, zoneinfo.ZoneInfo(zone)).utcoffset().total_seconds() * 1000)


def words(moment):
    try:
        return datetime.datetime.fromtimestamp(moment / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{moment} ms"


def library(folder):
    """What is preloaded, built once."""
    source, made = pathlib.Path(__file__).with_name("virtual_host.c"), folder / "virtual_host.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", made, source], check=True)
    return made


class Host:
    """A computer with a store of its own. `error`: milliseconds that its clock is ahead of the truth."""

    def __init__(self, world, name):
        self.world, self.name = world, name
        self.error, self.errors, self.is_vouched, self.zone = 0, [0], False, world.zone
        self.folder = world.folder / name
        self.folder.mkdir()
        self.store = self.folder / "state" / "waterh.sqlite"
        self.start()

    def start(self):
        """The computer is started anew."""
        (self.folder / "boot").write_text("%032x\n" % self.world.chance.getrandbits(128))
        self.started = self.world.now - 20_000

    def set_clock(self, error, is_vouched=False):
        self.error, self.is_vouched = error, is_vouched
        self.errors.append(error)
        self.world.say(f"clock of {self.name}: {error / HOUR:+.2f} h{', a time server vouches' if is_vouched else ''}")

    def environment(self):
        uptime = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)
        state = struct.pack("qqq", self.world.skew + self.error, self.world.now - self.started - uptime, self.is_vouched)
        (self.folder / "host").write_bytes(state)
        folders = dict.fromkeys(["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"], str(self.folder))
        return folders | {
            "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": self.zone, "WATERH_STORE": str(self.store), "SWIFT_BACKTRACE": "enable=no",
            "LD_PRELOAD": str(self.world.library), "VIRTUAL_HOST": str(self.folder / "host"), "VIRTUAL_BOOT": str(self.folder / "boot"),
        }

    def run(self, program, *arguments, kill_after=None):
        """(exit code, what it said); the code is `None` where it was killed."""
        command = [str(self.world.products / program), *map(str, arguments)]
        process = subprocess.Popen(command, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said = process.communicate(timeout=kill_after or 120)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[0]
            if kill_after:
                return None, said
            self.world.fail(f"{program} {arguments} never ended")
        if process.returncode not in CODES:
            self.world.fail(f"{program} {arguments} ended with {process.returncode}: {said[-300:]}")
        return process.returncode, said


class World:
    """True time, the computers, one bottle, and what was drunk from it when."""

    def __init__(self, products, library, seed, start, hosts=1):
        self.products, self.library = pathlib.Path(products), library
        self.chance = random.Random(seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waterh-clocks-"))
        self.skew = int(start.timestamp() * 1000) - real_now()
        self.zone = "Europe/Berlin"
        self.story, self.failures = [], []
        self.polls, self.next_number = 0, 1
        # The bottle's clock is so far ahead of UTC; or it is lost since then.
        self.offset, self.lost_at = zone_offset(self.zone, self.now), None
        self.records = []
        # By amount, since each sip has its own.
        self.drunk = {}
        self.hosts = [Host(self, name) for name in "abc"[:hosts]]
        for host in self.hosts:
            host.run("waterh-tracker", "settings", "set", "reminders.enabled", "false")

    @property
    def now(self):
        return real_now() + self.skew

    def say(self, sentence):
        self.story.append(f"{words(self.now)}  {sentence}")

    def fail(self, sentence):
        self.failures.append(sentence)
        self.say(f"FAILED: {sentence}")

    def pass_time(self, milliseconds):
        self.skew += milliseconds

    def travel(self, zone):
        self.zone = zone
        for host in self.hosts:
            host.zone = zone
        self.say(f"everybody is in {zone}")

    def sip(self):
        ml = 100 + self.next_number
        if self.lost_at is None:
            shown = datetime.datetime.fromtimestamp((self.now + self.offset) / 1000, datetime.timezone.utc)
            head = [max(0, shown.year - 2000) & 0xFF, shown.month, shown.day, shown.hour, shown.minute, shown.second]
        else:
            seconds = (self.now - self.lost_at) // 1000
            head = [0, 0, min(seconds // 86_400, 255), seconds // 3600 % 24, seconds // 60 % 60, seconds % 60]
        raw = bytes(head + [ml >> 8, ml & 0xFF, 0, 0, 1, 0x61, 0])
        self.records.append({"number": self.next_number, "raw": raw.hex().upper()})
        self.next_number += 1
        self.drunk[ml] = self.now
        self.say(f"sip of {ml} ml, the bottle shows {'nothing' if self.lost_at is not None else words(self.now + self.offset)}")

    def lose_power(self):
        self.lost_at = self.now
        self.say("the bottle's battery was empty: its clock is lost")

    def phone_sets_bottle(self, error=0):
        self.offset, self.lost_at = zone_offset(self.zone, self.now) + error, None
        self.say(f"the phone app sets the bottle{f' wrong, {error / DAY:+.1f} days' if error else ''}")

    def poll(self, host, *options, faults="", kill_after=None):
        """One poll of the bottle by a computer; its exit code."""
        flash, link = self.folder / "bottle.json", self.folder / "bottle.sock"
        flash.write_text(json.dumps({"version": 1, "flash": self.flash()}))
        link.unlink(missing_ok=True)
        command = [str(self.products / "waterh-emulator"), "run", "--link", f"unix:{link}", "--store", str(flash), "--quiet"]
        if faults:
            command += ["--faults", faults, "--seed", str(self.chance.randint(1, 1 << 30))]
        bottle = subprocess.Popen(command, env={"PATH": "/usr/bin:/bin", "TZ": "UTC", "HOME": str(self.folder)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        skew = self.skew
        try:
            bottle.stdout.readline()
            code, said = host.run("waterh-gateway", "poll", "--link", f"unix:{link}", *options, kill_after=kill_after)
        finally:
            bottle.send_signal(signal.SIGTERM)
            bottle.wait()
        after = json.loads(flash.read_text())["flash"]
        self.records, self.next_number = after["records"], after["nextNumber"]
        if after.get("clockOffset") is not None:
            self.offset, self.lost_at = after["clockOffset"] - skew, None
        self.polls += 1
        told = " | ".join(line for line in said.splitlines() if line)[:600]
        self.say(f"poll by {host.name} {' '.join(options)} {faults}: host shows {words(self.now + host.error)}, code {code}, {len(self.records)} left; {told}")
        return code

    def flash(self):
        flash = {
            "amountDay": 0, "amountMl": 0, "batteryPercent": 97, "charging": 0, "dropped": 0, "goalMl": 2500, "isRegistered": False, "language": 0,
            "levelMl": 342, "light": [0, 0, 0, 0], "nextNumber": self.next_number, "overwritten": 0, "recentSips": [], "records": self.records,
            "reminder": [0, 8, 0, 20, 0, 60], "tdsPpm": 120, "temperatureC": 21,
        }
        if self.lost_at is None:
            return flash | {"clockOffset": self.skew + self.offset}
        return flash | {"lostAt": {"milliseconds": self.lost_at - self.skew - EPOCH_2000}}

    def judge(self, tolerance=1.5 * DAY):
        """Every sip is journaled once or still in the bottle, and counts when it was drunk or is told as doubtful.
        - Returns: the doubtful ones by computer: the record's id by its amount."""
        seen = {int(record["raw"][12:16], 16) for record in self.records}
        doubtful = {}
        for host in self.hosts:
            doubtful[host.name] = {}
            if not host.store.exists():
                continue
            store = sqlite3.connect(f"file:{host.store}?mode=ro", uri=True)
            counted = {}
            for ml, at in store.execute("SELECT ml, instant FROM drink WHERE bottle IS NOT NULL AND deleted = 0"):
                counted[ml] = counted.get(ml, 0) + 1
                if ml not in self.drunk:
                    self.fail(f"{host.name} counts {ml} ml that nobody drank")
                elif abs(at - self.drunk[ml]) > tolerance:
                    self.fail(f"{host.name} counts {ml} ml at {words(at)}, drunk at {words(self.drunk[ml])} ({(at - self.drunk[ml]) / DAY:+.1f} days)")
            for ml, number in counted.items():
                if number > 1:
                    self.fail(f"{host.name} counts {ml} ml {number} times")
            for record, ml, verdict in store.execute("SELECT id, amountMl, verdict FROM bottle_record"):
                seen.add(ml)
                if verdict == "drink" and ml not in counted:
                    self.fail(f"{host.name} has {ml} ml as a drink, and counts it nowhere")
                if verdict == "quarantined":
                    doubtful[host.name][ml] = record
                    if ml in counted:
                        self.fail(f"{host.name} counts {ml} ml that is doubtful")
            if store.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                self.fail(f"the store of {host.name} is damaged")
            store.close()
        gone = sorted(set(self.drunk) - seen)
        if gone:
            self.fail(f"lost: {gone} ml")
        return doubtful

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
