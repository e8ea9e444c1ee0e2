-- Schema version 2. Threads whose beginning was removed: in all, up to now. In the history stands a compaction in its
-- place, at the last removed step.
CREATE TABLE pruned (
    thread INTEGER PRIMARY KEY,
    step INTEGER NOT NULL, -- the last step whose messages were removed
    at INTEGER NOT NULL, -- when
    turns INTEGER NOT NULL, -- how many were removed
    input_tokens INTEGER NOT NULL, -- of the removed messages; the thread's own counts still hold them
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL
) STRICT;
