/// The tables, step by step. A step that was ever in use is never changed: another one follows it.
enum FleetSchema {
    /// Tells this program's lock from others'.
    static let lock = 0x7761_7465

    static let steps = [first, second, third, fourth, fifth, sixth, seventh, eighth]

    /// What is told lies in `entry`: of each drink one row for each store that told of it, so that two gateways that
    /// carry the same bottle never write over each other. `drink` is the fold of them: who took a drink out anywhere
    /// took it out; of what is left the newest counts. `day_total` is the fold of that. Nothing has a sequence, and
    /// rows are spread by person: whoever spreads tables over machines can do it by the same column. There are no
    /// months in it: a drink's moment may be corrected, and would move to another table with it.
    private static let first = """
        CREATE TABLE gateway (
            id text COLLATE "C" PRIMARY KEY,
            name text COLLATE "C" NOT NULL UNIQUE,
            role text NOT NULL CHECK (role IN ('gateway', 'reader')),
            token text COLLATE "C" NOT NULL UNIQUE,      -- SHA-256 of the credential, hexadecimal
            enrolled timestamptz NOT NULL DEFAULT now(),
            revoked timestamptz,
            last_seen timestamptz,
            last_entry bigint,                           -- the latest moment of a drink that it told, ms UTC
            entries bigint NOT NULL DEFAULT 0,           -- that were new or other than before
            poisoned bigint NOT NULL DEFAULT 0           -- lines that were no entries, however often they came
        );
        CREATE TABLE person (name text COLLATE "C" PRIMARY KEY, since timestamptz NOT NULL DEFAULT now());
        CREATE TABLE bottle (
            name text COLLATE "C" PRIMARY KEY,
            person text COLLATE "C" NOT NULL,            -- whose drinks it brought last
            gateway text COLLATE "C" NOT NULL,           -- by whom
            told timestamptz NOT NULL
        );
        CREATE TABLE entry (
            person text COLLATE "C" NOT NULL,
            key text COLLATE "C" NOT NULL,
            gateway text COLLATE "C" NOT NULL,
            store text COLLATE "C" NOT NULL,
            place bigint NOT NULL,                       -- in that store's sequence of changes: the greatest counts
            bottle text COLLATE "C",
            at bigint,                                   -- ms UTC; NULL: it is not in that store any more
            zone text,
            day date,
            ml integer CHECK (ml BETWEEN 0 AND 100000),
            deleted boolean NOT NULL,
            changed bigint NOT NULL,                     -- ms UTC
            raw text,                                    -- 13 bytes, hexadecimal
            received bigint,                             -- ms UTC
            PRIMARY KEY (person, key, gateway, store),
            CHECK (deleted OR (at IS NOT NULL AND zone IS NOT NULL AND day IS NOT NULL AND ml IS NOT NULL))
        ) PARTITION BY HASH (person);
        DO $$ BEGIN
            FOR part IN 0..15 LOOP
                EXECUTE format('CREATE TABLE entry_%s PARTITION OF entry FOR VALUES WITH (MODULUS 16, REMAINDER %s)', \
        part, part);
            END LOOP;
        END $$;
        CREATE INDEX entry_by_day ON entry (day, person);
        CREATE TABLE parked (
            gateway text COLLATE "C" NOT NULL,
            digest text COLLATE "C" NOT NULL,            -- SHA-256 of the line: it is kept once
            line text NOT NULL,                          -- its beginning
            reason text NOT NULL,
            parked timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (gateway, digest)
        );
        CREATE VIEW drink AS SELECT DISTINCT ON (person, key) * FROM entry ORDER BY person, key, deleted DESC, changed \
        DESC, gateway, store;
        CREATE VIEW day_total AS SELECT person, day, sum(ml)::bigint AS ml, count(*) AS drinks FROM drink WHERE NOT \
        deleted AND ml > 0 GROUP BY person, day;
        """

    /// Whom a gateway may tell of, and who changed what about those who are let in.
    private static let second = """
        ALTER TABLE gateway ADD COLUMN people text[];    -- of whom it may tell beside the one who is called like it; \
        NULL: of anybody
        ALTER TABLE gateway ADD COLUMN wants text;       -- of whom it wanted to tell last, and may not
        CREATE TABLE audit (
            id text COLLATE "C" PRIMARY KEY,             -- random
            at timestamptz NOT NULL DEFAULT now(),
            who text NOT NULL,                           -- the user of PostgreSQL
            what text NOT NULL
        );
        CREATE INDEX audit_by_time ON audit (at);
        """

