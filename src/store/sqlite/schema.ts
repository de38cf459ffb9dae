/** Audiences and computed traits: a step of the schema, and never changed once it was released. */
export const COMPUTATIONS = `
  -- One row for each audience and each computed trait of a source: "class" says which. "key" is the trait that receivers get,
  -- "size" how many users have a value, "id" what receivers know it by. removed_at is set while only calls about users who
  -- have left it may still wait: for people it is gone then.
  CREATE TABLE computations (
    number     INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    class      TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    removed_at INTEGER,
    UNIQUE (source, key)
  ) STRICT;

  -- One row for each user with a value, which is JSON: true for a member of an audience. It is NULL for a user who has none any
  -- more, as long as the call that said so may wait. "event" is the number of the call that told of it last; NULL if it went
  -- nowhere.
  CREATE TABLE members (
    computation INTEGER NOT NULL,
    user        TEXT    NOT NULL,
    value       TEXT,
    event       INTEGER,
    PRIMARY KEY (computation, user)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX members_gone ON members (computation, event) WHERE value IS NULL;

  -- One row for each sync: what it set out to do, and how many of its changes are in the outbox ("done"). "state" is prepared
  -- while its changes are written down (abandoned if it is given up, or the daemon ends), then running, then finished.
  CREATE TABLE syncs (
    number      INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    computation INTEGER,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    added       INTEGER NOT NULL DEFAULT 0,
    changed     INTEGER NOT NULL DEFAULT 0,
    removed     INTEGER NOT NULL DEFAULT 0,
    done        INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE INDEX syncs_of ON syncs (computation, number);

  -- What a sync is still to do: a row goes in the commit of the call that tells of it. "value" as in members.
  CREATE TABLE changes (
    sync  INTEGER NOT NULL,
    user  TEXT    NOT NULL,
    value TEXT,
    PRIMARY KEY (sync, user)
  ) STRICT, WITHOUT ROWID;
`;
