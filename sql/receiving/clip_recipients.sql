-- The address lists of a received email, cut to a maximum of bytes of JSON, since a stranger may send thousands of
-- addresses. The envelope addresses come first, since they are on domains of the account. `total`: number of all
-- addresses in the lists; null if none was cut.
DROP TYPE IF EXISTS clipped_recipients CASCADE;
CREATE TYPE clipped_recipients AS (
  received_for text[],
  "to" text[],
  cc text[],
  bcc text[],
  reply_to text[],
  total integer
);

CREATE FUNCTION clip_recipients(lists clipped_recipients, max_bytes integer) RETURNS clipped_recipients
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF octet_length(to_json(lists)::text) <= max_bytes THEN
    RETURN lists;
  END IF;
  RETURN (
    SELECT ROW(
      coalesce(array_agg(address ORDER BY n) FILTER (WHERE list = 1 AND bytes <= max_bytes), '{}'),
      coalesce(array_agg(address ORDER BY n) FILTER (WHERE list = 2 AND bytes <= max_bytes), '{}'),
      coalesce(array_agg(address ORDER BY n) FILTER (WHERE list = 3 AND bytes <= max_bytes), '{}'),
      coalesce(array_agg(address ORDER BY n) FILTER (WHERE list = 4 AND bytes <= max_bytes), '{}'),
      coalesce(array_agg(address ORDER BY n) FILTER (WHERE list = 5 AND bytes <= max_bytes), '{}'),
      nullif(count(*), count(*) FILTER (WHERE bytes <= max_bytes))
    )::clipped_recipients
    FROM (
      -- One byte is for the comma.
      SELECT list, n, address, sum(octet_length(to_json(address)::text) + 1) OVER (ORDER BY list, n) AS bytes
      FROM (
        SELECT 1 AS list, * FROM unnest(lists.received_for) WITH ORDINALITY AS u(address, n)
        UNION ALL SELECT 2, * FROM unnest(lists."to") WITH ORDINALITY
        UNION ALL SELECT 3, * FROM unnest(lists.cc) WITH ORDINALITY
        UNION ALL SELECT 4, * FROM unnest(lists.bcc) WITH ORDINALITY
        UNION ALL SELECT 5, * FROM unnest(lists.reply_to) WITH ORDINALITY
      ) a
    ) s
  );
END
$$;
