"""The programs under test as processes with their own folder, and helpers of all suites."""
import asyncio
import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Foreign"))
import retail  # noqa: E402, F401

CAPTURE = ROOT / "captures/boost_two-days.btsnoop"
LIMIT = 120  # seconds until a program, a response or a condition is overdue; emulated processors on a busy machine are slow
Cost = collections.namedtuple("Cost", "seconds cpu mib")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(condition, what, limit=LIMIT, pause=0.02):
    """Waits until the condition returns something, and returns it. `what` can be a function."""
    end = time.monotonic() + limit
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit} s: {what() if callable(what) else what}")
        time.sleep(pause)
    return found


def stop(process, number=signal.SIGTERM):
    """Ends a process; returns its exit code."""
    process.send_signal(number)
    try:
        return process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def own_mounts():
    """As root, starts this program again in a mount namespace of its own: its mounts disappear with it."""
    if os.geteuid() == 0 and "WATERH_OWN_MOUNTS" not in os.environ:
        os.environ["WATERH_OWN_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])


def preloaded(name, folder):
    """Compiles a C file of this directory for LD_PRELOAD; returns the library."""
    library = pathlib.Path(folder) / f"{name}.so"
    source = pathlib.Path(__file__).with_name(f"{name}.c")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@contextlib.contextmanager
def running(command, **options):
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        stop(process)


def cost(command, **options):
    """Runs a command that must succeed; its seconds, CPU seconds and peak resident MiB."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **{"stdout": subprocess.DEVNULL} | options)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {process.returncode}: {errors.strip()}")
    return Cost(time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def ticks(process):
    """The clock ticks of CPU that a running process has used."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def write_drinks(path, drinks):
    """Writes drinks, pairs of seconds since 1970 and millilitres, as CSV for `waterh-tracker import`."""
    with open(path, "w") as file:
        file.write("startDate,endDate,value_ml,uuid\n")
        for number, (seconds, ml) in enumerate(drinks):
            at = time.strftime("%Y-%m-%d %H:%M:%S +0000", time.gmtime(seconds))
            file.write(f"{at},{at},{ml},{uuid.uuid5(uuid.NAMESPACE_OID, str(number))}\n")


def mosquitto(folder, port, more=""):
    """The command of a broker on this port that accepts all clients."""
    path = pathlib.Path(folder) / "mosquitto.conf"
    user = "root" if os.geteuid() == 0 else "mosquitto"
    path.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nuser {user}\n{more}")
    return [shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", path]


async def greeting_server(case, greeting):
    """The address of a server that greets and sends nothing more, until the test case ends."""
    async def serve(reader, writer):
        writer.write(greeting)
        while await reader.read(4096):
            pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    case.addCleanup(server.close)
    return f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


def control(link, do, value=None):
    """A request to the control socket of an emulated bottle; the bottle's status. To start a program for each would be slow."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT)
        client.connect(link.removeprefix("unix:"))
        client.sendall(json.dumps({"do": do} if value is None else {"do": do, "value": str(value)}).encode() + b"\n")
        response = json.loads(client.makefile().readline())
    if not response["ok"]:
        raise ValueError(response.get("error"))
    return response["status"]


def request(method, url, data=None, headers=None):
    """One HTTP request without a proxy: the status and the bytes of the response."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data, headers or {}, method=method), timeout=LIMIT) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def is_listening(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Programs:
    """The built programs with an environment, a bottle's socket and a store in a temporary folder."""

    def __init__(self, products, **environment):
        self.products = os.path.abspath(products)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waterh-", dir="/tmp"))  # Paths of sockets are short.
        self.store, self.link, self.control = (
            self.folder / "t.sqlite", f"unix:{self.folder}/b.sock", f"unix:{self.folder}/c.sock")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("WATERH_")}
        self.environment = inherited | dict.fromkeys(
            ["HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"], str(self.folder)) | {
                "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_STORE": str(self.store)} | environment
        self.children, self.headers = {}, {}

    def command(self, name, words):
        return [f"{self.products}/{name}" if name.startswith("waterh-") else name, *map(str, words)]

    def run(self, name, *words, code=0):
        """Runs a program to its end; returns its output, with standard error if a failure is expected."""
        done = subprocess.run(self.command(name, words), capture_output=True, text=True, env=self.environment,
                              timeout=LIMIT, stdin=subprocess.DEVNULL)
        assert done.returncode == code, f"{name} {words}: exit code {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout if code == 0 else done.stdout + done.stderr

    def tracker(self, *words, code=0):
        """A subcommand of waterh-tracker on the store; its JSON."""
        output = self.run("waterh-tracker", *words, "--json", code=code)
        return json.loads(output) if output.strip() else None

    def token(self, scope="admin"):
        return self.tracker("token", "new", "--scope", scope)["token"]

    def start(self, name, *words, **options):
        """Starts a program; its output is in a file with its name."""
        with open(self.folder / f"{name}.log", "ab") as log:
            child = subprocess.Popen(self.command(name, words), **{
                "env": self.environment, "stdout": log, "stderr": log, "stdin": subprocess.DEVNULL} | options)
        self.children[name] = child
        return child

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def emulator(self, *words):
        """Starts a bottle, and waits until it is ready."""
        # A cloned peripheral has no control socket.
        control_options = () if "--gadget" in words else ("--control", self.control)
        child = self.start("waterh-emulator", "run", "--link", self.link, *control_options, *words)
        wait_for(lambda: "ready" in self.log("waterh-emulator") or child.poll() is not None, "the bottle")
        assert child.poll() is None, self.log("waterh-emulator")

    def sip(self, ml):
        control(self.control, "sip", ml)

    def gateway(self, *words, host="127.0.0.1", port=None):
        """Starts the service, by default on a free port, and waits for its page; `url` is its address."""
        port = port or free_port()
        self.url = f"http://127.0.0.1:{port}"
        child = self.start("waterh-gateway", "run", "--link", self.link, "--listen", f"{host}:{port}", *words)
        wait_for(lambda: is_listening(port) or child.poll() is not None, lambda: self.log("waterh-gateway"))
        assert child.poll() is None, self.log("waterh-gateway")
        self.headers = {"Authorization": f"Bearer {self.token()}"}

    def ask(self, method, path, body=None, **headers):
        """One request to the service's page: the status, and the JSON or the bytes of the response."""
        data = None if body is None else json.dumps(body).encode()
        status, output = request(method, self.url + path, data, self.headers | {"Content-Type": "application/json"} | headers)
        return status, json.loads(output) if path.startswith("/api") and output else output

    def stop(self, name, number=signal.SIGTERM):
        return stop(self.children.pop(name), number)

    def close(self):
        for child in self.children.values():
            child.kill()
            child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
