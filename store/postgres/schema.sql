-- The tables of Holdpoint's store, version 1. To run it twice does no harm.
-- Afterwards a role needs SELECT, INSERT, UPDATE and DELETE on the three tables, and SELECT on
-- holdpoint_schema.
BEGIN;
SELECT pg_advisory_xact_lock(7521962907131893);
{{schema}}
-- A row for each thread. While a thread waits for an answer, opened and due are its places in the
-- two lists of what waits. Otherwise gone is when the row may be forgotten. A lease is renewed
-- often: that changes revision and head, and leaves body where it is.
CREATE TABLE IF NOT EXISTS {{threads}} (
  key text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  opened timestamptz,
  due timestamptz,
  gone timestamptz,
  head bytea NOT NULL,
  body bytea
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE {{threads}} ALTER head SET STORAGE MAIN, ALTER body SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS holdpoint_threads_opened ON {{threads}} (opened, key) WHERE opened IS NOT NULL;
CREATE INDEX IF NOT EXISTS holdpoint_threads_due ON {{threads}} (due, key) WHERE due IS NOT NULL;
CREATE INDEX IF NOT EXISTS holdpoint_threads_gone ON {{threads}} (gone) WHERE gone IS NOT NULL;

-- What a client was shown at a moment of a thread. It is written once.
CREATE TABLE IF NOT EXISTS {{snapshots}} (
  key text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (key, name)
);
ALTER TABLE {{snapshots}} ALTER bytes SET STORAGE EXTERNAL;

-- The list of what the webhook is to send, and when. Without a webhook it is not used.
CREATE TABLE IF NOT EXISTS {{unsent}} (key text COLLATE "C" PRIMARY KEY, due timestamptz NOT NULL);
CREATE INDEX IF NOT EXISTS holdpoint_unsent_due ON {{unsent}} (due, key);

CREATE TABLE IF NOT EXISTS {{version}} (version integer NOT NULL);
INSERT INTO {{version}} SELECT 1 WHERE NOT EXISTS (SELECT FROM {{version}});
COMMIT;
