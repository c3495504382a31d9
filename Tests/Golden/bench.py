"""Runs the programs in a temporary directory with a frozen clock, and replaces values that differ between runs."""
import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "System"))
import programs  # noqa: E402
from programs import LIMIT, ROOT, wait_for  # noqa: E402

PROGRAMS = ["waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"]
GROUPS = ["session", "preset", "settings", "token", "journal"]  # Commands with subcommands.


def normal(text, folder="", ids=()):
    """The text with placeholders for values that differ between runs."""
    if folder:
        text = text.replace(str(folder), "<PATH>")
    for value in ids:
        text = text.replace(value, "<ID>")
    for pattern, replacement in [
        (r"\b127\.0\.0\.1:\d+", "127.0.0.1:<PORT>"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<ID>"),
        (r'"connection":"\d+-[a-z0-9]+"', '"connection":"<ID>"'),
        (r"waterh-bench \d+\.\d+[\w.+-]*", "waterh-bench <VERSION>"),
        (r'"version":"\d+\.\d+[\w.+-]*"', '"version":"<VERSION>"'),
        (r"\bclock (right|[\d,]+ \w+( \d+ \w+)* (fast|slow))", "clock <OFFSET>"),
        (r'"(clockDriftSeconds|seconds)":-?[\d.]+', r'"\1":"<SECONDS>"'),
        (r'"(lastPoll|lastCompletePoll|nextPoll)":("[^"]*"|[\d.]+)', r'"\1":"<TIME>"'),
        (r"(\d\d:\d\d:\d\d)\.\d+Z", r"\1Z"),
        (r'"position": ?\d+', '"position": "<POSITION>"'),
        (r"(?m)^(Session )?[0-9a-f]{8}(?=,|  )", r"\1<ID>"),
    ]:
        text = re.sub(pattern, replacement, text)
    return text


def pretty(value, indent=""):
    """JSON with sorted keys; a value that fits into a line is on one line."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(indent + line) <= 118 or not isinstance(value, (dict, list)):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(key)}: {pretty(value[key], inner)}" for key in sorted(value)]
    else:
        parts = [inner + pretty(item, inner) for item in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + "\n" + ",\n".join(parts) + f"\n{indent}{end}"


def without_states(value, is_top=True):
    """The JSON value with `<STATE>` for each state of the day within it: `status` and the topic `state` have it."""
    if isinstance(value, dict):
        if not is_top and "behindText" in value:
            return "<STATE>"
        return {key: without_states(item, False) for key, item in value.items()}
    return [without_states(item, False) for item in value] if isinstance(value, list) else value


def key_paths(value, path=""):
    """The paths of all keys in a JSON value; `[]` is an element of an array."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{path}.{key}" if path else key
            yield from key_paths(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from key_paths(item, path + "[]")


class Bench:
    """A temporary directory with a home, a frozen clock, copies of the captures, and the output files."""

    def __init__(self, products):
        self.products = pathlib.Path(products).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="golden-", dir="/tmp"))  # Paths of sockets are short.
        self.made = {}
        self.keys = collections.defaultdict(set)
        self.children = []
        shutil.copytree(ROOT / "captures", self.folder / "captures")
        (self.folder / "notes.txt").write_text("Dear diary, today I drank a glass of water.\n")
        home = self.folder / "home"
        (home / ".config/waterh").mkdir(parents=True)
        (home / ".config/waterh/waterh.toml").write_text(
            'zone = "UTC"\nlisten = "127.0.0.1:1"\n')  # /etc/waterh is not read then; no program listens at port 1.
        self.clock_file = self.folder / "clock"
        self.clock_file.write_bytes(struct.pack("=q", 0))
        self.plain = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
        if "LD_LIBRARY_PATH" in os.environ:
            self.plain["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        self.environment = self.plain | {
            "XDG_RUNTIME_DIR": str(self.folder), "TMPDIR": str(self.folder), "COLUMNS": "80",
            "SWIFT_BACKTRACE": "enable=no",
            "LD_PRELOAD": str(programs.preloaded("clock_shift", self.folder)), "CLOCK_SHIFT": str(self.clock_file), "CLOCK_FROZEN": "1",
            "DBUS_SESSION_BUS_ADDRESS": "",
        }
        self.set_clock("2026-11-20T21:45")

    def set_clock(self, text):
        moment = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)
        with open(self.clock_file, "r+b") as file:  # In place: programs have it mapped.
            file.write(struct.pack("=q", int(moment.timestamp())))

    def run(self, line, store=None):
        """Runs a command line; returns its exit code, output and error output."""
        words = shlex.split(line)
        environment = self.environment | ({"WATERH_STORE": str(self.folder / store)} if store else {})
        try:
            done = subprocess.run([self.products / words[0], *words[1:]], cwd=self.folder, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, errors="replace")
        except subprocess.TimeoutExpired:
            return "timeout", "", ""
        if "--json" in words:
            for value in self.values(done.stdout):
                self.note_keys(" ".join(words[:3 if words[1] in GROUPS else 2]), value)
        return done.returncode, done.stdout, done.stderr

    def note_keys(self, name, value):
        self.keys[name].update(key_paths(without_states(value)))

    @staticmethod
    def values(text):
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            return []

    def block(self, line, store=None, head=None):
        """The output of a command, after its command line. `head`: the number of lines at each end of a long output."""
        code, output, error = self.run(line, store)
        output, error = normal(output, self.folder), normal(error, self.folder)
        lines = output.splitlines()
        if head and len(lines) > 2 * head + 5:
            digest = hashlib.sha256(output.encode()).hexdigest()
            lines[head:-head] = [f"… {len(lines)} lines in all, SHA-256 {digest}"]
        elif "--json" in line:
            lines = [pretty(without_states(value)) for value in self.values(output)] or lines
        text = f"$ {line}\n" + "".join(line + "\n" for line in lines)
        text += "".join(f"stderr: {line}\n" for line in error.splitlines())
        return text + (f"exit code {code}\n" if code != 0 else "")

    def start(self, line, log, environment=None):
        words = shlex.split(line)
        program = self.products / words[0] if words[0] in PROGRAMS else words[0]
        with open(self.folder / log, "wb") as file:
            child = subprocess.Popen([program, *words[1:]], cwd=self.folder, env=environment or self.environment,
                                     stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.children.append(child)
        return child

    def wait_for_log(self, log, pattern, child):
        def look():
            if (found := re.search(pattern, (self.folder / log).read_text(errors="replace"))):
                return found
            if child.poll() is not None:
                raise SystemExit(f"golden: {child.args[0]} ended:\n{(self.folder / log).read_text(errors='replace')}")
            return None
        return wait_for(look, f"'{pattern}' in {log}")

    def bottle(self, name):
        """An emulated bottle with the drinks of two days; its link."""
        capture = "captures/boost_two-days.btsnoop"
        child = self.start(f"waterh-emulator run --link unix:{name}.sock --capture {capture} --quiet", f"{name}.log")
        self.wait_for_log(f"{name}.log", "ready", child)
        return f"unix:{name}.sock"

    def stop(self, child):
        programs.stop(child)
        self.children.remove(child)

    def close(self):
        for child in self.children:
            child.kill()
            child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def together(function, items):
    """The results for the items, in order; four run at the same time."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(function, items))
