"""A reader that never reads: the stream waits with one piece, blocks no other process, and ends with SIGTERM."""
import select
import signal
import subprocess
import sys

tracker, store = sys.argv[1:]
stream = subprocess.Popen([tracker, "export", "--follow", "--format", "jsonl", "--store", store], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
# It is under way when the pipe has something in it.
assert select.select([stream.stdout], [], [], 30)[0], "nothing came"
for _ in range(3):
    subprocess.run([tracker, "log", "5", "--store", store], check=True, timeout=60, stdout=subprocess.DEVNULL)
resident = int(next(line for line in open(f"/proc/{stream.pid}/status") if line.startswith("VmRSS")).split()[1])
assert resident < 150_000, f"{resident} KiB"
stream.send_signal(signal.SIGTERM)
assert stream.wait(30) in (0, 130, 143), stream.returncode
assert stream.stderr.read() == b"", "it says nothing"
