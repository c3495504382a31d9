"""The messages of a retail bottle, written from the specification, for bottles and centrals that share no code with the project."""
import struct
import time

ACKNOWLEDGE = b"RP\0\4\3\6"
EMPTY, FOLLOWS = b"RP\0\3\2\6\0", b"RP\0\3\2\6\1"
ASK_LOG, ASK_STATUS = b"GT\0\1\6", b"GT\0\1\xff"


def wall(at=None):
    """The six bytes of a wall time."""
    at = at or time.localtime()
    return bytes([at.tm_year - 2000, at.tm_mon, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec])


def record(at, ml):
    return wall(at) + struct.pack(">HHH", ml, 0, 0x0161) + b"\0"


def status():
    """The snapshot, with the present time."""
    entries = bytes.fromhex("02025a0703") + wall() + bytes.fromhex("030507d0 03040000 03300102 0131 021700 072600080014003c 021b00")
    return b"RP" + struct.pack(">H", len(entries)) + entries


def log(records, more=0):
    """The notifications of a log, with eight records in each. The header announces `more` bytes that are not sent."""
    groups = [records[i : i + 8] for i in range(0, len(records), 8)]
    entries = [bytes([1 + 13 * len(group), 6]) + b"".join(group) for group in groups]
    entries[0] = b"PT" + struct.pack(">H", sum(map(len, entries)) + more) + entries[0]
    return entries


def acknowledged(value):
    """The number of records that the value acknowledges; 0 if it is another message."""
    return struct.unpack(">H", value[6:8])[0] // 13 if value[:6] == ACKNOWLEDGE else 0


def acknowledgement(count):
    return ACKNOWLEDGE + struct.pack(">H", 13 * count)


def answers(value, stored):
    """The notifications with which a bottle answers a command. Deletes acknowledged records from `stored`."""
    del stored[: acknowledged(value)]
    if value == ASK_LOG:
        return [FOLLOWS, *log(stored)] if stored else [EMPTY]
    return [status()] if value == ASK_STATUS else []


def payload(data, start=b"PT"):
    """The payload of the first such frame in joined notifications; None if it is incomplete."""
    at = data.find(start)
    if at < 0 or len(data) < at + 4:
        return None
    end = at + 4 + struct.unpack_from(">H", data, at + 2)[0]
    return data[at + 4 : end] if len(data) >= end else None


def records(data):
    """The records of a log in joined notifications; None if it is incomplete."""
    if EMPTY in data:
        return []
    if (rest := payload(data)) is None:
        return None
    found = []
    while rest:
        size, kind = rest[0], rest[1]
        assert kind == 6 and (size - 1) % 13 == 0, data.hex()
        found += [rest[at : at + 13] for at in range(2, size + 1, 13)]
        rest = rest[size + 1 :]
    return found


def amounts(found):
    return [struct.unpack_from(">H", each, 6)[0] for each in found]
