-- The schema of the gateways' database, version 1. `waterh-gateway postgres init` runs it as the owner, any number of
-- times. It needs PostgreSQL 15, and no sequences, foreign keys or extensions.

CREATE SCHEMA IF NOT EXISTS waterh;

CREATE TABLE IF NOT EXISTS waterh.schema (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version integer NOT NULL
);

-- One row for each gateway. Its name is the name of its role.
CREATE TABLE IF NOT EXISTS waterh.gateway (
    name text COLLATE "C" PRIMARY KEY,
    person text NOT NULL,             -- a person can have several gateways
    store text,                       -- the identity of the store that writes; NULL: the next one that connects
    epoch bigint,                     -- changes when the store is restored from a backup
    position bigint NOT NULL DEFAULT 0, -- the last change of the store that is in the journal
    seen timestamptz,                 -- the last report
    version text,                     -- the version of the gateway
    zone text,                        -- the time zone of the person's days now
    day_hour integer,                 -- the hour at which a day begins there
    goal_ml integer,
    wake time,
    sleep time,
    battery integer,                  -- percent; of several bottles the lowest
    polled timestamptz                -- the last complete poll of a bottle
);

-- Entries of drinks. An entry is never changed: a deletion adds an entry with the negative amount, and a correction
-- adds a deletion and a new entry. So sums over entries are sums over drinks.
CREATE TABLE IF NOT EXISTS waterh.journal (
    gateway text COLLATE "C" NOT NULL DEFAULT current_user,
    key text COLLATE "C" NOT NULL,    -- of the drink; the store's permanent key
    n integer NOT NULL,               -- the number of the entry of this drink; an odd one withdraws the one before
    at timestamptz NOT NULL,
    day date NOT NULL,                -- the person's day, as the store has it
    zone text NOT NULL,               -- the zone in which the drink was stored
    ml integer NOT NULL,              -- negative in a withdrawal
    source text NOT NULL,
    PRIMARY KEY (gateway, key, n, day)
) PARTITION BY RANGE (day);

CREATE INDEX IF NOT EXISTS journal_day ON waterh.journal (day, gateway) INCLUDE (n, ml);

-- Days outside the months that `waterh.prepare` creates.
CREATE TABLE IF NOT EXISTS waterh.journal_other PARTITION OF waterh.journal DEFAULT;

