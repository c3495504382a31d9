"""The conditions at the end: the store, compared with the records of the bottle and the results of the commands."""
import collections
import datetime
import shutil
import sqlite3


def store_copy(world):
    """A copy of the store, because reading must not change it."""
    folder = world.bench / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in world.store.parent.glob(world.store.name + "*"):
        if path.is_file():
            shutil.copy2(path, folder)
    return sqlite3.connect(folder / world.store.name)


def dump(world):
    """The store's content as lines; nothing if it is damaged."""
    database = store_copy(world)
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


class FinalChecks:
    def __init__(self, world, bottle, actions):
        self.world, self.bottle, self.actions = world, bottle, actions
        self.statistics = {}

    def check(self):
        database = store_copy(self.world)
        try:
            for check in (self.integrity, self.journal, self.dates, self.drinks, self.logs):
                check(database)
        except sqlite3.DatabaseError as error:
            self.world.fail(f"the store cannot be read at the end: {error}")
        finally:
            database.close()

    def integrity(self, database):
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
        lost, unexplained = [], []
        for ml in sorted(set(found) | set(self.bottle.confirmed) | set(self.bottle.unconfirmed)):
            least, most = self.bottle.least_records(ml), self.bottle.confirmed[ml] + self.bottle.unconfirmed[ml]
            if found[ml] < least:
                lost.append(ml)
            elif found[ml] > most:
                unexplained.append(ml)
        if lost:
            self.world.fail(f"LOST: {len(lost)} sips that the bottle recorded are neither journaled nor in the bottle: {lost[:12]} ml")
        if unexplained:
            self.world.fail(f"{len(unexplained)} journaled records without a sip: {unexplained[:12]} ml")
        bottles = database.execute("SELECT count(*) FROM bottle").fetchone()[0]
        if bottles > 1:
            self.world.fail(f"one bottle is known as {bottles}")
        self.statistics |= {"sips": sum(self.bottle.confirmed.values()), "unconfirmed": sum(self.bottle.unconfirmed.values()),
                         "journaled": len(rows), "still in the bottle": len(set(waiting) - {raw for raw, _ in rows}),
                         "verdicts": dict(collections.Counter(verdict for _, verdict in rows))}

    def dates(self, database):
        """A drink counts within a day and a half of its true time (travel and a clock that is hours off), or is quarantined. Pieces are
        omitted: they can have a correct date, and `journal` checks the complete record."""
        true_times, day = self.bottle.times, 36 * 3600 * 1000
        wrong, still_quarantined = [], []
        for ml, instant in database.execute("SELECT ml, instant FROM drink WHERE bottle IS NOT NULL"):
            if ml not in true_times:
                wrong.append(f"{ml} ml, which is not a sip, at {iso(instant)}")
            elif all(abs(instant - moment) > day for moment in true_times[ml]):
                wrong.append(f"{ml} ml at {iso(instant)}, drunk at {iso(true_times[ml][0])}")
        for raw, wall in database.execute(
                "SELECT raw, wall FROM bottle_record WHERE verdict = 'quarantined' AND reason IS NOT 'pieced' AND wall IS NOT NULL"):
            if self.is_near(wall, true_times.get(amount(bytes(raw)), []), day):
                still_quarantined.append(f"{amount(bytes(raw))} ml of {wall}")
        if wrong:
            self.world.fail(f"{len(wrong)} drinks are counted on a wrong day: {wrong[:4]}")
        if still_quarantined:
            self.world.fail(f"{len(still_quarantined)} records stay in quarantine although their dates are correct: {still_quarantined[:4]}")

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
        missing = [ml for key, ml in self.actions.logged.items() if keys[key] != 1]
        if missing:
            self.world.fail(f"LOST: {len(missing)} of {len(self.actions.logged)} logs that ended with 0 are not in the store: {missing[:12]} ml")
        others = sum(keys.values()) - len(set(keys) & set(self.actions.logged))
        if others > len(self.actions.unconfirmed) + self.actions.edits:
            self.world.fail(f"{others} logged drinks were not confirmed: expected at most {len(self.actions.unconfirmed)}")
        self.statistics |= {"logs": len(self.actions.logged), "logs without an answer": len(self.actions.unconfirmed)}