    /// How far each store is known; what lies in doubt; who may be what; who is forgotten. And days added up,
    /// `day_roll`, which can be thrown away and made again: whatever changes an entry, be it a program of before this
    /// step, marks its days as `stale`, in the same transaction, and who looks makes those anew first.
    ///
    /// A mark has no key: nobody waits for anybody there. A new row marks its own day, since whoever makes that day
    /// anew finds the other days of its drinks by itself; a row that has no day, changed or went marks the days of all
    /// rows of its drink, too.
    private static let third = """
        ALTER TABLE gateway DROP CONSTRAINT gateway_role_check;
        ALTER TABLE gateway ADD CHECK (role IN ('gateway', 'reader', 'carer', 'admin'));
        ALTER TABLE audit ADD COLUMN kind text NOT NULL DEFAULT 'change';   -- change, batch or look
        ALTER TABLE entry ADD COLUMN generation integer NOT NULL DEFAULT 0; -- how often its store began to count again
        CREATE TABLE teller (
            gateway text COLLATE "C" NOT NULL,
            store text COLLATE "C" NOT NULL,
            generation integer NOT NULL,
            place bigint NOT NULL,                       -- the greatest that it told
            PRIMARY KEY (gateway, store)
        );
        INSERT INTO teller (gateway, store, generation, place) SELECT gateway, store, 0, max(place) FROM entry GROUP \
        BY gateway, store;
        CREATE TABLE doubt (
            person text COLLATE "C" NOT NULL,
            gateway text COLLATE "C" NOT NULL,
            store text COLLATE "C" NOT NULL,
            bottle text COLLATE "C" NOT NULL,
            raw text COLLATE "C" NOT NULL,
            wall text,
            ml integer NOT NULL,
            reason text NOT NULL,
            received bigint NOT NULL,
            PRIMARY KEY (person, gateway, store, bottle, raw)
        );
        CREATE TABLE forgotten (digest text COLLATE "C" PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()); -- \
        SHA-256 of a name
        CREATE TABLE day_roll (
            person text COLLATE "C" NOT NULL,
            day date NOT NULL,
            ml bigint NOT NULL,
            drinks bigint NOT NULL,
            last bigint NOT NULL,                        -- the latest moment of a drink of that day, ms UTC
            zone text NOT NULL,                          -- in which that was drunk
            PRIMARY KEY (person, day)
        );
        CREATE INDEX day_roll_by_day ON day_roll (day, person);
        CREATE TABLE stale (person text COLLATE "C" NOT NULL, day date NOT NULL);
        CREATE FUNCTION fleet_mark_new() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO stale SELECT DISTINCT person, day FROM came WHERE day IS NOT NULL;
            IF EXISTS (SELECT 1 FROM came WHERE day IS NULL) THEN
                INSERT INTO stale SELECT DISTINCT e.person, e.day FROM came JOIN entry e ON e.person = came.person AND \
        e.key = came.key WHERE came.day IS NULL AND e.day IS NOT NULL;
            END IF;
            RETURN NULL;
        END $$;
        CREATE FUNCTION fleet_mark_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO stale SELECT DISTINCT person, day FROM went WHERE day IS NOT NULL;
            INSERT INTO stale SELECT DISTINCT e.person, e.day FROM went JOIN entry e ON e.person = went.person AND \
        e.key = went.key WHERE e.day IS NOT NULL;
            RETURN NULL;
        END $$;
        CREATE TRIGGER fleet_new AFTER INSERT ON entry REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE \
        FUNCTION fleet_mark_new();
        CREATE TRIGGER fleet_changed AFTER UPDATE ON entry REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE \
        FUNCTION fleet_mark_changed();
        CREATE TRIGGER fleet_gone AFTER DELETE ON entry REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE \
        FUNCTION fleet_mark_changed();
        INSERT INTO stale SELECT DISTINCT person, day FROM entry WHERE day IS NOT NULL;
        """

    /// From which hour on it is somebody's next day.
    private static let fourth = """
        ALTER TABLE person ADD COLUMN boundary smallint CHECK (boundary BETWEEN 0 AND 6); -- NULL: nobody told; it is 4
        """

