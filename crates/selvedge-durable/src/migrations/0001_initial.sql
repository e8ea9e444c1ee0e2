-- Schema version 1. Every name begins with `durable_`, so that a store's tables can stand in the same file.
-- Times are milliseconds since 1970. Bodies are JSON. Money is in millionths.

-- One row per thread. All other tables refer to it by number, so that a thread that is rebuilt appears at once.
CREATE TABLE durable_sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    thread TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('kept', 'building')),
    step INTEGER NOT NULL, -- the newest step that is in here
    inherited INTEGER NOT NULL, -- the step up to which a fork's history is its parent's: those tokens are not its own
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- The sums of its steps.
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    cost INTEGER NOT NULL DEFAULT 0,
    unpriced INTEGER NOT NULL DEFAULT 0, -- completions that used tokens at a price that is not known
    open_calls INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX durable_sessions_by_thread ON durable_sessions (thread) WHERE state = 'kept';
CREATE INDEX durable_sessions_by_time ON durable_sessions (updated_at, thread) WHERE state = 'kept';

-- The ledger: what each step added to the sums above, so that a step that is committed again can be taken out first.
CREATE TABLE durable_steps (
    session INTEGER NOT NULL,
    step INTEGER NOT NULL,
    model TEXT, -- null where the model was not asked
    outcome TEXT, -- how the completion ended
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    open_calls INTEGER NOT NULL, -- calls that it made, less those to which it brought the result
    PRIMARY KEY (session, step)
) STRICT, WITHOUT ROWID;

-- What a viewer shows. An item has a place; the result of a call has none, and is a row of the step that took it.
CREATE TABLE durable_entries (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER,
    kind TEXT NOT NULL,
    call_id TEXT,
    text TEXT NOT NULL, -- what search finds
    body TEXT NOT NULL
) STRICT;
CREATE INDEX durable_entries_by_step ON durable_entries (session, step, place);
CREATE INDEX durable_entries_by_call ON durable_entries (session, call_id) WHERE kind = 'tool_call';
CREATE INDEX durable_entries_by_user ON durable_entries (session, step, place) WHERE kind = 'user';

CREATE VIRTUAL TABLE durable_search USING fts5 (
    text, content = 'durable_entries', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER durable_entries_found AFTER INSERT ON durable_entries BEGIN
    INSERT INTO durable_search (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER durable_entries_lost AFTER DELETE ON durable_entries BEGIN
    INSERT INTO durable_search (durable_search, rowid, text) VALUES ('delete', old.id, old.text);
END;

-- Choices that wait for the user.
CREATE TABLE durable_choices (
    id INTEGER PRIMARY KEY, -- grows, which keeps them in their order
    session INTEGER NOT NULL,
    choice_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (session, choice_id)
) STRICT;
