"""Benchmarks of the service: start, idle CPU, memory and request rate, compared with the server of `collector_dashboard.py`.

`hardware/bench benchmarks service` calls `measure`; the figures and their limits are those of docs/benchmarks.md.
"""
import asyncio
import contextlib
import datetime
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import time
import venv

from programs import Programs, free_port, request, running, ticks, write_drinks

HERE = os.path.dirname(os.path.realpath(__file__))
ROUNDS = 3
SECONDS = 5
CONNECTIONS = 64
CLIENTS = 1000
STREAMS = 32  # of one token
IDLE_SECONDS = 30


def wait_until_ready(port, path, process, limit=30):
    """Waits for 200; returns the seconds it took."""
    begun = time.monotonic()
    while time.monotonic() - begun < limit:
        with contextlib.suppress(OSError):  # No server is listening yet.
            if request("GET", f"http://127.0.0.1:{port}{path}")[0] == 200:
                return time.monotonic() - begun
        if process.poll() is not None:
            raise SystemExit(f"{process.args[0]} ended with {process.returncode}")
        time.sleep(0.002)
    raise SystemExit(f"{process.args[0]} did not answer within {limit} s")


def resident(process):
    """Resident MiB, now and at the peak."""
    text = open(f"/proc/{process.pid}/status").read()
    return tuple(int(re.search(rf"{key}:\s+(\d+) kB", text)[1]) / 1024 for key in ("VmRSS", "VmHWM"))


def requests_per_second(port, headers):
    found = subprocess.run(
        ["wrk", "-t", "2", "-c", str(CONNECTIONS), "-d", f"{SECONDS}s", *(f"-H{name}: {value}" for name, value in headers.items()), f"http://127.0.0.1:{port}/api/v1/state"], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in found or "Socket errors" in found:
        raise SystemExit(f"requests failed:\n{found}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", found)[1])


def year_of_sips(folder):
    """Twelve drinks a day for a year, as CSV for the service and as the table of the dashboard."""
    now = datetime.datetime.now().replace(microsecond=0)
    moments = sorted(now - datetime.timedelta(days=day, minutes=30 + 60 * number) for day in range(365) for number in range(12))
    drinks = [(moment, 50 + number * 7 % 200) for number, moment in enumerate(moments)]
    write_drinks(f"{folder}/year.csv", ((moment.timestamp(), ml) for moment, ml in drinks))
    with sqlite3.connect(f"{folder}/collector.sqlite") as db:
        db.execute("CREATE TABLE sips (id INTEGER PRIMARY KEY, timestamp TEXT UNIQUE NOT NULL, intake_ml INTEGER NOT NULL, battery INTEGER)")
        db.executemany(
            "INSERT OR IGNORE INTO sips (timestamp, intake_ml, battery) VALUES (?, ?, 90)", [(moment.isoformat(), ml) for moment, ml in drinks])
    db.close()


def peer_python(folder):
    """A virtual environment with the packages of the dashboard."""
    venv.create(f"{folder}/peer", with_pip=True)
    python = f"{folder}/peer/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", f"{HERE}/benchmark-requirements.txt"], check=True, stdout=sys.stderr)
    return python


async def event_clients(port, log_a_drink, process, tokens):
    """Seconds from the end of a `log` command until its state arrived at the last client; resident MiB during that time."""
    arrivals = {}  # By client: the amount of its last state, and the time of its arrival.

    async def follow(number):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        writer.write(f"GET /api/v1/events?looks=no HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {tokens[number // STREAMS]}\r\n\r\n".encode())
        async for line in reader:
            if found := re.search(rb'"dailyTotalMl":(\d+)', line):
                arrivals[number] = int(found[1]), time.monotonic()

    async def every_client_has_more_than(ml):
        async with asyncio.timeout(60):
            while len(arrivals) < CLIENTS or any(amount <= ml for amount, _ in arrivals.values()):
                await asyncio.sleep(0.01)

    clients = [asyncio.create_task(follow(number)) for number in range(CLIENTS)]
    await every_client_has_more_than(-1)
    before = max(amount for amount, _ in arrivals.values())
    await asyncio.to_thread(log_a_drink)
    committed = time.monotonic()
    await every_client_has_more_than(before)
    if lost := sum(client.done() for client in clients):
        raise SystemExit(f"{lost} of {CLIENTS} event clients were disconnected")
    for client in clients:
        client.cancel()
    return max(arrived for _, arrived in arrivals.values()) - committed, resident(process)[1]


