"""The pair on L2CAP sockets, without bluetoothd."""
from bench import Emulator, expect, poll, run_tests, store


def raw_pair():
    place = store()
    with Emulator("--profile", "retail", link="l2cap:hci1") as bottle:
        for amount in (50, 60, 70):
            bottle.sip(amount)
        first = poll(place, link="l2cap:00:AA:01:01:00:01")
        expect((first["new"], first["complete"]) == (3, True), f"first poll: {first}")
        second = poll(place, link="l2cap:00:AA:01:01:00:01")
        expect((second["new"], second["complete"]) == (0, True), f"second poll: {second}")


def nobody_there():
    away = poll(store(), link="l2cap:00:AA:01:01:00:77", check=False)
    expect(away["exit"] != 0 and away["said"], f"{away}")


if __name__ == "__main__":
    run_tests([raw_pair, nobody_there])
