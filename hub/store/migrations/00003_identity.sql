-- Identity: people from GitHub, roles, API tokens, pairing, sharing, suggestions, the audit log. What the earlier versions
-- wrote keeps working: every new column of an old table has the value that says "as before".

-- +goose Up
-- github is GitHub's numeric id, which is who a person is; 0 is the one person of local mode. removed is since when the
-- allow-list has no room for the person, checked when that was last asked, and claimed until when nobody else is to ask:
-- one Hub does, or GitHub is left alone after an outage. credential is the person's GitHub token, sealed.
ALTER TABLE people ADD COLUMN github BIGINT NOT NULL DEFAULT 0;
ALTER TABLE people ADD COLUMN avatar TEXT NOT NULL DEFAULT '';
ALTER TABLE people ADD COLUMN role TEXT NOT NULL DEFAULT 'member';
ALTER TABLE people ADD COLUMN seen BIGINT NOT NULL DEFAULT 0;
ALTER TABLE people ADD COLUMN removed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE people ADD COLUMN checked BIGINT NOT NULL DEFAULT 0;
ALTER TABLE people ADD COLUMN claimed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE people ADD COLUMN credential BYTEA;
CREATE UNIQUE INDEX people_github ON people (github) WHERE github <> 0;
UPDATE people SET role = 'admin' WHERE login = 'local';

-- One row: the code that makes the first admin.
CREATE TABLE setup_code (
    id      INTEGER PRIMARY KEY,
    hash    TEXT NOT NULL,
    created BIGINT NOT NULL,
    used    BIGINT NOT NULL DEFAULT 0,
    used_by TEXT NOT NULL DEFAULT ''
);

CREATE TABLE api_tokens (
    id        TEXT PRIMARY KEY,
    hash      TEXT NOT NULL UNIQUE,
    person    TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    name      TEXT NOT NULL,
    scopes    TEXT NOT NULL,
    created   BIGINT NOT NULL,
    expires   BIGINT NOT NULL,
    last_used BIGINT NOT NULL DEFAULT 0,
    address   TEXT NOT NULL DEFAULT ''
);
CREATE INDEX api_tokens_person ON api_tokens (person);

-- A device that waits for a person's approval (RFC 8628). The device holds a code that is here by its hash; the person
-- types user_code. again is the Runner that it was before, by its own word. What an approved one gets is made when it
-- comes for it.
CREATE TABLE devices (
    hash      TEXT PRIMARY KEY,
    user_code TEXT NOT NULL UNIQUE,
    client    TEXT NOT NULL,
    name      TEXT NOT NULL,
    machine   TEXT NOT NULL,
    again     TEXT NOT NULL DEFAULT '',
    address   TEXT NOT NULL,
    state     TEXT NOT NULL,
    person    TEXT NOT NULL DEFAULT '',
    wait      BIGINT NOT NULL,
    polled    BIGINT NOT NULL DEFAULT 0,
    created   BIGINT NOT NULL,
    expires   BIGINT NOT NULL
);

-- A Runner's next token, given out at the time rotated: its old one is good until the new one is first used, and a week
-- at the most. A revoked Runner's token_hash is its id, which is no hash.
ALTER TABLE runners ADD COLUMN next_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE runners ADD COLUMN rotated BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runners ADD COLUMN revoked BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runners ADD COLUMN last_used BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runners ADD COLUMN address TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX runners_next ON runners (next_hash) WHERE next_hash <> '';

-- everyone: who GitHub says can see the Session's repository may watch. link_hash: who holds the link may join.
ALTER TABLE sessions ADD COLUMN everyone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN link_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN link_created BIGINT NOT NULL DEFAULT 0;
-- Who changed last what the Runner is to make so; '' from before this version.
ALTER TABLE sessions ADD COLUMN desired_by TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX sessions_link ON sessions (link_hash) WHERE link_hash <> '';
CREATE INDEX sessions_everyone ON sessions (created) WHERE everyone = 1;

CREATE TABLE shares (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    person  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    by_link INTEGER NOT NULL,
    created BIGINT NOT NULL,
    PRIMARY KEY (session, person)
);
CREATE INDEX shares_person ON shares (person);

-- What GitHub last said of a person's sight of a repository ("owner/name", lower case).
CREATE TABLE sights (
    person  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    repo    TEXT NOT NULL,
    sees    INTEGER NOT NULL,
    checked BIGINT NOT NULL,
    PRIMARY KEY (person, repo)
);

CREATE TABLE suggestions (
    id      TEXT PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    author  TEXT NOT NULL REFERENCES people (id),
    body    TEXT NOT NULL,
    state   TEXT NOT NULL,
    prompt  TEXT NOT NULL,
    why     TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
);
CREATE INDEX suggestions_session ON suggestions (session, created);
ALTER TABLE prompts ADD COLUMN suggested_by TEXT NOT NULL DEFAULT '';

-- The audit log: each row's hash covers the row and the hash before it.
CREATE TABLE audit (
    seq        BIGINT PRIMARY KEY,
    at         BIGINT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor      TEXT NOT NULL,
    login      TEXT NOT NULL,
    action     TEXT NOT NULL,
    target     TEXT NOT NULL,
    address    TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    detail     TEXT NOT NULL,
    prev       TEXT NOT NULL,
    hash       TEXT NOT NULL
);
CREATE INDEX audit_actor ON audit (actor, seq);
CREATE INDEX audit_action ON audit (action, seq);
CREATE INDEX audit_target ON audit (target, seq);

-- +goose Down
DROP TABLE audit;
ALTER TABLE prompts DROP COLUMN suggested_by;
DROP TABLE suggestions;
DROP TABLE sights;
DROP TABLE shares;
DROP INDEX sessions_everyone;
DROP INDEX sessions_link;
ALTER TABLE sessions DROP COLUMN desired_by;
ALTER TABLE sessions DROP COLUMN link_created;
ALTER TABLE sessions DROP COLUMN link_hash;
ALTER TABLE sessions DROP COLUMN everyone;
DROP INDEX runners_next;
ALTER TABLE runners DROP COLUMN address;
ALTER TABLE runners DROP COLUMN last_used;
ALTER TABLE runners DROP COLUMN revoked;
ALTER TABLE runners DROP COLUMN rotated;
ALTER TABLE runners DROP COLUMN next_hash;
DROP TABLE devices;
DROP TABLE api_tokens;
DROP TABLE setup_code;
DROP INDEX people_github;
ALTER TABLE people DROP COLUMN credential;
ALTER TABLE people DROP COLUMN claimed;
ALTER TABLE people DROP COLUMN checked;
ALTER TABLE people DROP COLUMN removed;
ALTER TABLE people DROP COLUMN seen;
ALTER TABLE people DROP COLUMN role;
ALTER TABLE people DROP COLUMN avatar;
ALTER TABLE people DROP COLUMN github;