def measure(products, folder, say, limit):
    """The service alone, then both servers alternately, then a thousand event clients."""
    say(f"service: waterh-gateway run with a year of sips; wrk -t 2 -c {CONNECTIONS} -d {SECONDS}s …/api/v1/state, alternately with FastAPI under uvicorn")
    year_of_sips(folder)
    programs = Programs(products)

    def quietly(command, **environment):
        return running(command, env=programs.environment | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @contextlib.contextmanager
    def service():
        port = free_port()
        with quietly(programs.command("waterh-gateway", ["run", "--link", programs.link, "--listen", f"127.0.0.1:{port}"])) as process:
            yield port, process, wait_until_ready(port, "/healthz", process)

    try:
        programs.run("waterh-tracker", "import", f"{folder}/year.csv")
        headers = {"Authorization": f"Bearer {programs.token('read')}"}
        programs.emulator("--quiet")
        starts = []
        for _ in range(ROUNDS + 2):
            with service() as (_, _, seconds):
                starts.append(seconds)
        limit("cold start to ready, median of 5", statistics.median(starts), 0.3, "s")
        with service() as (port, process, _):
            status, state = request("GET", f"http://127.0.0.1:{port}/api/v1/state", headers=headers)
            if status != 200:
                raise SystemExit(f"no state: {status}")
            time.sleep(70)  # The last viewer is gone, and the connection to the bottle is closed.
            before = ticks(process)
            time.sleep(IDLE_SECONDS)
            share = (ticks(process) - before) / os.sysconf("SC_CLK_TCK") / IDLE_SECONDS * 100
            limit("idle, of a core", share, 0.3, "%")
            limit("resident with a year of sips", resident(process)[0], 60, "MiB")
            with open(f"{folder}/state.json", "wb") as file:
                file.write(state)
            python, other = peer_python(folder), free_port()
            peer = [python, "-m", "uvicorn", "collector_dashboard:app", "--app-dir", HERE, "--port", str(other), "--log-level", "warning"]
            with quietly(peer, COLLECTOR_DB=f"{folder}/collector.sqlite", COLLECTOR_STATE=f"{folder}/state.json", PYTHONDONTWRITEBYTECODE="1") as peer_process:
                wait_until_ready(other, "/api/v1/state", peer_process)
                their_state = request("GET", f"http://127.0.0.1:{other}/api/v1/state")[1]
                rates = {port: [], other: []}
                for _ in range(ROUNDS):
                    for server_port in rates:
                        rates[server_port].append(requests_per_second(server_port, headers if server_port == port else {}))
            ours, theirs = (statistics.median(rates[server_port]) for server_port in (port, other))
            say(f"  ours {ours:.0f} requests/s ({len(state)} bytes), FastAPI under uvicorn {theirs:.0f} ({len(their_state)} bytes); medians of {ROUNDS}")
            limit("state", ours, 10_000, "requests/s", at_most=False)
            limit("state / FastAPI", ours / theirs, 10, "times", at_most=False)

        tokens = [programs.token("read") for _ in range(-(-CLIENTS // STREAMS))]
        with service() as (port, process, _):
            delay, memory = asyncio.run(event_clients(port, lambda: programs.run("waterh-tracker", "log", 100), process, tokens))
            limit(f"an update at all of {CLIENTS} event clients", delay, 0.5, "s")
            limit(f"resident with {CLIENTS} event clients", memory, 120, "MiB")
    finally:
        programs.close()
