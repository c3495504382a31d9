"""An emulated WaterH bottle for tests: `waterh-emulator` with methods that add drinks. Needs no Bluetooth.

    from waterh_bottle import Bottle

    with Bottle(faults="drop=5", seed=7) as bottle:
        bottle.sip(250)
        att = bottle.connect()          # one ATT PDU per message

In pytest, the fixture `bottle` starts one, and the marker `bottle` sets its arguments:

    @pytest.mark.bottle(capture="boost_two-days.btsnoop")
    def test_reads_the_log(bottle): ...
"""
import json
import os
import shutil
import socket
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EMULATOR = os.path.join(HERE, "bin", "waterh-emulator")
CAPTURES = os.path.join(HERE, "captures")
LIMIT = 30


class BottleError(Exception):
    """The emulator did not start, or rejected a request."""


class Bottle:
    """A running emulator with its link and its control socket in a temporary folder."""

    def __init__(self, profile="retail", capture=None, faults=None, seed=None, options=()):
        """capture: a file, or the name of a shipped capture; options: further arguments of `waterh-emulator run`."""
        self.folder = tempfile.mkdtemp(prefix="bottle-")
        #: The path of the link: a SOCK_SEQPACKET socket, one ATT PDU per message.
        self.link = os.path.join(self.folder, "link")
        self.control = os.path.join(self.folder, "control")
        command = [EMULATOR, "run", "--profile", profile, "--link", f"unix:{self.link}", "--control", f"unix:{self.control}"]
        if capture is not None:
            shipped = os.path.join(CAPTURES, capture)
            command += ["--capture", shipped if not os.path.exists(capture) and os.path.exists(shipped) else capture]
        command += (["--faults", faults] if faults else []) + (["--seed", str(seed)] if seed is not None else []) + [str(option) for option in options]
        self._error_log = open(os.path.join(self.folder, "said"), "w+", encoding="utf-8")
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._error_log, text=True)
        self._control_file = None
        try:
            #: The line that the emulator prints when it accepts connections.
            self.ready = self._process.stdout.readline().strip()
            if not self.ready.startswith("ready "):
                self._process.wait(LIMIT)
                raise BottleError(f"starting the emulator failed (exit code {self._process.returncode}): {self.error_output()}")
            control_socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            control_socket.settimeout(LIMIT)
            control_socket.connect(self.control)
            self._control_file = control_socket.makefile("rw", encoding="utf-8")
            control_socket.close()  # The file keeps it open.
        except BaseException:
            self.close()
            raise

    def send(self, action, value=None):
        """Sends one action of `waterh-emulator control`. Returns the bottle's status afterwards."""
        self._control_file.write(json.dumps({"do": action} if value is None else {"do": action, "value": value}) + "\n")
        self._control_file.flush()
        response = json.loads(self._control_file.readline() or '{"ok": false, "error": "the emulator has ended"}')
        if not response.get("ok"):
            raise BottleError(response.get("error", str(response)))
        return response.get("status", {})

    def sip(self, millilitres):
        """Adds a drink to the log. Returns the status."""
        return self.send("sip", millilitres)

    def drop(self):
        """Ends the connection. Returns the status."""
        return self.send("drop")

    @property
    def status(self):
        return self.send("status")

    def connect(self):
        """Connects. Returns a socket with one ATT PDU per message in each direction. Close it: a bottle accepts one connection at a time."""
        att = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        att.settimeout(LIMIT)
        att.connect(self.link)
        return att

    def error_output(self):
        """The emulator's standard error."""
        self._error_log.flush()
        with open(self._error_log.name, encoding="utf-8") as file:
            return file.read().strip()

    def close(self):
        """Ends the emulator. Returns its exit code; 0 is success."""
        if self._control_file:
            self._control_file.close()
        self._process.terminate()
        try:
            self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._error_log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return self._process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def run_emulator():
    """Runs the `waterh-emulator` of this package."""
    import sys

    os.execv(EMULATOR, ["waterh-emulator", *sys.argv[1:]])
