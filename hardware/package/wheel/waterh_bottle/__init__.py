"""An emulated WaterH bottle for tests: `waterh-emulator` with methods that add drinks. Needs no Bluetooth.

    from waterh_bottle import Bottle

    with Bottle(faults="drop=5", seed=7) as bottle:
        bottle.sip(250)
        att = bottle.connect()          # one ATT PDU a message

In pytest the fixture `bottle` is one, and the mark `bottle` says how it is started:

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
    """What the bottle refused, or why there is none."""


class Bottle:
    """One bottle, its link and its control socket, in a folder of its own."""

    def __init__(self, profile="retail", capture=None, faults=None, seed=None, options=()):
        """capture: a file, or one of those that are shipped by its name; options: more words for `waterh-emulator run`."""
        self.folder = tempfile.mkdtemp(prefix="bottle-")
        #: The path of the link: a SOCK_SEQPACKET socket, one ATT PDU a message.
        self.link = os.path.join(self.folder, "link")
        self.control = os.path.join(self.folder, "control")
        words = [EMULATOR, "run", "--profile", profile, "--link", f"unix:{self.link}", "--control", f"unix:{self.control}"]
        if capture is not None:
            shipped = os.path.join(CAPTURES, capture)
            words += ["--capture", shipped if not os.path.exists(capture) and os.path.exists(shipped) else capture]
        words += (["--faults", faults] if faults else []) + (["--seed", str(seed)] if seed is not None else []) + [str(word) for word in options]
        self._said = open(os.path.join(self.folder, "said"), "w+", encoding="utf-8")
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said, text=True)
        self._person = None
        try:
            #: The line that it said when it took connections.
            self.ready = self._process.stdout.readline().strip()
            if not self.ready.startswith("ready "):
                self._process.wait(LIMIT)
                raise BottleError(f"there is no bottle (exit code {self._process.returncode}): {self.said()}")
            person = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            person.settimeout(LIMIT)
            person.connect(self.control)
            self._person = person.makefile("rw", encoding="utf-8")
            person.close()  # The file keeps it open.
        except BaseException:
            self.close()
            raise

    def tell(self, action, value=None):
        """One action of `waterh-emulator control`; the bottle's status after it."""
        self._person.write(json.dumps({"do": action} if value is None else {"do": action, "value": value}) + "\n")
        self._person.flush()
        answer = json.loads(self._person.readline() or '{"ok": false, "error": "the bottle is gone"}')
        if not answer.get("ok"):
            raise BottleError(answer.get("error", str(answer)))
        return answer.get("status", {})

    def sip(self, millilitres):
        """Somebody drinks."""
        return self.tell("sip", millilitres)

    def drop(self):
        """The connection breaks."""
        return self.tell("drop")

    @property
    def status(self):
        return self.tell("status")

    def connect(self):
        """A connection to it, as a socket: one ATT PDU a message, each way. Close it; the bottle takes one at a time."""
        att = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        att.settimeout(LIMIT)
        att.connect(self.link)
        return att

    def said(self):
        """What it said on standard error."""
        self._said.flush()
        with open(self._said.name, encoding="utf-8") as file:
            return file.read().strip()

    def close(self):
        """Ends it. Its exit code, 0 when all was well."""
        if self._person:
            self._person.close()
        self._process.terminate()
        try:
            self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._said.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return self._process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def run_emulator():
    """The command waterh-emulator of the environment that this is installed in."""
    import sys

    os.execv(EMULATOR, ["waterh-emulator", *sys.argv[1:]])
