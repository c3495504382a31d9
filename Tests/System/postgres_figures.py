"""Benchmarks of PostgreSQL: the backlog of one gateway relative to COPY, many gateways, and a view of many people.

Called by `hardware/bench benchmarks postgres`. The server is Debian's, with its default settings, so with fsync.
"""
import contextlib
import glob
import os
import shutil
import subprocess
import tempfile
import time

from programs import wait_for, write_drinks

BACKLOG, ROUNDS = 100_000, 3
GATEWAYS, WEEK = 2_000, 56
PEOPLE, DAYS, DRINKS = 10_000, 30, 8
COLUMNS = "gateway, key, n, at, day, zone, ml, source"


@contextlib.contextmanager
def server():
    """Starts a cluster in a folder of its own; never as root. Yields the folder, which has the socket."""
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))[-1]
    folder = tempfile.mkdtemp(prefix="waterh-pg-", dir="/var/tmp")
    user = {}
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    subprocess.run([f"{binaries}/initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "admin", "-E", "UTF8", "--locale=C"],
                   check=True, stdout=subprocess.DEVNULL, cwd="/", **user)
    process = subprocess.Popen([f"{binaries}/postgres", "-D", f"{folder}/data", "-k", folder, "-c", "listen_addresses="],
                               stderr=subprocess.DEVNULL, cwd="/", **user)
    try:
        wait_for(lambda: subprocess.run([f"{binaries}/pg_isready", "-q", "-h", folder]).returncode == 0, "PostgreSQL")
        yield folder
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder)


def measure(products, folder, say, limit):
    with server() as socket:
        def sql(*statements, database="water", role="admin", settings=()):
            command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", socket, "-U", role, "-d", database]
            command += [word for statement in statements for word in ("-c", statement)]
            return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | dict(settings)).stdout.strip()

        def url(role):
            return f"postgresql://{role}@/water?host={socket}"

        def benchmark(*words):
            return float(subprocess.run([f"{products}/Benchmarks", "postgres", *words], check=True, capture_output=True, text=True).stdout)

        sql("CREATE DATABASE water", database="postgres")
        subprocess.run([f"{products}/waterh-gateway", "postgres", "init", url("admin"), "--gateway", "one", "--viewer", "viewer"],
                       check=True, stdout=subprocess.DEVNULL)
        backlog(products, folder, say, limit, sql, url, benchmark)
        fleet(say, limit, sql, url, benchmark)
        overview(say, limit, sql)


def backlog(products, folder, say, limit, sql, url, benchmark):
    """A gateway's first transfer, and COPY of the same rows into the same table; alternately."""
    csv, store, rows = f"{folder}/drinks.csv", f"{folder}/backlog.sqlite", f"{folder}/rows"
    now = time.time()
    write_drinks(csv, ((now - number * 600, 10 + number * 7 % 500) for number in range(BACKLOG)))
    subprocess.run([f"{products}/waterh-tracker", "import", csv, "--store", store], check=True, stdout=subprocess.DEVNULL)
    say(f"postgres: {BACKLOG:,} drinks of two years; Benchmarks postgres send STORE URL, and COPY waterh.journal FROM the same rows")
    ours, copies = [], []
    for _ in range(ROUNDS + 1):
        sql("TRUNCATE waterh.journal", "UPDATE waterh.gateway SET store = NULL, position = 0", "CHECKPOINT")
        ours.append(benchmark("send", store, url("one")))
        if int(sql("SELECT count(*) FROM waterh.journal")) != BACKLOG:
            raise SystemExit("the journal does not have all drinks")
        if not copies:
            with open(rows, "w") as file:
                file.write(sql(f"COPY (SELECT {COLUMNS} FROM waterh.journal) TO STDOUT") + "\n")
        sql("TRUNCATE waterh.journal", "CHECKPOINT")
        start = time.monotonic()
        sql(rf"\copy waterh.journal ({COLUMNS}) FROM '{rows}'")
        copies.append(time.monotonic() - start)
    # The first round creates the partitions.
    ours, copy = min(ours[1:]), min(copies[1:])
    say(f"  COPY: {BACKLOG / copy:,.0f} entries/s")
    limit("backlog of one gateway", BACKLOG / ours, 20_000, "entries/s", at_most=False)
    limit("backlog of one gateway / COPY", copy / ours, 0.6, "times", at_most=False)
    sql("TRUNCATE waterh.journal")


def fleet(say, limit, sql, url, benchmark):
    sql(f"""
        DO $$ BEGIN
            FOR n IN 1..{GATEWAYS} LOOP
                EXECUTE format('CREATE ROLE %I LOGIN IN ROLE waterh_gateway', 'gateway' || n);
                INSERT INTO waterh.gateway (name, person) VALUES ('gateway' || n, 'person' || n);
            END LOOP;
        END $$""")
    say(f"  {GATEWAYS:,} gateways with {WEEK} drinks each, 32 at a time; Benchmarks postgres fleet {GATEWAYS} {WEEK} URL")
    seconds = benchmark("fleet", str(GATEWAYS), str(WEEK), url("ROLE"))
    if int(sql("SELECT count(*) FROM waterh.journal")) != GATEWAYS * WEEK:
        raise SystemExit("the journal does not have all drinks of all gateways")
    limit(f"a week's backlog of {GATEWAYS:,} gateways", seconds, 60, "s")


def overview(say, limit, sql):
    sql("TRUNCATE waterh.journal", "TRUNCATE waterh.gateway",
        f"INSERT INTO waterh.gateway (name, person, goal_ml) SELECT 'g' || n, 'person' || n, 2000 FROM generate_series(1, {PEOPLE}) n",
        f"SELECT waterh.prepare(array(SELECT current_date - n FROM generate_series(0, {DAYS}) n))",
        f"""INSERT INTO waterh.journal ({COLUMNS})
            SELECT 'g' || g, 'key-' || d || '-' || n, 0, current_date - d + interval '7 hours' + n * interval '90 minutes',
                current_date - d, 'UTC', 200 + n, 'bottle'
            FROM generate_series({DAYS}, 0, -1) d, generate_series(1, {DRINKS}) n, generate_series(1, {PEOPLE}) g""",
        "VACUUM ANALYZE waterh.journal", "ANALYZE waterh.gateway")
    query = "SELECT person, ml, drinks, goal_ml FROM waterh.days WHERE day = current_date - 1 ORDER BY ml"
    say(f"  {PEOPLE:,} people, {DAYS} days with {DRINKS} drinks: {query}")
    if len(sql(query, role="viewer").splitlines()) != PEOPLE:
        raise SystemExit("the view does not show all people")
    plans = [sql(f"EXPLAIN (ANALYZE, TIMING OFF) {query}", role="viewer") for _ in range(20)]
    times = [sum(float(line.split()[2]) for line in plan.splitlines() if " Time: " in line) for plan in plans]
    limit(f"a day's overview of {PEOPLE:,} people", min(times), 50, "ms")
