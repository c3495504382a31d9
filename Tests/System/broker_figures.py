"""Benchmarks of the service with a broker: latency of a drink at each receiver, and duration of a delivery after a week without a broker.

Called by `hardware/bench benchmarks broker`.
"""
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import service_figures

HERE = os.path.dirname(os.path.realpath(__file__))

WEEK = 10_000
ROUNDS = 40
LIMIT = 120
READY = "ready"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def running(command, **options):
    process = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def broker(folder, port):
    with open(f"{folder}/mosquitto.conf", "w") as file:
        file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nuser {'root' if os.geteuid() == 0 else 'mosquitto'}\n")
    with running([shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", f"{folder}/mosquitto.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until("the broker", lambda: is_listening(port))
        yield process


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def until(what, matches):
    end = time.monotonic() + LIMIT
    while not matches():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not in {LIMIT} s")
        time.sleep(0.01)


class Lines:
    """The lines that a program prints after its first line (`ready`), each with its time of arrival."""

    def __init__(self, process):
        self.lines, self.process, self.is_ready = [], process, threading.Event()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line == READY:
                self.is_ready.set()
            else:
                self.lines.append((time.monotonic(), line))

    def first(self, matches, after=0):
        return next((when for when, line in self.lines[after:] if matches(line)), None)


def resident(process):
    with open(f"/proc/{process.pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def measure(products, folder, say, limit):
    environment = os.environ | {"HOME": folder, "XDG_RUNTIME_DIR": folder, "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_ZONE": "UTC"}
    week(products, folder, environment, say, limit)
    latencies(products, folder, environment, say, limit)


@contextlib.contextmanager
def subscriber(port, topic):
    """The messages of a topic, after the broker has confirmed the subscription by forwarding a message of this program."""
    probe_topic = f"bench/{topic}"
    with running(["mosquitto_sub", "-p", port, "-q", "1", "-t", topic, "-t", probe_topic, "-F", "%p"], stdout=subprocess.PIPE, text=True) as process:
        messages = Lines(process)
        until("the listener", lambda: subprocess.run(["mosquitto_pub", "-p", str(port), "-t", probe_topic, "-m", READY]).returncode == 0 and messages.is_ready.wait(0.2))
        yield messages


@contextlib.contextmanager
def desktop(folder, python):
    """A private D-Bus with a notification server; yields its address and the displayed notifications."""
    with running(["dbus-daemon", "--session", "--nofork", "--print-address", f"--address=unix:path={folder}/bus"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as bus:
        address = bus.stdout.readline().strip()
        with running([python, f"{HERE}/notification_desk.py"], stdout=subprocess.PIPE, text=True, env=os.environ | {"DBUS_SESSION_BUS_ADDRESS": address}) as process:
            shown = Lines(process)
            until("the notification server", lambda: shown.is_ready.wait(0.2))
            yield address, shown


def service(products, folder, store, port, page, environment, more=""):
    with open(f"{folder}/broker.toml", "w") as file:
        file.write(f'link = "unix:{folder}/none.sock"\nstore = "{store}"\nshare-waterline = true\n{more}[mqtt]\nurl = "mqtt://127.0.0.1:{port}"\n')
    return running([f"{products}/waterh-gateway", "run", "--config", f"{folder}/broker.toml", "--listen", f"127.0.0.1:{page}" if page else "off"], env=environment,
                   stdout=subprocess.DEVNULL, stderr=open(f"{folder}/service.log", "w"))


def is_connected(folder):
    with open(f"{folder}/service.log") as file:
        return "MQTT: connected" in file.read()


def week(products, folder, environment, say, limit):
    """A week's drinks of many users, stored while the broker is down, and published afterwards."""
    store, port = f"{folder}/week.sqlite", free_port()
    with broker(folder, port), service(products, folder, store, port, None, environment):
        until("the service", lambda: is_connected(folder))
    begin = time.time() - 7 * 86400
    with open(f"{folder}/week.csv", "w") as file:
        file.write("startDate,endDate,value_ml,uuid\n")
        for number in range(WEEK):
            at = time.strftime("%Y-%m-%d %H:%M:%S +0000", time.gmtime(begin + number * 60))
            file.write(f"{at},{at},{50 + number % 300},00000000-0000-4000-8000-{number:012d}\n")
    subprocess.run([f"{products}/waterh-tracker", "import", f"{folder}/week.csv", "--store", store], check=True, capture_output=True, env=environment)
    say(f"broker: {WEEK} drinks of a week without a broker; waterh-gateway run, received by mosquitto_sub")
    with broker(folder, port), subscriber(port, "hydration/sip") as messages:
        began = time.monotonic()
        with service(products, folder, store, port, None, environment) as process:
            until("the service", lambda: is_connected(folder))
            before = resident(process)
            until("all drinks", lambda: len(messages.lines) >= WEEK)
            after = resident(process)
        sips = [json.loads(line) for _, line in messages.lines]
        if [sip["sequence"] for sip in sips] != sorted({sip["sequence"] for sip in sips}) or [sip["at"] for sip in sips] != sorted(sip["at"] for sip in sips):
            raise SystemExit("the drinks arrived in another order, or twice")
        limit(f"{len(sips)} queued drinks, start of the service to the last at a listener, in order", messages.lines[WEEK - 1][0] - began, 10, "s")
        limit("more resident after them than before", max(0, after - before), 16, "MiB")


class Hook(BaseHTTPRequestHandler):
    arrivals = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        if body["data"]["kind"] == "waterline-per-drink":
            Hook.arrivals.append(time.monotonic())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def latencies(products, folder, environment, say, limit):
    """The time from the HTTP response to a write, which follows the commit, to each receiver; 0 if the message arrived before the response."""
    store, port, page = f"{folder}/now.sqlite", free_port(), free_port()
    hook = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    subprocess.run([f"{products}/waterh-tracker", "settings", "set", "waterline.discreet", "false", "waterline.timeReminders", "false", "--store", store], check=True,
                   capture_output=True, env=environment)
    token = subprocess.run([f"{products}/waterh-tracker", "token", "--store", store], check=True, capture_output=True, text=True, env=environment).stdout.split("\n")[0]

    def post(path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{page}/api/v1/{path}", json.dumps(body).encode(),
                                         {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20).read()
        return time.monotonic()

    more = f'[webhook]\nurl = "http://127.0.0.1:{hook.server_port}/"\n'
    with broker(folder, port), desktop(folder, service_figures.peer_python(folder)) as (bus, on_desktop), \
            service(products, folder, store, port, page, environment | {"DBUS_SESSION_BUS_ADDRESS": bus}, more), subscriber(port, "hydration/sip") as at_broker, \
            subscriber(port, "hydration/notify") as at_notes, \
            running(["curl", "-sN", "--noproxy", "*", "--retry", "100", "--retry-connrefused", "-H", f"Authorization: Bearer {token}", f"http://127.0.0.1:{page}/api/v1/events?shows=notifications"], stdout=subprocess.PIPE,
                    text=True) as stream:
        in_stream = Lines(stream)
        until("the service", lambda: is_connected(folder))
        until("the stream", lambda: in_stream.lines)
        found = {"a drink at the broker": [], "a drink in the event stream": [], "a notification at the broker": [], "a notification in the event stream": [],
                 "a notification at a webhook": [], "a notification on the desktop": []}
        for number in range(ROUNDS):
            ml, seen = 100 + number, len(in_stream.lines)
            done = post("drinks", {"ml": ml})
            until("a drink", lambda: at_broker.first(lambda line: f'"ml":{ml},' in line) and in_stream.first(lambda line: '"dailyTotalMl"' in line, seen))
            found["a drink at the broker"].append(at_broker.first(lambda line: f'"ml":{ml},' in line) - done)
            found["a drink in the event stream"].append(in_stream.first(lambda line: '"dailyTotalMl"' in line, seen) - done)
        post("session", {})
        for number in range(10):
            counts = len(at_notes.lines), len(in_stream.lines), len(Hook.arrivals), len(on_desktop.lines)
            done = post("session/drink", {})
            until("a notification", lambda: at_notes.first(lambda line: "waterline-per-drink" in line, counts[0]) and in_stream.first(lambda line: "waterline-per-drink" in line, counts[1])
                  and len(Hook.arrivals) > counts[2] and on_desktop.first(lambda line: "waterline-per-drink" in line, counts[3]))
            found["a notification at the broker"].append(at_notes.first(lambda line: "waterline-per-drink" in line, counts[0]) - done)
            found["a notification in the event stream"].append(in_stream.first(lambda line: "waterline-per-drink" in line, counts[1]) - done)
            found["a notification at a webhook"].append(Hook.arrivals[counts[2]] - done)
            found["a notification on the desktop"].append(on_desktop.first(lambda line: "waterline-per-drink" in line, counts[3]) - done)
        say(f"broker: a drink and a notification, from the response to POST (after the commit) to each receiver; the median of {ROUNDS} and of 10, and the maximum")
        for name, times in found.items():
            times = [max(0, one) for one in times]
            limit(f"{name}, median", statistics.median(times), 0.2, "s")
            say(f"    maximum {max(times):.3f} s")
    hook.shutdown()
