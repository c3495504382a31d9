#!/usr/bin/env python3
"""phone.py SOCKET [POLLS]: the app of the original requirements on the emulator's link. It writes 01 to FF01, waits half a second,
reads FF02 once, and never acknowledges. Exit code 5 without a response."""
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Foreign"))
from att_central import Central, Refused  # noqa: E402


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    polls = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    try:
        phone = Central(sys.argv[1], limit=4)
        phone.exchange_mtu(247)
        found = [c for service in phone.discover() for c in service["characteristics"]]
        handles = {(c["uuid"] if len(c["uuid"]) == 4 else c["uuid"][4:8]): c["handle"] for c in found}
        for _ in range(polls):
            phone.command(handles["FF01"], [0x01])
            time.sleep(0.5)
            print("read", phone.read(handles["FF02"]).hex())
    except (OSError, Refused, KeyError, AssertionError) as trouble:
        print("nothing:", repr(trouble))
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
