"""An example of tests with an emulated bottle. pip install waterh_bottle-*.whl pytest && pytest test_bottle.py"""
import struct

import pytest

from waterh_bottle import BottleError


def handles(att):
    """The value handles of the characteristics by UUID, from Read By Type."""
    found, first = {}, 1
    att.send(struct.pack("<BHHH", 0x08, first, 0xFFFF, 0x2803))
    while (page := att.recv(1024))[0] == 0x09:
        for at in range(2, len(page), page[1]):
            first, value = struct.unpack_from("<HxH", page, at)
            found[page[at + 5 : at + page[1]][::-1].hex()] = value
        att.send(struct.pack("<BHHH", 0x08, first + 1, 0xFFFF, 0x2803))
    return found


def test_a_drink_is_in_the_log(bottle):
    before = bottle.status["records"]
    assert bottle.sip(250)["records"] == before + 1
    with bottle.connect() as att:
        found = handles(att)
        assert {"ffe4", "ffe9"} <= set(found)
        att.send(struct.pack("<BHH", 0x12, found["ffe4"] + 1, 1))
        att.send(struct.pack("<BH", 0x52, found["ffe9"]) + bytes.fromhex("4754000106"))  # Requests the log.
        while not (value := att.recv(1024)).startswith(b"\x1b") or value[3:5] != b"PT":
            pass
        assert struct.unpack_from(">H", value, 3 + 12)[0] == 250


@pytest.mark.bottle(capture="boost_two-days.btsnoop")
def test_two_recorded_days(bottle):
    assert bottle.status["records"] == 40


def test_an_unknown_action_is_rejected(bottle):
    with pytest.raises(BottleError, match="unknown action"):
        bottle.send("fly")
