/// The tables, step by step. A step that was ever in use is never changed: another one follows it.
enum FleetSchema {
    /// Tells this program's lock from others'.
    static let lock = 0x7761_7465

    static let steps = [first, second]

    /// What is told lies in `entry`: of each drink one row for each store that told of it, so that two gateways that carry the same bottle never write over
    /// each other. `drink` is the fold of them: who took a drink out anywhere took it out; of what is left the newest counts. `day_total` is the fold of that.
    /// Nothing has a sequence, and rows are spread by person: whoever spreads tables over machines can do it by the same column. There are no months in it: a
    /// drink's moment may be corrected, and would move to another table with it.
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
                EXECUTE format('CREATE TABLE entry_%s PARTITION OF entry FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, part);
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
        CREATE VIEW drink AS SELECT DISTINCT ON (person, key) * FROM entry ORDER BY person, key, deleted DESC, changed DESC, gateway, store;
        CREATE VIEW day_total AS SELECT person, day, sum(ml)::bigint AS ml, count(*) AS drinks FROM drink WHERE NOT deleted AND ml > 0 GROUP BY person, day;
        """

    /// Whom a gateway may tell of, and who changed what about those who are let in.
    private static let second = """
        ALTER TABLE gateway ADD COLUMN people text[];    -- of whom it may tell beside the one who is called like it; NULL: of anybody
        ALTER TABLE gateway ADD COLUMN wants text;       -- of whom it wanted to tell last, and may not
        CREATE TABLE audit (
            id text COLLATE "C" PRIMARY KEY,             -- random
            at timestamptz NOT NULL DEFAULT now(),
            who text NOT NULL,                           -- the user of PostgreSQL
            what text NOT NULL
        );
        CREATE INDEX audit_by_time ON audit (at);
        """
}
