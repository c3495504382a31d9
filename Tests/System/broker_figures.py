"""Benchmarks of the service with a broker: latency of a drink at each receiver, and duration of a delivery after a week without a broker.

Called by `hardware/bench benchmarks broker`.
"""
import collections
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
    """The messages at a receiver, each with its time of arrival: the lines that a program prints, except `ready`."""

    def __init__(self, process=None):
        self.lines, self.is_ready = [], threading.Event()
        if process:
            threading.Thread(target=lambda: [self.append(line.rstrip("\n")) for line in process.stdout], daemon=True).start()

    def append(self, line):
        if line == READY:
            self.is_ready.set()
        else:
            self.lines.append((time.monotonic(), line))

    def first(self, words, after):
        return next((when for when, line in self.lines[after:] if words in line), None)


def measure(products, folder, say, limit):
    for part in (week, latencies):
        with contextlib.closing(Programs(products, WATERH_ZONE="UTC")) as programs:
            part(programs, folder, say, limit)


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
    def do_POST(self):
        self.server.arrivals.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def latencies(programs, folder, say, limit):
    """The time from the HTTP response to a write, which follows the commit, to each receiver; 0 if the message arrived before the response."""
    port, page = free_port(), free_port()
    hook = HTTPServer(("127.0.0.1", 0), Hook)
    hook.arrivals = Lines()
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    programs.run("waterh-tracker", "settings", "set", "waterline.discreet", "false", "waterline.timeReminders", "false")
    token = programs.token()
    programs.url, programs.headers = f"http://127.0.0.1:{page}", {"Authorization": f"Bearer {token}"}
    found = collections.defaultdict(list)

    def measure_arrivals(path, body, receivers):
        """Sends a write, and waits for a message with these words at each receiver."""
        seen = {name: len(lines.lines) for name, (lines, _) in receivers.items()}
        status, answer = programs.ask("POST", f"/api/v1/{path}", body)
        assert status < 300, answer
        done = time.monotonic()
        for name, (lines, words) in receivers.items():
            arrived = wait_for(lambda: lines.first(words, seen[name]), name)
            found[name].append(max(0, arrived - done))

    more = f'[webhook]\nurl = "http://127.0.0.1:{hook.server_port}/"\n'
    stream = ["curl", "-sN", "--noproxy", "*", "--retry", "100", "--retry-connrefused", "-H", f"Authorization: Bearer {token}", f"{programs.url}/api/v1/events?shows=notifications"]
    with broker(programs, port), desktop(programs, service_figures.peer_python(folder)) as on_desktop, service(programs, port, page, more), \
            subscriber(port, "hydration/sip") as at_broker, subscriber(port, "hydration/notify") as at_notes, running(stream, stdout=subprocess.PIPE, text=True) as events:
        in_stream = Lines(events)
        wait_for(lambda: in_stream.lines, "the stream")
        for ml in range(100, 100 + ROUNDS):
            measure_arrivals("drinks", {"ml": ml}, {
                "a drink at the broker": (at_broker, f'"ml":{ml},'), "a drink in the event stream": (in_stream, '"dailyTotalMl"')})
        measure_arrivals("session", {}, {})
        receivers = {"at the broker": at_notes, "in the event stream": in_stream, "at a webhook": hook.arrivals, "on the desktop": on_desktop}
        for _ in range(10):
            measure_arrivals("session/drink", {}, {f"a notification {place}": (lines, "waterline-per-drink") for place, lines in receivers.items()})
        say(f"broker: a drink and a notification, from the response to POST (after the commit) to each receiver; the median of {ROUNDS} and of 10, and the maximum")
        for name, times in found.items():
            limit(f"{name}, median", statistics.median(times), 0.2, "s")
            say(f"    maximum {max(times):.3f} s")
    hook.shutdown()
