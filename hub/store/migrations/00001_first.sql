-- One set of tables for SQLite and PostgreSQL. Times are microseconds since 1970 in UTC, 0 for none. JSON is kept as
-- text: it is written and read whole.

-- +goose Up
CREATE TABLE people (
    id      TEXT PRIMARY KEY,
    login   TEXT NOT NULL UNIQUE,
    name    TEXT NOT NULL,
    created BIGINT NOT NULL
);

CREATE TABLE sign_in_links (
    hash    TEXT PRIMARY KEY,
    person  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    used    BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE sign_ins (
    id         TEXT PRIMARY KEY,
    hash       TEXT NOT NULL UNIQUE,
    person     TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    user_agent TEXT NOT NULL,
    address    TEXT NOT NULL,
    created    BIGINT NOT NULL,
    last_used  BIGINT NOT NULL
);
CREATE INDEX sign_ins_person ON sign_ins (person);

CREATE TABLE runners (
    id             TEXT PRIMARY KEY,
    owner          TEXT NOT NULL REFERENCES people (id),
    name           TEXT NOT NULL,
    token_hash     TEXT NOT NULL UNIQUE,
    seq            BIGINT NOT NULL DEFAULT 0,
    machine        TEXT NOT NULL,
    link_state     TEXT NOT NULL,
    link_since     BIGINT NOT NULL,
    lease_instance TEXT NOT NULL DEFAULT '',
    lease_host     TEXT NOT NULL DEFAULT '',
    lease_hub      TEXT NOT NULL DEFAULT '',
    lease_since    BIGINT NOT NULL DEFAULT 0,
    lease_renewed  BIGINT NOT NULL DEFAULT 0,
    created        BIGINT NOT NULL,
    UNIQUE (owner, name)
);

CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    title        TEXT NOT NULL,
    creator      TEXT NOT NULL REFERENCES people (id),
    runner       TEXT NOT NULL REFERENCES runners (id),
    git_url      TEXT NOT NULL,
    branch       TEXT NOT NULL,
    desired      TEXT NOT NULL,
    model        TEXT NOT NULL,
    effort       TEXT NOT NULL,
    generation   BIGINT NOT NULL,
    conversation BIGINT NOT NULL,
    stop_at      BIGINT NOT NULL,
    seq          BIGINT NOT NULL,
    observed     TEXT NOT NULL,
    request      TEXT NOT NULL,
    created      BIGINT NOT NULL,
    updated      BIGINT NOT NULL
);
CREATE UNIQUE INDEX sessions_request ON sessions (creator, request) WHERE request <> '';
CREATE UNIQUE INDEX sessions_seq ON sessions (runner, seq);
CREATE INDEX sessions_creator ON sessions (creator, created);

CREATE TABLE prompts (
    id       TEXT PRIMARY KEY,
    session  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    author   TEXT NOT NULL REFERENCES people (id),
    body     TEXT NOT NULL,
    state    TEXT NOT NULL,
    why      TEXT NOT NULL,
    position BIGINT NOT NULL,
    request  TEXT NOT NULL,
    created  BIGINT NOT NULL,
    updated  BIGINT NOT NULL,
    expires  BIGINT NOT NULL,
    UNIQUE (session, position)
);
CREATE UNIQUE INDEX prompts_request ON prompts (session, request) WHERE request <> '';
CREATE INDEX prompts_waiting ON prompts (expires) WHERE state IN ('queued', 'delivered');
CREATE INDEX prompts_open ON prompts (session, position) WHERE state IN ('queued', 'delivered', 'accepted');

-- An event is stored once: its id is the Runner's own, so that it counts within its Session alone.
CREATE TABLE events (
    id      TEXT NOT NULL,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind    TEXT NOT NULL,
    at      BIGINT NOT NULL,
    prompt  TEXT NOT NULL,
    state   TEXT NOT NULL,
    body    TEXT NOT NULL,
    ended   INTEGER NOT NULL,
    stored  BIGINT NOT NULL,
    PRIMARY KEY (session, id)
);
CREATE INDEX events_session ON events (session, at);

-- +goose Down
DROP TABLE events;
DROP TABLE prompts;
DROP TABLE sessions;
DROP TABLE runners;
DROP TABLE sign_ins;
DROP TABLE sign_in_links;
DROP TABLE people;
