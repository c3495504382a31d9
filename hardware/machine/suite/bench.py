"""Helpers of the tests in the test VM: programs with time limits, recordings of the air, and bluetoothd."""
import asyncio
import contextlib
import ctypes
import json
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.realpath(f"{os.path.dirname(os.path.realpath(__file__))}/../../../Tests/System"))
from programs import LIMIT, Programs, control, retail, ticks, wait_for  # noqa: E402, F401

PRODUCTS = os.environ["BENCH_PRODUCTS"]
GATEWAY = f"{PRODUCTS}/waterh-gateway"
# The emulated bottle has the address of its adapter, hci1. Over the air, a poll must name its bottle.
BOTTLE = os.environ.setdefault("WATERH_BOTTLE", "00:AA:01:01:00:01")
DEVICE = "/org/bluez/hci0/dev_" + BOTTLE.replace(":", "_")
OUT = os.environ.get("BENCH_OUT", tempfile.gettempdir())


def expect(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def until(condition, sentence, limit=LIMIT):
    return wait_for(condition, sentence, limit, pause=0.1)


def run(*command, limit=LIMIT, check=True):
    """Runs a command; returns its output, or without `check` the whole result."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired as timeout:
        raise AssertionError(f"{' '.join(command)}: still running after {limit} s; output {timeout.stdout!r} {timeout.stderr!r}")
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout if check else done


@contextlib.contextmanager
def background(*command, **options):
    """A process that runs as long as the block, and is killed at its end."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=LIMIT)


class Emulator(Programs):
    """`waterh-emulator run`, from the line "ready" to its end."""

    def __init__(self, *options, link="bluez:hci1"):
        super().__init__(PRODUCTS)
        self.link = link
        self.emulator(*options)
        self.process = self.children["waterh-emulator"]

    def sip(self, *amounts):
        for amount in amounts:
            super().sip(amount)

    def status(self):
        return control(self.control, "status")

    def output(self):
        """Everything that it has printed."""
        return self.log("waterh-emulator")

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def stop(self):
        """Ends it with SIGTERM; returns its exit code."""
        return super().stop("waterh-emulator")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(f"  the emulator (exit code {self.process.poll()}) printed: {self.output()[-800:]!r}", flush=True)
        if self.process.poll() is None:
            self.stop()
        self.close()


def bus_name(process):
    """The unique name of a process on the system bus."""
    def call_bus(member, *arguments):
        return run("busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, *arguments, check=False).stdout
    for name in call_bus("ListNames").split():
        name = name.strip('"')
        if name.startswith(":") and call_bus("GetConnectionUnixProcessID", "s", name).split()[-1:] == [str(process.pid)]:
            return name
    raise AssertionError(f"process {process.pid} is not on the bus")


def store():
    return tempfile.mkdtemp() + "/waterh.sqlite"


def rows(store_path):
    """The amounts of the drinks in the store."""
    return sorted(ml for (ml,) in sqlite3.connect(f"file:{store_path}?mode=ro", uri=True).execute("SELECT ml FROM drink WHERE deleted = 0"))


def poll_command(store_path, *options, link="bluez:hci0"):
    return [GATEWAY, "poll", "--link", link, "--store", store_path, "--json", *options]


def poll(store_path, *options, link="bluez:hci0", check=True):
    """One poll; its JSON, with exit code and error output."""
    done = run(*poll_command(store_path, *options, link=link), check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"poll printed no JSON but {done.stdout!r}, {done.stderr!r}, exit code {done.returncode}")
    answer["exit"], answer["stderr"] = done.returncode, done.stderr
    if check:
        expect(done.returncode == 0, f"poll: exit code {done.returncode}: {done.stderr}")
    return answer


def is_complete(answers):
    return answers[-1]["exit"] == 0 and answers[-1].get("complete")


def poll_until(store_path, matches=is_complete, *options):
    """Polls up to six times until `matches` accepts the answers, as the service does. Returns the answers."""
    answers = []
    for _ in range(6):
        answers.append(poll(store_path, *options, check=False))
        if matches(answers):
            return answers
        time.sleep(1)
    raise AssertionError(f"after 6 polls: {[(a['exit'], a.get('new'), a['stderr'][-300:]) for a in answers]}")


def each_sip_once(store_path, amounts):
    """Polls until the log is empty; each of these amounts is one drink."""
    poll_until(store_path)
    expect(rows(store_path) == sorted(amounts), f"{rows(store_path)}, not {sorted(amounts)}")


def bluetoothd(subcommand):
    return run("bluetoothd-ctl", subcommand)


def power(adapter, on):
    """Switches an adapter on or off. Restarts bluetoothd if the kernel killed it because of that (see bluetoothd-ctl ensure)."""
    command = ["busctl", "set-property", "org.bluez", f"/org/bluez/{adapter}", "org.bluez.Adapter1", "Powered", "b", "true" if on else "false"]
    if run(*command, check=False).returncode:
        ensure_bluetoothd()
        run(*command)


def ensure_bluetoothd():
    message = run("bluetoothd-ctl", "ensure").strip()
    if message:
        print(f"  {message}", flush=True)


def device_property(name):
    """A property of the bottle at bluetoothd, as busctl prints it; "" if there is none."""
    return run("busctl", "get-property", "org.bluez", DEVICE, "org.bluez.Device1", name, check=False).stdout


def is_connected():
    return "true" in device_property("Connected")


def disconnect(index, address):
    """Ends the LE link of an adapter at once (MGMT Disconnect, 0x0014), without bluetoothd's own delay."""
    control = socket.socket(31, socket.SOCK_RAW, 1)  # AF_BLUETOOTH, BTPROTO_HCI
    libc = ctypes.CDLL(None, use_errno=True)
    name = struct.pack("<HHH", 31, 0xFFFF, 3)  # No adapter, HCI_CHANNEL_CONTROL; Python's own bind cannot name a channel.
    expect(libc.bind(control.fileno(), name, len(name)) == 0, "the management socket cannot be bound")
    control.send(struct.pack("<HHH", 0x0014, index, 7) + bytes.fromhex(address.replace(":", ""))[::-1] + b"\x01")
    control.close()


def remove_devices():
    """Removes every device from bluetoothd, so that tests are independent."""
    for path in run("busctl", "tree", "--list", "org.bluez", check=False).stdout.split():
        if path.startswith("/org/bluez/hci") and path.count("/") == 4:
            run("busctl", "call", "org.bluez", path.rsplit("/", 1)[0], "org.bluez.Adapter1", "RemoveDevice", "o", path, check=False)


def run_test(test):
    """Runs one test while btmon records HCI. Returns the reason of a failure, and keeps the recording then."""
    path, failure = f"{OUT}/{test.__name__}.btsnoop", None
    recorder = subprocess.Popen(["btmon", "-w", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        result = test()
        if asyncio.iscoroutine(result):
            asyncio.run(result)
    except Exception as error:  # Also from a third-party library.
        failure = f"{error if isinstance(error, AssertionError) else repr(error)}\n  the air: {path}"
    recorder.send_signal(signal.SIGINT)
    try:
        recorder.wait(LIMIT)
    except subprocess.TimeoutExpired:
        recorder.kill()
        recorder.wait()
    if failure is None and os.path.exists(path):
        os.unlink(path)
    return failure


def run_tests(tests):
    """Runs the functions; exit code 1 if one failed. Names on the command line select tests, and -NAME omits one."""
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    omitted = {name[1:] for name in sys.argv[1:] if name.startswith("-")}
    unknown = (set(wanted) | omitted) - {test.__name__ for test in tests}
    if unknown:
        sys.exit(f"unknown test: {', '.join(sorted(unknown))}")
    failed = 0
    for test in tests:
        name = test.__name__
        if wanted and name not in wanted or name in omitted:
            continue
        started = time.monotonic()
        failure = run_test(test)
        print(f"{'FAILED' if failure else 'passed'} {name} ({time.monotonic() - started:.1f} s)" + (f"\n  {failure}" if failure else ""), flush=True)
        failed += failure is not None
        try:
            ensure_bluetoothd()
        except AssertionError as error:
            print(f"  {error}", flush=True)
        remove_devices()
    sys.exit(1 if failed else 0)
