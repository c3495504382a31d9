"""Live recording from the kernel's monitor channel during a poll: the recording gives the same drinks."""
import json
import signal
import subprocess
import tempfile
import time

from bench import PRODUCTS, Emulator, expect, poll, run, run_tests, store


def recording_gives_the_same_drinks():
    capture = tempfile.mkdtemp() + "/poll.btsnoop"
    with Emulator("--profile", "retail") as bottle:
        for amount in range(30, 45):
            bottle.sip(amount)
        recorder = subprocess.Popen([f"{PRODUCTS}/waterh-replay", "record", "--adapter", "hci0", "--output", capture],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        expect(recorder.poll() is None, f"the recorder has ended: {recorder.stderr.read() if recorder.poll() is not None else ''}")
        answer = poll(store())
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=30)
    expect(answer["new"] == 15, f"{answer}")
    drinks = [json.loads(line) for line in run(f"{PRODUCTS}/waterh-replay", "drinks", capture, "--json").splitlines()]
    expect([d["amountMl"] for d in drinks] == list(range(30, 45)), f"the recording: {drinks}")


if __name__ == "__main__":
    run_tests([recording_gives_the_same_drinks])
