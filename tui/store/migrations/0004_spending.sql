-- What every request cost or may have cost. Purging a session or copying one to a fork changes nothing here.

CREATE TABLE spending (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,                -- of the answer or summary
    session TEXT NOT NULL,                  -- session.id, which may be purged
    turn TEXT NOT NULL,                     -- turn.id
    model TEXT NOT NULL,                    -- provider/model
    run TEXT NOT NULL DEFAULT '',           -- the start of the program that sent it
    reserved REAL,                          -- dollars it may cost, until the cost is final
    cost REAL,                              -- dollars
    final INTEGER NOT NULL DEFAULT 0,       -- the cost is known and complete
    usage TEXT,                             -- JSON
    created REAL NOT NULL
);
CREATE INDEX spending_created ON spending (created);
CREATE INDEX spending_session ON spending (session);

INSERT OR IGNORE INTO spending (id, session, turn, model, cost, final, usage, created)
SELECT message.id, session.id, turn.id, message.model, message.cost,
    CASE WHEN message.cost IS NULL OR message.open OR NOT json_valid(message.meta) THEN 0
    ELSE json_extract(message.meta, '$.interrupted') IS NULL OR json_extract(message.meta, '$.stop') IS NOT NULL END,
    CASE WHEN json_valid(message.meta) THEN json_extract(message.meta, '$.usage') END, message.created
FROM message JOIN turn ON turn.seq = message.turn JOIN session ON session.seq = turn.session
WHERE message.role = 'assistant' AND message.model IS NOT NULL
ORDER BY message.seq;

INSERT OR IGNORE INTO spending (id, session, turn, model, cost, final, usage, created)
SELECT run.id, session.id, coalesce(turn.id, ''),
    CASE WHEN json_valid(run.meta) THEN coalesce(
        json_extract(run.meta, '$.origin.provider') || '/' || json_extract(run.meta, '$.origin.model'), ''
    ) ELSE '' END,
    run.cost, run.cost IS NOT NULL,
    CASE WHEN json_valid(run.meta) THEN json_extract(run.meta, '$.usage') END, run.created
FROM summary_run AS run JOIN session ON session.seq = run.session LEFT JOIN turn ON turn.seq = run.turn
ORDER BY run.seq;
