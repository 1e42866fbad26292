-- How often a client has used what is limited in its current window, in the layout of rate-limiter-flexible (which names
-- no columns when it inserts: their order matters). Unlogged: counting waits for no disk, and after a crash of the
-- server all counts begin anew, which loses nothing.

CREATE UNLOGGED TABLE rate_limits (
  key varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint -- ms since 1970
) WITH (fillfactor = 50); -- a row changes with every request: room to do so in its page
