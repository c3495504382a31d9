"""The folder of the simulation, its small disk, the host's clock and zone, and the timeline."""
import collections
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import time

from processes import LATE, Child
from programs import preloaded

DISK_BYTES = 24 << 20
ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati", "UTC", "Australia/Lord_Howe"]


class World:
    def __init__(self, products, seed):
        self.products, self.seed = pathlib.Path(products), seed
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"waterh-chaos-{seed}-"))
        self.logs, self.bench, self.disk = (self.folder / name for name in ("logs", "bench", "disk"))
        for path in (self.logs, self.bench, self.disk):
            path.mkdir()
        self.started, self.number = time.monotonic(), 0
        self.timeline = open(self.folder / "timeline.txt", "w", encoding="utf-8", buffering=1)
        self.children, self.failures, self.kinds = [], [], collections.Counter()
        self.broken_guarantees = 0
        self.last_full = self.last_stop = -1e9
        self.has_small_disk = self.mount()
        self.store = self.disk / "state" / "waterh.sqlite"
        self.store.parent.mkdir(mode=0o700)
        self.zone, self.shift = "Europe/Berlin", 0
        self.shift_file = self.folder / "clock-shift"
        self.shift_file.write_bytes(struct.pack("=q", 0))
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(self.bench), "LANG": "C.UTF-8", "TZ": self.zone,
            "XDG_STATE_HOME": str(self.disk), "XDG_CONFIG_HOME": str(self.bench), "XDG_RUNTIME_DIR": str(self.bench), "WATERH_STORE": str(self.store),
            # A program that traps ends at once with its signal.
            "SWIFT_BACKTRACE": "enable=no", "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.has_clock = shutil.which("gcc") is not None
        if self.has_clock:
            # Half of the seeds have a time server.
            self.environment |= {
                "LD_PRELOAD": str(preloaded("clock_shift", self.folder)), "CLOCK_SHIFT": str(self.shift_file), "CLOCK_NTP": str(1 - seed % 2)}

    # --- parts ---

    def mount(self):
        if os.geteuid() != 0:
            return False
        return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "chaos", self.disk], capture_output=True).returncode == 0

    def close(self, keep):
        self.timeline.close()
        if self.has_small_disk:
            if keep:
                shutil.copytree(self.disk, self.folder / "disk-at-the-end", dirs_exist_ok=True)
            subprocess.run(["umount", "-l", self.disk], capture_output=True)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    # --- timeline ---

    def log(self, words):
        self.timeline.write(f"{time.monotonic() - self.started:9.3f}  {words}\n")

    def fail(self, sentence, is_late=False):
        """`is_late`: only a time limit was missed, as on a busy machine."""
        self.failures.append(sentence)
        self.broken_guarantees += not is_late
        self.log(f"FAILURE {sentence}")
        # Repetitions are only in the timeline.
        kind = re.sub(r"[0-9]+(-[a-z-]+)?", "#", sentence)
        self.kinds[kind] += 1
        if self.kinds[kind] <= 3:
            print(f"  {time.monotonic() - self.started:7.1f} s  {sentence}", flush=True)

    # --- processes ---

    def start(self, name, product, arguments, limit=60, environment=None, reads=False):
        child = Child(self, name, [self.products / product, *arguments], limit, environment, reads)
        self.children.append(child)
        return child

    def expected_failures(self, child):
        """The injected failures that can make a process fail."""
        found = []
        if self.is_full or self.last_full >= child.started - 1:
            # A reading subcommand needs no disk space; doctor reports a full disk.
            if not child.reads or child.name == "doctor":
                found.append("disk")
        if self.last_stop >= child.started - 1:
            found.append("busy")
        if child.name in ("poll", "doctor", "service"):
            found.append("bottle")
        if child.name in ("check", "session", "drink", "service", "poll"):
            found.append("sync")
        return found

    def collect(self):
        """Checks the ended processes, and kills those that hang."""
        ended = []
        for child in list(self.children):
            if child.is_running:
                if child.is_overdue:
                    self.fail(f"{child.label} was still running after {time.monotonic() - child.started:.0f} s", is_late=True)
                    child.send(9)
                continue
            self.children.remove(child)
            ended.append(child)
            error = child.check()
            if error:
                self.fail(error, is_late=bool(LATE.search(error)))
        return ended

    # --- the host ---

    def set_clock(self, seconds):
        if not self.has_clock:
            return
        self.shift = seconds
        with open(self.shift_file, "r+b") as file:
            file.write(struct.pack("=q", seconds))
        self.log(f"the host's clock is {seconds} s off")

    def set_zone(self, zone):
        self.zone = zone
        self.environment["TZ"] = zone
        self.log(f"the host's zone is {zone}")

    def fill_disk(self, spare):
        """Leaves this number of bytes free on the small disk."""
        if not self.has_small_disk:
            return
        status = os.statvfs(self.disk)
        size = max(0, status.f_bavail * status.f_frsize - spare)
        with open(self.disk / "filler", "wb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, max(1, size))
            except OSError:
                pass
        self.last_full = time.monotonic()
        self.log(f"the disk is full except {spare} bytes")

    @property
    def is_full(self):
        return (self.disk / "filler").exists()

    def free_disk(self):
        if self.is_full:
            (self.disk / "filler").unlink()
            self.last_full = time.monotonic()
            self.log("the disk has room again")

    def deleted_files(self, child):
        """The deleted files of the store that a process has open."""
        found = set()
        try:
            for entry in os.scandir(f"/proc/{child.process.pid}/fd"):
                target = os.readlink(entry.path)
                if target.startswith(str(self.store)) and target.endswith(" (deleted)"):
                    found.add(target.removesuffix(" (deleted)").rsplit("/", 1)[-1])
        except OSError:
            pass
        return found
