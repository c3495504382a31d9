"""Writes zone-days.txt: for every IANA zone, a digest of the first instants of all days from 2019-12-29 to 2036-01-05
with the day beginning at 00:00 and at 04:00, computed with Python's zoneinfo. Run: python3 zone-days.py > zone-days.txt
The digest is FNV-1a with whole 64-bit instants (seconds since 1970) in place of bytes."""

import datetime
import os
import zoneinfo

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)


def first_instant(zone, day, hour):
    """First instant whose wall time has reached hour:00 on that date (the transition, where the time is skipped)."""
    wall = datetime.datetime(day.year, day.month, day.day, hour)
    moments = [int((wall.replace(tzinfo=zone, fold=fold) - EPOCH).total_seconds()) for fold in (0, 1)]
    shown = lambda moment: datetime.datetime.fromtimestamp(moment, zone).replace(tzinfo=None, fold=0)
    real = [moment for moment in moments if shown(moment) == wall]
    if real:
        return min(real)
    before, after = min(moments) - 1, max(moments)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (before, middle) if shown(middle) >= wall else (middle, after)
    return after


def digest(zone, hour):
    value = 0xCBF29CE484222325
    day = datetime.date(2019, 12, 29)
    while day <= datetime.date(2036, 1, 5):
        value = ((value ^ (first_instant(zone, day, hour) % 2**64)) * 0x100000001B3) % 2**64
        day += datetime.timedelta(days=1)
    return value


print("# zone, digest of day starts with boundary 0, with boundary 4. Made by zone-days.py; tzdata", os.environ.get("TZDATA", "?"))
for name in sorted(zoneinfo.available_timezones() - {"localtime"}):
    zone = zoneinfo.ZoneInfo(name)
    print(name, digest(zone, 0), digest(zone, 4), flush=True)
