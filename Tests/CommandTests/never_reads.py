"""Checks an export stream whose reader never reads: it buffers little, blocks no other process, and ends with SIGTERM."""
import select
import signal
import subprocess
import sys

tracker, store = sys.argv[1:]
stream = subprocess.Popen([tracker, "export", "--follow", "--format", "jsonl", "--store", store], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
# Wait until the stream has written to the pipe.
assert select.select([stream.stdout], [], [], 30)[0], "no output within 30 s"
for _ in range(3):
    subprocess.run([tracker, "log", "5", "--store", store], check=True, timeout=60, stdout=subprocess.DEVNULL)
resident_kib = int(next(line for line in open(f"/proc/{stream.pid}/status") if line.startswith("VmRSS")).split()[1])
assert resident_kib < 150_000, f"{resident_kib} KiB"
stream.send_signal(signal.SIGTERM)
assert stream.wait(30) in (0, 130, 143), stream.returncode
assert stream.stderr.read() == b"", "unexpected output on standard error"
