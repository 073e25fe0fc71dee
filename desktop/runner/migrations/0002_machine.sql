-- +goose Up
-- What is whole each time it changes: the desired machine, the last Reclaim.
CREATE TABLE notes (
    key  TEXT PRIMARY KEY,
    body BLOB NOT NULL
);

-- Builds that the Hub has a row for, or is to make one.
CREATE TABLE builds (
    id       TEXT PRIMARY KEY,
    observed BLOB NOT NULL -- wire.ObservedBuild
);

ALTER TABLE outbox ADD COLUMN session TEXT NOT NULL DEFAULT '';
CREATE INDEX outbox_session ON outbox (session, kind, n);

-- +goose Down
DROP INDEX outbox_session;
ALTER TABLE outbox DROP COLUMN session;
DROP TABLE builds;
DROP TABLE notes;
