"""What the tests in the test VM share: programs with time limits, recordings of the air, and bluetoothd."""
import asyncio
import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PRODUCTS = os.environ["BENCH_PRODUCTS"]
# The emulated bottle has the address of its adapter, hci1. Over the air, a poll must name its bottle.
os.environ.setdefault("WATERH_BOTTLE", "00:AA:01:01:00:01")
OUT = os.environ.get("BENCH_OUT", tempfile.gettempdir())
# Seconds: emulated processors on a busy machine are slow.
PATIENCE = float(os.environ.get("BENCH_PATIENCE", "120"))


class Failure(Exception):
    """The reason why a test failed."""


def expect(condition, sentence):
    if not condition:
        raise Failure(sentence)


def run(*command, limit=PATIENCE, check=True):
    """Runs a command; returns its output, or without `check` the whole result."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{' '.join(command)}: still running after {limit} s; it said {late.stdout!r} {late.stderr!r}")
    if check and done.returncode:
        raise Failure(f"{' '.join(command)}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout if check else done


class Emulator:
    """`waterh-emulator run`, from the line "ready" to its end."""

    def __init__(self, *options, link="bluez:hci1", zone=None):
        """`zone`: the time zone of the bottle's clock (default: this machine's)."""
        self.folder = tempfile.mkdtemp()
        self.control = f"unix:{self.folder}/control"
        command = [f"{PRODUCTS}/waterh-emulator", "run", "--link", link, *options]
        # A cloned peripheral has no control socket.
        if "--gadget" not in options:
            command += ["--control", self.control]
        self.log = open(f"{self.folder}/log", "w+")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env={**os.environ, **({"TZ": zone} if zone else {})})
        self.ready = self.line("ready ")

    def line(self, start, limit=PATIENCE):
        os.set_blocking(self.process.stdout.fileno(), False)
        end, text = time.monotonic() + limit, ""
        while time.monotonic() < end:
            piece = self.process.stdout.readline()
            text += piece or ""
            for line in text.splitlines():
                if line.startswith(start):
                    return line
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.log.seek(0)
        raise Failure(f"the emulator did not say '{start}': {text!r}, {self.log.read()[-800:]!r}, exit {self.process.poll()}")

    def control_requests(self, requests):
        """Sends requests to the control socket; returns the last status. Starting a program for each would be slow."""
        status = None
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
            control.settimeout(PATIENCE)
            control.connect(self.control.removeprefix("unix:"))
            answers = control.makefile("r")
            for request in requests:
                control.sendall(json.dumps(request).encode() + b"\n")
                answer = json.loads(answers.readline())
                expect(answer["ok"], f"the bottle refused {request}: {answer}")
                status = answer["status"]
        return status

    def sip(self, amount):
        return self.control_requests([{"do": "sip", "value": str(amount)}])

    def words(self):
        """The end of its standard error."""
        self.log.seek(0)
        return self.log.read()[-800:]

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise Failure("the emulator did not end within 30 s of SIGTERM")
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(f"  the emulator {'goes on' if self.process.poll() is None else f'ended with {self.process.returncode}'} and said: {self.words()!r}", flush=True)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()


def bus_name(process):
    """The unique name of a process on the system bus."""
    def ask(member, *arguments):
        return run("busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, *arguments, check=False).stdout
    for name in ask("ListNames").split():
        name = name.strip('"')
        if name.startswith(":") and ask("GetConnectionUnixProcessID", "s", name).split()[-1:] == [str(process.pid)]:
            return name
    raise Failure(f"process {process.pid} is not on the bus")


def store():
    return tempfile.mkdtemp() + "/waterh.sqlite"


def poll(place, *options, link="bluez:hci0", check=True):
    """One poll; its JSON, with `exit` beside."""
    done = run(f"{PRODUCTS}/waterh-gateway", "poll", "--link", link, "--store", place, "--json", *options, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise Failure(f"poll gave no JSON but {done.stdout!r}, {done.stderr!r}, exit {done.returncode}")
    answer["exit"], answer["said"] = done.returncode, done.stderr
    if check:
        expect(done.returncode == 0, f"poll: exit code {done.returncode}: {done.stderr}")
    return answer


def poll_until(place, fits, *options, attempts=6, link="bluez:hci0"):
    """Polls again while something is in the way, as the service does; the answers."""
    answers = []
    for _ in range(attempts):
        answers.append(poll(place, *options, check=False, link=link))
        if fits(answers):
            return answers
        time.sleep(1)
    raise Failure(f"after {attempts} polls: {[(a['exit'], a.get('new'), a['said'][-300:]) for a in answers]}")


def bluetoothd(verb):
    return run("bluetoothd-ctl", verb)


def power(adapter, on):
    """Switches an adapter; bluetoothd, where the kernel killed it for that, is started again (see bluetoothd-ctl ensure)."""
    command = ["busctl", "set-property", "org.bluez", f"/org/bluez/{adapter}", "org.bluez.Adapter1", "Powered", "b", "true" if on else "false"]
    if run(*command, check=False).returncode:
        ensure_bluetoothd()
        run(*command)


def ensure_bluetoothd():
    said = run("bluetoothd-ctl", "ensure").strip()
    if said:
        print(f"  {said}", flush=True)


def disconnect(index, address):
    """Ends the LE link of an adapter at once (MGMT Disconnect, 0x0014), without bluetoothd's own delay."""
    control = socket.socket(31, socket.SOCK_RAW, 1)  # AF_BLUETOOTH, BTPROTO_HCI
    libc = ctypes.CDLL(None, use_errno=True)
    name = struct.pack("<HHH", 31, 0xFFFF, 3)  # No adapter, HCI_CHANNEL_CONTROL; Python's own bind cannot name a channel.
    expect(libc.bind(control.fileno(), name, len(name)) == 0, "the management socket cannot be bound")
    control.send(struct.pack("<HHH", 0x0014, index, 7) + bytes.fromhex(address.replace(":", ""))[::-1] + b"\x01")
    control.close()


