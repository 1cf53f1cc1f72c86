-- A database as version 3 left it. Never changed: it is what users have.

BEGIN;

-- Sessions are trees of turns: every turn knows the one before it, a session knows the end of its active path.
-- Order is always that of integers that only grow; clocks can be set back.

CREATE TABLE session (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL DEFAULT '',
    titled INTEGER NOT NULL DEFAULT 0,      -- 1: the user named it
    model TEXT NOT NULL DEFAULT '',         -- who answered last, provider/model
    spec TEXT,                              -- JSON: the model and level in use
    settings TEXT NOT NULL DEFAULT '{}',    -- JSON: settings by the user's keys
    view TEXT,                              -- JSON: how finished turns are looked at (compression)
    head INTEGER,                           -- last turn of the active path
    turns INTEGER NOT NULL DEFAULT 0,       -- turns on the active path
    cost REAL,                              -- dollars of all answers ever; NULL: unknown
    created REAL NOT NULL,
    updated REAL NOT NULL,
    touched INTEGER NOT NULL,               -- grows with every change: the order of the list
    pinned INTEGER NOT NULL DEFAULT 0,
    deleted REAL,                           -- when it was put away
    forked_from TEXT,
    forked_turn TEXT
);
CREATE INDEX session_touched ON session (touched);

CREATE TABLE turn (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    session INTEGER NOT NULL REFERENCES session (seq) ON DELETE CASCADE,
    parent INTEGER REFERENCES turn (seq),   -- the turn before; NULL: the first
    chosen INTEGER,                         -- the turn that followed on the path last looked at
    open INTEGER NOT NULL DEFAULT 0,        -- not finished
    cost REAL,                              -- what of it is counted in the session's
    created REAL NOT NULL,
    UNIQUE (session, id)
);
CREATE INDEX turn_parent ON turn (parent);
CREATE INDEX turn_open ON turn (session) WHERE open;

CREATE TABLE message (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    session INTEGER NOT NULL,               -- that of the turn
    turn INTEGER NOT NULL REFERENCES turn (seq) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    role TEXT NOT NULL,
    meta TEXT NOT NULL,                     -- JSON: origin, usage, stop and the rest of a message
    model TEXT,                             -- provider/model, for filters
    cost REAL,
    open INTEGER NOT NULL DEFAULT 0,        -- a checkpoint of a message that is still coming
    indexed INTEGER NOT NULL DEFAULT 0,     -- in the full-text index
    created REAL NOT NULL,
    UNIQUE (turn, id)
);

-- Every page a message touches is written and synced before it is acknowledged, so blocks have no index but their place.
CREATE TABLE block (
    place INTEGER PRIMARY KEY,              -- message * 1048576 + position
    kind TEXT NOT NULL,
    text TEXT,                              -- the words, as far as UTF-8 can hold them
    payload TEXT NOT NULL                   -- JSON: everything else, and the words where UTF-8 cannot
);
CREATE TRIGGER message_deleted AFTER DELETE ON message BEGIN
    DELETE FROM block WHERE place >= old.seq * 1048576 AND place < (old.seq + 1) * 1048576;
END;

CREATE TABLE blob (
    hash TEXT PRIMARY KEY,                  -- SHA-256 of the content
    content BLOB NOT NULL                   -- UTF-8 text: base64 of a picture, a large result
) WITHOUT ROWID;

CREATE TABLE block_blob (
    message INTEGER NOT NULL REFERENCES message (seq) ON DELETE CASCADE,
    hash TEXT NOT NULL REFERENCES blob (hash),
    PRIMARY KEY (message, hash)
) WITHOUT ROWID;
CREATE INDEX block_blob_hash ON block_blob (hash);

-- Who has which session open.
CREATE TABLE lease (
    session INTEGER PRIMARY KEY REFERENCES session (seq) ON DELETE CASCADE,
    holder TEXT NOT NULL,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    boot TEXT NOT NULL,
    process_start TEXT NOT NULL,            -- tells a process from a later one with the same number
    heartbeat REAL NOT NULL
);

