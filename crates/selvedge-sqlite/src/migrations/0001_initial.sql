-- Schema version 1. Times are milliseconds since 1970. Bodies are JSON. Numbers beyond 63 bits wrap to below zero.
-- A thread is named once, in `threads`; every other table refers to it by number.

CREATE TABLE threads (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused, so that a late reader finds nothing rather than another thread
    name TEXT NOT NULL UNIQUE,
    origin TEXT NOT NULL CHECK (origin IN ('root', 'child', 'fork')),
    parent TEXT, -- the name of the thread that spawned it, or that it was forked from
    fork_step INTEGER, -- the last step that a fork shares with its parent
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, -- when its newest step was staged
    step INTEGER NOT NULL, -- its newest step
    committed INTEGER NOT NULL, -- its newest step that is known to be committed
    epoch INTEGER NOT NULL, -- how often it has been claimed
    owner TEXT, -- who has claimed it; the owner's lock file tells whether it is alive
    token INTEGER NOT NULL, -- the mark of its newest sync
    last_seq INTEGER NOT NULL, -- the newest number given out in its inbox
    input_tokens INTEGER NOT NULL, -- of its own steps, and so on
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL
) STRICT;
CREATE INDEX threads_forks ON threads (parent) WHERE origin = 'fork';

-- The history. Rows are added and never changed.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL, -- within the step, from 0
    at INTEGER NOT NULL, -- when the step was staged
    body TEXT NOT NULL,
    UNIQUE (thread, step, place)
) STRICT;

-- Accepted inputs that no step has taken yet.
CREATE TABLE inbox (
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    input_id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (thread, seq)
) STRICT, WITHOUT ROWID;

-- Ids of all inputs ever accepted: what marks a redelivery.
CREATE TABLE input_ids (
    thread INTEGER NOT NULL,
    input_id TEXT NOT NULL,
    PRIMARY KEY (thread, input_id)
) STRICT, WITHOUT ROWID;

-- The state beside the history. `step` and `place` keep the order in which things appeared.
CREATE TABLE calls (
    thread INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (thread, call_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE choices (
    thread INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    choice_id TEXT NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL,
    body TEXT NOT NULL,
    resolution TEXT, -- null while the choice is open
    PRIMARY KEY (thread, call_id, choice_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE subscriptions (
    thread INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (thread, call_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE oauth (
    thread INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (thread, call_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE views (
    thread INTEGER NOT NULL,
    view_type TEXT NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (thread, view_type)
) STRICT, WITHOUT ROWID;

-- Large outputs, in pieces of 256 KiB, so that a page of one costs the page.
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    blob_id TEXT NOT NULL,
    piece INTEGER NOT NULL, -- from 0; every piece but the last is full
    bytes BLOB NOT NULL,
    UNIQUE (thread, blob_id, piece)
) STRICT;

-- For people: SELECT * FROM conversation WHERE thread = '…' ORDER BY step, place.
CREATE VIEW conversation AS
    SELECT threads.name AS thread, messages.step, messages.place,
        CASE WHEN json_valid(messages.body) THEN messages.body ->> 'kind' END AS kind,
        datetime(messages.at / 1000, 'unixepoch') AS at, messages.body
    FROM messages JOIN threads ON threads.id = messages.thread;
