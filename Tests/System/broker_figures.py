"""Benchmarks of the service with a broker: latency of a drink at each receiver, and duration of a delivery after a week without a broker.

Called by `hardware/bench benchmarks broker`.
"""
import contextlib
import json
import os
import statistics
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import service_figures
from programs import Programs, free_port, is_listening, mosquitto, running, wait_for, write_drinks

HERE = os.path.dirname(os.path.realpath(__file__))

WEEK = 10_000
ROUNDS = 40
READY = "ready"


@contextlib.contextmanager
def broker(programs, port):
    with running(mosquitto(programs.folder, port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        wait_for(lambda: is_listening(port), "the broker")
        yield


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


def measure(products, folder, say, limit):
    for part in (week, latencies):
        programs = Programs(products, WATERH_ZONE="UTC")
        try:
            part(programs, folder, say, limit)
        finally:
            programs.close()


@contextlib.contextmanager
def subscriber(port, topic):
    """The messages of a topic, after the broker has confirmed the subscription by forwarding a message of this program."""
    probe_topic = f"bench/{topic}"
    with running(["mosquitto_sub", "-p", port, "-q", "1", "-t", topic, "-t", probe_topic, "-F", "%p"], stdout=subprocess.PIPE, text=True) as process:
        messages = Lines(process)
        wait_for(lambda: subprocess.run(["mosquitto_pub", "-p", str(port), "-t", probe_topic, "-m", READY]).returncode == 0 and messages.is_ready.wait(0.2), "the listener")
        yield messages


@contextlib.contextmanager
def desktop(programs, python):
    """A private D-Bus with a notification server, for the programs too; yields the displayed notifications."""
    with running(["dbus-daemon", "--session", "--nofork", "--print-address", f"--address=unix:path={programs.folder}/bus"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as bus:
        programs.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
        with running([python, f"{HERE}/notification_desk.py"], stdout=subprocess.PIPE, text=True, env=programs.environment) as process:
            shown = Lines(process)
            wait_for(lambda: shown.is_ready.wait(0.2), "the notification server")
            yield shown


@contextlib.contextmanager
def service(programs, port, page=None, more=""):
    """Runs the service until the end of the block; yields it when it is connected to the broker."""
    configuration = programs.folder / "broker.toml"
    configuration.write_text(f'link = "unix:{programs.folder}/none.sock"\nshare-waterline = true\n{more}[mqtt]\nurl = "mqtt://127.0.0.1:{port}"\n')
    (programs.folder / "waterh-gateway.log").unlink(missing_ok=True)
    process = programs.start("waterh-gateway", "run", "--config", configuration, "--listen", f"127.0.0.1:{page}" if page else "off")
    try:
        wait_for(lambda: "MQTT: connected" in programs.log("waterh-gateway"), "the service")
        yield process
    finally:
        programs.stop("waterh-gateway")


def week(programs, folder, say, limit):
    """A week's drinks of many users, stored while the broker is down, and published afterwards."""
    port = free_port()
    with broker(programs, port), service(programs, port):
        pass
    begin = time.time() - 7 * 86400
    write_drinks(f"{folder}/week.csv", ((begin + number * 60, 50 + number % 300) for number in range(WEEK)))
    programs.run("waterh-tracker", "import", f"{folder}/week.csv")
    say(f"broker: {WEEK} drinks of a week without a broker; waterh-gateway run, received by mosquitto_sub")
    with broker(programs, port), subscriber(port, "hydration/sip") as messages:
        began = time.monotonic()
        with service(programs, port) as process:
            before = service_figures.resident(process)[0]
            wait_for(lambda: len(messages.lines) >= WEEK, "all drinks")
            after = service_figures.resident(process)[0]
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


def latencies(programs, folder, say, limit):
    """The time from the HTTP response to a write, which follows the commit, to each receiver; 0 if the message arrived before the response."""
    port, page = free_port(), free_port()
    hook = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    programs.run("waterh-tracker", "settings", "set", "waterline.discreet", "false", "waterline.timeReminders", "false")
    token = programs.token()
    programs.url, programs.headers = f"http://127.0.0.1:{page}", {"Authorization": f"Bearer {token}"}

    def post(path, body):
        status, answer = programs.ask("POST", f"/api/v1/{path}", body)
        assert status < 300, answer
        return time.monotonic()

    more = f'[webhook]\nurl = "http://127.0.0.1:{hook.server_port}/"\n'
    stream = ["curl", "-sN", "--noproxy", "*", "--retry", "100", "--retry-connrefused", "-H", f"Authorization: Bearer {token}", f"{programs.url}/api/v1/events?shows=notifications"]
    with broker(programs, port), desktop(programs, service_figures.peer_python(folder)) as on_desktop, service(programs, port, page, more), \
            subscriber(port, "hydration/sip") as at_broker, subscriber(port, "hydration/notify") as at_notes, running(stream, stdout=subprocess.PIPE, text=True) as events:
        in_stream = Lines(events)
        wait_for(lambda: in_stream.lines, "the stream")
        found = {"a drink at the broker": [], "a drink in the event stream": [], "a notification at the broker": [], "a notification in the event stream": [],
                 "a notification at a webhook": [], "a notification on the desktop": []}
        for number in range(ROUNDS):
            ml, seen = 100 + number, len(in_stream.lines)
            done = post("drinks", {"ml": ml})
            wait_for(lambda: at_broker.first(lambda line: f'"ml":{ml},' in line) and in_stream.first(lambda line: '"dailyTotalMl"' in line, seen), "a drink")
            found["a drink at the broker"].append(at_broker.first(lambda line: f'"ml":{ml},' in line) - done)
            found["a drink in the event stream"].append(in_stream.first(lambda line: '"dailyTotalMl"' in line, seen) - done)
        post("session", {})
        for number in range(10):
            counts = len(at_notes.lines), len(in_stream.lines), len(Hook.arrivals), len(on_desktop.lines)
            done = post("session/drink", {})
            wait_for(lambda: at_notes.first(lambda line: "waterline-per-drink" in line, counts[0]) and in_stream.first(lambda line: "waterline-per-drink" in line, counts[1])
                     and len(Hook.arrivals) > counts[2] and on_desktop.first(lambda line: "waterline-per-drink" in line, counts[3]), "a notification")
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
