-- Environments and their builds, Variables, forwarded ports, delete and reclaim. What the earlier version wrote keeps
-- working: every new column of an old table has the value that says "as before".

-- +goose Up
CREATE TABLE environments (
    id       TEXT PRIMARY KEY,
    owner    TEXT NOT NULL REFERENCES people (id),
    name     TEXT NOT NULL,
    version  BIGINT NOT NULL,
    archived INTEGER NOT NULL,
    created  BIGINT NOT NULL,
    updated  BIGINT NOT NULL
);
CREATE INDEX environments_owner ON environments (owner, created);

CREATE TABLE environment_versions (
    environment TEXT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    version     BIGINT NOT NULL,
    recipe      TEXT NOT NULL,
    author      TEXT NOT NULL REFERENCES people (id),
    created     BIGINT NOT NULL,
    PRIMARY KEY (environment, version)
);

-- A build of the default recipe has no environment.
-- A build's log grows at its end alone: log_bytes is how much came, whether or not all of it is still kept.
CREATE TABLE builds (
    id          TEXT PRIMARY KEY,
    environment TEXT NOT NULL,
    version     BIGINT NOT NULL,
    hash        TEXT NOT NULL,
    runner      TEXT NOT NULL REFERENCES runners (id),
    author      TEXT NOT NULL REFERENCES people (id),
    state       TEXT NOT NULL,
    cancelling  INTEGER NOT NULL,
    again       INTEGER NOT NULL,
    steps       TEXT NOT NULL,
    failure     TEXT NOT NULL,
    line        BIGINT NOT NULL,
    kept        BIGINT NOT NULL,
    log_bytes   BIGINT NOT NULL,
    created     BIGINT NOT NULL,
    updated     BIGINT NOT NULL
);
CREATE INDEX builds_environment ON builds (environment, created);
CREATE INDEX builds_runner ON builds (runner, created) WHERE state IN ('queued', 'building');

CREATE TABLE build_log (
    build TEXT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
    start BIGINT NOT NULL,
    data  BYTEA NOT NULL,
    PRIMARY KEY (build, start)
);

-- A Variable is an Environment's (target is its id) or a repository's (target is its name). The value is sealed with the
-- keyset, which is not in the database; revision is another one with each change.
CREATE TABLE variables (
    owner    TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    scope    TEXT NOT NULL,
    target   TEXT NOT NULL,
    name     TEXT NOT NULL,
    secret   INTEGER NOT NULL,
    sealed   BYTEA NOT NULL,
    bytes    BIGINT NOT NULL,
    revision TEXT NOT NULL,
    author   TEXT NOT NULL REFERENCES people (id),
    updated  BIGINT NOT NULL,
    PRIMARY KEY (owner, scope, target, name)
);

-- One row: something known, sealed, which tells the right keyset from a wrong one.
CREATE TABLE keyset_check (
    id     INTEGER PRIMARY KEY,
    sealed BYTEA NOT NULL
);

CREATE TABLE seeds (
    owner   TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    repo    TEXT NOT NULL,
    path    TEXT NOT NULL,
    body    TEXT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (owner, repo, path)
);

ALTER TABLE sessions ADD COLUMN kind TEXT NOT NULL DEFAULT 'claude';
ALTER TABLE sessions ADD COLUMN environment TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN environment_version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN build TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN forwards TEXT NOT NULL DEFAULT '[]';
-- When the Runner had deleted it: the row stays for a moment, so that who watches hears of it.
ALTER TABLE sessions ADD COLUMN deleted BIGINT NOT NULL DEFAULT 0;
CREATE INDEX sessions_environment ON sessions (environment) WHERE environment <> '';
CREATE INDEX sessions_build ON sessions (build) WHERE build <> '';

ALTER TABLE runners ADD COLUMN reclaim BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runners ADD COLUMN reclaim_what TEXT NOT NULL DEFAULT '[]';
ALTER TABLE runners ADD COLUMN machine_seq BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE runners DROP COLUMN machine_seq;
ALTER TABLE runners DROP COLUMN reclaim_what;
ALTER TABLE runners DROP COLUMN reclaim;
DROP INDEX sessions_build;
DROP INDEX sessions_environment;
ALTER TABLE sessions DROP COLUMN deleted;
ALTER TABLE sessions DROP COLUMN forwards;
ALTER TABLE sessions DROP COLUMN build;
ALTER TABLE sessions DROP COLUMN environment_version;
ALTER TABLE sessions DROP COLUMN environment;
ALTER TABLE sessions DROP COLUMN kind;
DROP TABLE seeds;
DROP TABLE keyset_check;
DROP TABLE variables;
DROP TABLE build_log;
DROP TABLE builds;
DROP TABLE environment_versions;
DROP TABLE environments;
