"""What a fleet takes in, beside PostgreSQL's own COPY of the same rows into the same table, with fsync; its overview; and what an entry costs when
millions are there. A cluster of Debian's PostgreSQL 15 of its own, on a socket in a folder; never as root.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BINARIES = "/usr/lib/postgresql/15/bin"
ROWS = int(os.environ.get("BENCH_FLEET_ROWS", "200000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
# The table grows to so many million rows before each measurement; 50 need 25 GB.
MILLIONS = os.environ.get("BENCH_FLEET_MILLIONS", "1 2 5").split()


def cluster(folder):
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    if user:
        shutil.chown(folder, "postgres", "postgres")
    subprocess.run(user + [f"{BINARIES}/initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "fleet", "-E", "UTF8", "--locale=C"], check=True, stdout=subprocess.DEVNULL, cwd="/")
    server = subprocess.Popen(
        user + [f"{BINARIES}/postgres", "-D", f"{folder}/data", "-k", folder, "-c", "listen_addresses=", "-c", "shared_buffers=1GB", "-c", "max_wal_size=8GB"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    for _ in range(300):
        if subprocess.run([f"{BINARIES}/pg_isready", "-q", "-h", folder, "-d", "postgres"]).returncode == 0:
            return server
        time.sleep(0.1)
    server.kill()
    raise SystemExit("PostgreSQL did not start")


def measure(products, _, say, limit):
    if not os.access(f"{BINARIES}/postgres", os.X_OK):
        say("fleet: PostgreSQL 15 is not installed (apt-get install postgresql-15)")
        return
    say(f"fleet: Benchmarks fleet DATABASE {ROWS} {ROUNDS} {' '.join(MILLIONS)}, on a cluster of its own with fsync")
    folder = tempfile.mkdtemp(prefix="waterh-fleet-")
    server = cluster(folder)
    try:
        words = f"host={folder} user=fleet dbname=fleet"
        subprocess.run([f"{BINARIES}/createdb", "-h", folder, "-U", "fleet", "fleet"], check=True)
        done = subprocess.run([f"{products}/Benchmarks", "fleet", words, str(ROWS), str(ROUNDS), *MILLIONS], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        figures = json.loads(done.stdout)
    finally:
        server.send_signal(2)
        server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)
    copy, take, reading = (statistics.median(figures[name]) for name in ("copyPerSecond", "takePerSecond", "takeWithReadingPerSecond"))
    say(f"  {figures['rows']} rows over two connections, median of {ROUNDS} rounds by turns: COPY {copy:.0f} rows/s; batches of 1,000 {take:.0f} entries/s; with their JSON read {reading:.0f} entries/s")
    limit("entries into one PostgreSQL, each batch committed", take, 20000, "entries/s", at_most=False)
    limit("entries / COPY of the same rows", take / copy, 0.6, "times", at_most=False)
    say(f"  640,000 drinks of {figures['overviewPeople']} people added up: {figures['refreshMilliseconds']:.0f} ms")
    limit(f"overview of {figures['overviewPeople']} people, median", statistics.median(figures["overviewMilliseconds"]), 50, "ms")
    slope = figures["slope"]
    say("  an entry costs " + ", ".join(f"{point['microsecondsPerEntry']:.0f} us at {point['millionRows']} million rows" for point in slope))
    if len(slope) > 1:
        limit("cost of an entry, last / first", slope[-1]["microsecondsPerEntry"] / slope[0]["microsecondsPerEntry"], 1.5, "times")


if __name__ == "__main__":
    # Tests/System/fleet_figures.py PRODUCTS: the same alone.
    measure(sys.argv[1], None, print, lambda name, value, bound, unit, at_most=True: print(f"  {name}: {value:.3g} {unit} ({'at most' if at_most else 'at least'} {bound:g})"))