-- Rows are message.seq. Keeps no text of its own: a row is taken out by naming its words again.
CREATE VIRTUAL TABLE words USING fts5 (
    prompts, answers, thinking, tools, content = '', tokenize = 'unicode61 remove_diacritics 2'
);

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

INSERT INTO "session" VALUES(1,'s','Why is the sky blue?',0,'anthropic/claude-opus-5',NULL,'{}',NULL,2,2,0.5,1800000001.0,1800000006.0,5,0,NULL,NULL,NULL);
INSERT INTO "turn" VALUES(1,'t1',1,NULL,2,0,0.5,1800000001.0);
INSERT INTO "turn" VALUES(2,'t2',1,1,NULL,0,NULL,1800000004.0);
INSERT INTO "message" VALUES(1,'p1',1,1,0,'user','{}',NULL,NULL,0,1,1800000001.0);
INSERT INTO "message" VALUES(2,'a1',1,1,1,'assistant','{"origin":{"provider":"anthropic","wire":"anthropic","host":"api.anthropic.com","model":"claude-opus-5","level":"high"},"stop":{"finish":"stop"},"cost":0.5}','anthropic/claude-opus-5',0.5,0,1,1800000002.0);
INSERT INTO "message" VALUES(3,'p2',1,2,0,'user','{}',NULL,NULL,0,1,1800000004.0);
INSERT INTO "message" VALUES(4,'a2',1,2,1,'assistant','{"origin":{"provider":"anthropic","wire":"anthropic","host":"api.anthropic.com","model":"claude-opus-5","level":"high"},"stop":{"finish":"stop"}}','anthropic/claude-opus-5',NULL,0,1,1800000005.0);
INSERT INTO "block" VALUES(1048576,'text','Why is the sky blue?','{}');
INSERT INTO "block" VALUES(2097152,'thinking','Rayleigh','{"form":"full","seal":{"signature":"EqQB=="}}');
INSERT INTO "block" VALUES(2097153,'text','Scattering.','{}');
INSERT INTO "block" VALUES(3145728,'text','And red?','{}');
INSERT INTO "block" VALUES(4194304,'thinking','','{"form":"hidden","seal":{"signature":"EqQ"}}');
INSERT INTO "block" VALUES(4194305,'tool_call',NULL,'{"call_id":"c","name":"shell","arguments":"{}"}');
INSERT INTO words (rowid, prompts, answers, thinking, tools) VALUES (1, 'Why is the sky blue?', '', '', '');
INSERT INTO words (rowid, prompts, answers, thinking, tools) VALUES (2, '', 'Scattering.', 'Rayleigh', '');
INSERT INTO words (rowid, prompts, answers, thinking, tools) VALUES (3, 'And red?', '', '', '');
INSERT INTO words (rowid, prompts, answers, thinking, tools) VALUES (4, '', '', '', 'shell
{}');
INSERT INTO summary_run (id, session, turn, meta, cost, created) VALUES ('r1', 1, 2, '{"origin":{"provider":"anthropic","wire":"anthropic","host":"api.anthropic.com","model":"claude-opus-5"}}', 0.25, 1800000007.0);
CREATE TABLE queued (
    session INTEGER PRIMARY KEY REFERENCES session (seq) ON DELETE CASCADE,
    prompts TEXT NOT NULL                   -- JSON: the blocks of each prompt, first to last
);
INSERT INTO queued VALUES (1, '[[{"kind":"text","text":"And green?"}]]');
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
INSERT INTO spending (id, session, turn, model, run, reserved, cost, final, usage, created) VALUES ('a1', 's', 't1', 'anthropic/claude-opus-5', '', NULL, 0.5, 1, NULL, 1800000002.0);
INSERT INTO spending (id, session, turn, model, run, reserved, cost, final, usage, created) VALUES ('a2', 's', 't2', 'anthropic/claude-opus-5', 'run', 0.75, NULL, 0, NULL, 1800000005.0);
INSERT INTO spending (id, session, turn, model, run, reserved, cost, final, usage, created) VALUES ('r1', 's', 't2', 'anthropic/claude-opus-5', 'run', NULL, 0.25, 1, NULL, 1800000007.0);
PRAGMA user_version = 4;
COMMIT;
