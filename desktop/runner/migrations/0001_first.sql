-- +goose Up
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
);

CREATE TABLE sessions (
    id       TEXT PRIMARY KEY,
    desired  BLOB NOT NULL, -- wire.DesiredSession
    local    BLOB NOT NULL, -- Local
    observed BLOB NOT NULL  -- claudehub.Observed
);

-- How far each prompt has come on this machine: what makes a second writing of it impossible.
CREATE TABLE prompts (
    id      TEXT PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    stage   TEXT NOT NULL, -- Stage
    life    TEXT NOT NULL, -- of the terminal it was written to
    n       INTEGER NOT NULL, -- its input number there
    updated INTEGER NOT NULL  -- Unix milliseconds
);

CREATE INDEX prompts_session ON prompts (session);

CREATE TABLE outbox (
    n    INTEGER PRIMARY KEY AUTOINCREMENT,
    id   TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    body BLOB NOT NULL -- wire.Event
);

-- +goose Down
DROP TABLE outbox;
DROP TABLE prompts;
DROP TABLE sessions;
DROP TABLE meta;
