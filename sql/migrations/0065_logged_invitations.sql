-- Invitations that were logged with their link, which anybody who reads the log could follow for seven days.
-- Cheap conditions first: only responses to invitations are read.
DELETE FROM logs
WHERE response_status = 201 AND method = 'POST' AND endpoint ~* '^/members/?$'
  AND response_body::text ~ '/join/[A-Za-z0-9_-]{43}';