def remove_devices(adapter="hci0"):
    """Removes every device from bluetoothd, so that tests are independent."""
    tree = subprocess.run(["busctl", "tree", "--list", "org.bluez"], capture_output=True, text=True).stdout.split()
    for path in tree:
        if path.startswith("/org/bluez/hci") and path.count("/") == 4:
            subprocess.run(["busctl", "call", "org.bluez", path.rsplit("/", 1)[0], "org.bluez.Adapter1", "RemoveDevice", "o", path], capture_output=True)


class Air:
    """Records the air with btmon; the file is kept if the test fails."""

    def __init__(self, name):
        self.path = f"{OUT}/{name}.btsnoop"
        self.process = subprocess.Popen(["btmon", "-w", self.path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self, keep):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if not keep and os.path.exists(self.path):
            os.unlink(self.path)


def run_tests(tests):
    """Runs the functions; exit code 1 if one failed. Names on the command line select tests, and -NAME omits one."""
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    left_out = {name[1:] for name in sys.argv[1:] if name.startswith("-")}
    unknown = (set(wanted) | left_out) - {test.__name__ for test in tests}
    if unknown:
        sys.exit(f"there is no test {', '.join(sorted(unknown))}")
    failed = 0
    for test in tests:
        name = test.__name__
        if wanted and name not in wanted or name in left_out:
            continue
        air, began, failure = Air(name), time.monotonic(), None
        try:
            result = test()
            if asyncio.iscoroutine(result):
                asyncio.run(result)
        except Failure as error:
            failure = str(error)
        except Exception as error:  # Of a foreign library.
            failure = f"{type(error).__name__}: {error}"
        air.end(keep=failure is not None)
        took = time.monotonic() - began
        print(f"{'FAILED' if failure else 'passed'} {name} ({took:.1f} s)", flush=True)
        if failure:
            failed += 1
            print(f"  {failure}\n  the air: {air.path}", flush=True)
        try:
            ensure_bluetoothd()
        except Failure as error:
            print(f"  {error}", flush=True)
        remove_devices()
    sys.exit(1 if failed else 0)