-- Creates the partitions of these days. A gateway calls it before it writes them.
CREATE OR REPLACE FUNCTION waterh.prepare(days date[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    first date;
    name text;
BEGIN
    FOR first IN SELECT DISTINCT date_trunc('month', day)::date FROM unnest(days) AS day
        WHERE day >= '2015-01-01' AND day < now() + interval '2 months' ORDER BY 1
    LOOP
        name := to_char(first, '"journal_"YYYY_MM');
        CONTINUE WHEN to_regclass('waterh.' || name) IS NOT NULL;
        -- Inserts continue. Another gateway that creates the same partition waits.
        LOCK TABLE ONLY waterh.journal IN SHARE UPDATE EXCLUSIVE MODE;
        CONTINUE WHEN to_regclass('waterh.' || name) IS NOT NULL;
        IF EXISTS (SELECT FROM waterh.journal_other WHERE day >= first AND day < first + interval '1 month') THEN
            LOCK TABLE ONLY waterh.journal IN SHARE ROW EXCLUSIVE MODE; -- No gateway plans with the old partitions.
        END IF;
        EXECUTE format('CREATE TABLE waterh.%I (LIKE waterh.journal INCLUDING ALL)', name);
        EXECUTE format(
            'WITH moved AS (DELETE FROM waterh.journal_other WHERE day >= %L AND day < %L RETURNING *) '
            'INSERT INTO waterh.%I SELECT * FROM moved', first, first + interval '1 month', name);
        EXECUTE format(
            'ALTER TABLE waterh.journal ATTACH PARTITION waterh.%I FOR VALUES FROM (%L) TO (%L)', name, first,
            (first + interval '1 month')::date);
    END LOOP;
END $$;

-- The drinks that count, after corrections and deletions.
CREATE OR REPLACE VIEW waterh.drinks WITH (security_invoker = true) AS
    SELECT g.person, j.gateway, j.key, j.at, j.day, j.zone, j.source, j.ml
    FROM (
        SELECT gateway, key, at, day, zone, source, sum(ml) AS ml FROM waterh.journal
        GROUP BY gateway, key, at, day, zone, source HAVING sum(1 - 2 * (n & 1)) > 0
    ) AS j JOIN waterh.gateway AS g ON g.name = j.gateway;

-- One row for each person and day with entries. Filter by day or by a range of days.
CREATE OR REPLACE VIEW waterh.days WITH (security_invoker = true) AS
    SELECT g.person, j.day, sum(j.ml)::bigint AS ml, sum(j.drinks)::bigint AS drinks, max(g.goal_ml) AS goal_ml
    FROM (
        SELECT gateway, day, sum(ml) AS ml, sum(1 - 2 * (n & 1)) AS drinks FROM waterh.journal GROUP BY gateway, day
    ) AS j JOIN waterh.gateway AS g ON g.name = j.gateway
    GROUP BY g.person, j.day;

-- One row for each person: all drinks.
CREATE OR REPLACE VIEW waterh.totals WITH (security_invoker = true) AS
    SELECT g.person, coalesce(sum(j.ml), 0)::bigint AS ml, coalesce(sum(j.drinks), 0)::bigint AS drinks,
        min(j.first) AS first_day, max(j.last) AS last_day
    FROM waterh.gateway AS g LEFT JOIN (
        SELECT gateway, sum(ml) AS ml, sum(1 - 2 * (n & 1)) AS drinks, min(day) AS first, max(day) AS last
        FROM waterh.journal GROUP BY gateway
    ) AS j ON j.gateway = g.name
    GROUP BY g.person;

-- The local time of a zone; UTC if this server does not know the zone.
CREATE OR REPLACE FUNCTION waterh.local_time(zone text) RETURNS timestamp
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN now() AT TIME ZONE coalesce(zone, 'UTC');
EXCEPTION WHEN OTHERS THEN
    RETURN now() AT TIME ZONE 'UTC';
END $$;

-- One row for each gateway: the state of today. `behind_ml` compares with a steady pace from wake to sleep.
CREATE OR REPLACE VIEW waterh.today WITH (security_invoker = true) AS
    SELECT g.name AS gateway, g.person, g.seen, g.polled, g.battery, g.goal_ml, coalesce(d.ml, 0)::bigint AS ml,
        greatest(0, round(g.goal_ml * least(1, greatest(0,
            extract(epoch FROM l.now::time - g.wake) / nullif(extract(epoch FROM g.sleep - g.wake), 0)))
            - coalesce(d.ml, 0)))::bigint AS behind_ml
    FROM waterh.gateway AS g
    CROSS JOIN LATERAL (SELECT waterh.local_time(g.zone) AS now) AS l
    LEFT JOIN (SELECT gateway, day, sum(ml) AS ml FROM waterh.journal
        WHERE day BETWEEN current_date - 2 AND current_date + 2 GROUP BY gateway, day) AS d
        ON d.gateway = g.name AND d.day = (l.now - make_interval(hours => least(23, greatest(0, coalesce(g.day_hour, 0)))))::date;

-- Rights. A gateway adds and reads its own rows. A viewer reads all rows.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['waterh_gateway', 'waterh_viewer'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL; -- Another database of this server has it.
        END;
    END LOOP;
END $$;

ALTER TABLE waterh.gateway ENABLE ROW LEVEL SECURITY;
ALTER TABLE waterh.journal ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own ON waterh.gateway;
DROP POLICY IF EXISTS own ON waterh.journal;
DROP POLICY IF EXISTS every ON waterh.gateway;
DROP POLICY IF EXISTS every ON waterh.journal;
CREATE POLICY own ON waterh.gateway TO waterh_gateway USING (name = current_user::text);
CREATE POLICY own ON waterh.journal TO waterh_gateway USING (gateway = current_user::text);
CREATE POLICY every ON waterh.gateway FOR SELECT TO waterh_viewer USING (true);
CREATE POLICY every ON waterh.journal FOR SELECT TO waterh_viewer USING (true);

REVOKE ALL ON FUNCTION waterh.prepare(date[]) FROM PUBLIC;
GRANT USAGE ON SCHEMA waterh TO waterh_gateway, waterh_viewer;
GRANT SELECT ON waterh.schema, waterh.gateway, waterh.journal, waterh.drinks, waterh.days, waterh.totals, waterh.today
    TO waterh_gateway, waterh_viewer;
GRANT INSERT ON waterh.journal TO waterh_gateway;
GRANT UPDATE (store, epoch, position, seen, version, zone, day_hour, goal_ml, wake, sleep, battery, polled)
    ON waterh.gateway TO waterh_gateway;
GRANT EXECUTE ON FUNCTION waterh.prepare(date[]) TO waterh_gateway;

INSERT INTO waterh.schema (version) VALUES (1) ON CONFLICT (is_only) DO UPDATE SET version = excluded.version;
