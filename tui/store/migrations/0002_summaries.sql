-- Requests for summaries: paid for like answers, though they are no part of the conversation.

CREATE TABLE summary_run (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    session INTEGER NOT NULL REFERENCES session (seq) ON DELETE CASCADE,
    turn INTEGER REFERENCES turn (seq) ON DELETE SET NULL,  -- the last one there was
    meta TEXT NOT NULL,                     -- JSON: origin, usage, seconds, failure
    cost REAL,
    created REAL NOT NULL,
    UNIQUE (session, id)
);
CREATE INDEX summary_run_turn ON summary_run (turn);
