"""The conditions at the end: the store, compared with the records of the bottle and the results of the commands."""
import collections
import datetime
import shutil
import sqlite3


def copy_of(world):
    """A copy of the store, because reading must not change it."""
    place = world.bench / "copy"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for path in world.store.parent.glob(world.store.name + "*"):
        if path.is_file():
            shutil.copy2(path, place)
    return sqlite3.connect(place / world.store.name)


def dump(world):
    """The store's content as lines; nothing if it is damaged."""
    database = copy_of(world)
    try:
        return list(database.iterdump())
    except sqlite3.DatabaseError:
        return []
    finally:
        database.close()


def amount(raw):
    return raw[6] << 8 | raw[7]


def iso(milliseconds):
    try:
        return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc).isoformat()
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"


class Verdict:
    def __init__(self, world, bottle, acts):
        self.world, self.bottle, self.acts = world, bottle, acts
        self.figures = {}

    def check(self):
        database = copy_of(self.world)
        try:
            for check in (self.whole, self.journal, self.dates, self.drinks, self.logs):
                check(database)
        except sqlite3.DatabaseError as trouble:
            self.world.fail(f"the store cannot be read at the end: {trouble}")
        finally:
            database.close()

    def whole(self, database):
        found = [row[0] for row in database.execute("PRAGMA integrity_check")]
        if found != ["ok"]:
            self.world.fail(f"integrity_check: {'; '.join(found)[:400]}")
        orphans = database.execute("PRAGMA foreign_key_check").fetchall()
        if orphans:
            self.world.fail(f"foreign_key_check: {orphans[:5]}")

    def journal(self, database):
        """Every recorded sip is journaled once, or still in the bottle; nothing else is journaled."""
        # A record that arrived once, in pieces, counts only after a second equal reading.
        rows = [(bytes(raw), verdict) for raw, verdict in
                database.execute("SELECT raw, verdict FROM bottle_record WHERE verdict <> 'quarantined' OR reason IS NOT 'pieced'")]
        for raw, times in collections.Counter(raw for raw, verdict in rows if verdict != "superseded").items():
            if times > 1:
                self.world.fail(f"{raw.hex()} ({amount(raw)} ml) is {times} rows of the journal")
        waiting = self.bottle.records()
        everything = {raw for raw, _ in rows} | set(waiting)
        found = collections.Counter(amount(raw) for raw in everything)
        lost, foreign = [], []
        for ml in sorted(set(found) | set(self.bottle.certain) | set(self.bottle.unconfirmed)):
            least, most = self.bottle.distinct(ml), self.bottle.certain[ml] + self.bottle.unconfirmed[ml]
            if found[ml] < least:
                lost.append(ml)
            elif found[ml] > most:
                foreign.append(ml)
        if lost:
            self.world.fail(f"LOST: {len(lost)} sips that the bottle recorded are neither journaled nor in the bottle: {lost[:12]} ml")
        if foreign:
            self.world.fail(f"{len(foreign)} journaled records without a sip: {foreign[:12]} ml")
        bottles = database.execute("SELECT count(*) FROM bottle").fetchone()[0]
        if bottles > 1:
            self.world.fail(f"one bottle is known as {bottles}")
        self.figures |= {"sips": sum(self.bottle.certain.values()), "unconfirmed": sum(self.bottle.unconfirmed.values()),
                         "journaled": len(rows), "still in the bottle": len(set(waiting) - {raw for raw, _ in rows}),
                         "verdicts": dict(collections.Counter(verdict for _, verdict in rows))}

    def dates(self, database):
        """A drink counts within a day and a half of its true time (travel and a clock that is hours off), or is quarantined. Pieces are
        omitted: they can have a correct date, and `journal` checks the complete record."""
        true, day = self.bottle.times, 36 * 3600 * 1000
        wrong, forgotten = [], []
        for ml, instant in database.execute("SELECT ml, instant FROM drink WHERE bottle IS NOT NULL"):
            if ml not in true:
                wrong.append(f"{ml} ml, which is not a sip, at {iso(instant)}")
            elif all(abs(instant - moment) > day for moment in true[ml]):
                wrong.append(f"{ml} ml at {iso(instant)}, drunk at {iso(true[ml][0])}")
        for raw, wall in database.execute(
                "SELECT raw, wall FROM bottle_record WHERE verdict = 'quarantined' AND reason IS NOT 'pieced' AND wall IS NOT NULL"):
            if self.is_near(wall, true.get(amount(bytes(raw)), []), day):
                forgotten.append(f"{amount(bytes(raw))} ml of {wall}")
        if wrong:
            self.world.fail(f"{len(wrong)} drinks are counted on a wrong day: {wrong[:4]}")
        if forgotten:
            self.world.fail(f"{len(forgotten)} records stay in quarantine although their dates are correct: {forgotten[:4]}")

    def is_near(self, wall, moments, limit):
        try:
            at = datetime.datetime.fromisoformat(wall).replace(tzinfo=datetime.timezone.utc).timestamp() * 1000
        except ValueError:
            return False
        return any(abs(at - moment) <= limit for moment in moments)

    def drinks(self, database):
        """A record that counts has one drink, deleted or not, and each drink of a bottle has one record."""
        counted = database.execute("SELECT count(*) FROM bottle_record WHERE verdict = 'drink'").fetchone()[0]
        drinks = database.execute("SELECT count(*) FROM drink WHERE bottle IS NOT NULL").fetchone()[0]
        if counted != drinks:
            self.world.fail(f"{counted} records count, and {drinks} drinks are from a bottle")

    def logs(self, database):
        """Every `log` that exited with 0 is stored once; each that was killed, at most once."""
        keys = collections.Counter(row[0] for row in database.execute("SELECT key FROM drink WHERE bottle IS NULL"))
        missing = [ml for key, ml in self.acts.logged.items() if keys[key] != 1]
        if missing:
            self.world.fail(f"LOST: {len(missing)} of {len(self.acts.logged)} logs that ended with 0 are not in the store: {missing[:12]} ml")
        others = sum(keys.values()) - len(set(keys) & set(self.acts.logged))
        if others > len(self.acts.unsure) + self.acts.edits:
            self.world.fail(f"{others} logged drinks were not confirmed: expected at most {len(self.acts.unsure)}")
        self.figures |= {"logs": len(self.acts.logged), "logs without an answer": len(self.acts.unsure)}