    /// Marks in their order: who makes days anew took all of them in hand for each thousand days, and after a long
    /// outage nobody was answered any more.
    private static let fifth = """
        CREATE INDEX stale_by_day ON stale (person, day);
        """

    /// Keys of backups, each person's their own. Whoever forgets somebody, be it a program of before this step, throws
    /// theirs away in the same transaction, and the one over all that may name anybody.
    private static let sixth = """
        CREATE TABLE seal (
            owner text COLLATE "C" PRIMARY KEY,          -- SHA-256 of a name; fleet; memory
            id text COLLATE "C" NOT NULL UNIQUE,         -- random: what a backup calls the key
            key text COLLATE "C" NOT NULL                -- 32 bytes, hexadecimal
        );
        CREATE FUNCTION fleet_break_seal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            DELETE FROM seal WHERE owner IN (NEW.digest, 'memory');
            RETURN NEW;
        END $$;
        CREATE TRIGGER fleet_forgotten BEFORE INSERT ON forgotten FOR EACH ROW EXECUTE FUNCTION fleet_break_seal();
        """

    /// Of whom what was set aside tells, so that it goes with them, and whether it is kept as it was told; and which
    /// doubts and which hour of a person's a store told last, so that a fleet that lost them asks for them. Whoever
    /// forgets somebody, be it a program of before this step, takes both in the same transaction.
    private static let seventh = """
        ALTER TABLE parked ADD COLUMN whose text COLLATE "C"; -- SHA-256 of the name of whom it tells; NULL: a program \
        of before this step kept it
        ALTER TABLE parked ADD COLUMN whole boolean;         -- byte for byte as it was told; NULL: as before
        ALTER TABLE teller ADD COLUMN doubts text;           -- what the store calls the doubts and the hour that it \
        told last; NULL: they are not known here
        ALTER TABLE teller ADD COLUMN whose text COLLATE "C"; -- SHA-256 of the name of whose they are
        CREATE FUNCTION fleet_forget_aside() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            DELETE FROM parked WHERE whose = NEW.digest;
            UPDATE teller SET doubts = NULL, whose = NULL WHERE whose = NEW.digest;
            RETURN NEW;
        END $$;
        CREATE TRIGGER fleet_forgotten_aside BEFORE INSERT ON forgotten FOR EACH ROW EXECUTE FUNCTION \
        fleet_forget_aside();
        """

    /// Each forgetting by a name of its own, and whether it was undone since; and of each key which of them it was made
    /// after. So copies of a fleet can be put together in whatever order: a forgetting that nobody undid who knew of it
    /// holds, and a key that was made without knowing of it opens nothing any more. Both only grow. Whoever forgets or
    /// undoes that, be it a program of before this step, says so in the same transaction. What was forgotten before has
    /// one name, `old`.
    private static let eighth = """
        CREATE TABLE forgetting (
            digest text COLLATE "C" NOT NULL,            -- SHA-256 of a name
            id text COLLATE "C" NOT NULL,                -- random
            undone boolean NOT NULL,
            PRIMARY KEY (digest, id)
        );
        INSERT INTO forgetting (digest, id, undone) SELECT digest, 'old', false FROM forgotten;
        ALTER TABLE seal ADD COLUMN after text[] NOT NULL DEFAULT '{old}'; -- forgettings of its owner that were known \
        when it was made
        CREATE FUNCTION fleet_note_forgetting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP = 'INSERT' THEN
                INSERT INTO forgetting (digest, id, undone) SELECT NEW.digest, replace(gen_random_uuid()::text, '-', \
        ''), false
                WHERE NOT EXISTS (SELECT 1 FROM forgetting WHERE digest = NEW.digest AND NOT undone);
            ELSE
                UPDATE forgetting SET undone = true WHERE digest = OLD.digest AND NOT undone;
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER fleet_forgetting AFTER INSERT OR DELETE ON forgotten FOR EACH ROW EXECUTE FUNCTION \
        fleet_note_forgetting();
        CREATE FUNCTION fleet_mark_seal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            NEW.after := ARRAY(SELECT 'old' UNION SELECT id FROM forgetting WHERE digest = NEW.owner ORDER BY 1);
            RETURN NEW;
        END $$;
        CREATE TRIGGER fleet_seal_after BEFORE INSERT ON seal FOR EACH ROW EXECUTE FUNCTION fleet_mark_seal();
        """
}
