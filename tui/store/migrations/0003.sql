-- Prompts that wait behind a running turn: they are there again after a crash.

CREATE TABLE queued (
    session INTEGER PRIMARY KEY REFERENCES session (seq) ON DELETE CASCADE,
    prompts TEXT NOT NULL                   -- JSON: the blocks of each prompt, first to last
);
