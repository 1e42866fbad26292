DROP FUNCTION IF EXISTS emails_to_send(uuid[], uuid[], integer, text[], text);

-- Returns the emails of these accounts and ids (two lists of one length), each once, with the fields for composing their messages.
--
-- A general plan made while there were few emails would read whole tables for each call, so every table is read by its
-- index here, email by email (sql/sending/by_key.sql; OFFSET 0 keeps a subquery from becoming a join of two lists).
CREATE FUNCTION emails_to_send(accounts uuid[], ids uuid[], long_content integer, sendable_statuses text[], tracking_name text)
RETURNS TABLE (account_id uuid, id uuid, domain_id uuid, topic_id uuid, campaign_id uuid, automation_id uuid, message_id text,
  "from" text, "to" text[], cc text[], reply_to text[], subject text, headers jsonb, content_size integer, html text, text text,
  content_id uuid, variables jsonb, renderer smallint, tracking smallint, tracking_host text, attachments jsonb,
  submitted_at timestamptz, sendable boolean, tls text, transport text, return_path text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT e.account_id, e.id, e.domain_id, e.topic_id, e.campaign_id, e.automation_id, e.message_id, e.sender, e."to", e.cc,
    e.reply_to, e.subject, c.headers, l.content_size, CASE WHEN l.content_size <= long_content THEN c.html END,
    CASE WHEN l.content_size <= long_content THEN c.text END, c.content_id, c.variables, c.renderer, c.tracking,
    (
      SELECT r.name FROM domain_records r
      WHERE c.tracking IS NOT NULL AND r.account_id = o.account_id AND r.domain_id = o.id AND r.type = 'CNAME'
        AND r.name = coalesce(o.tracking_subdomain, tracking_name) || '.' || o.name AND is_tracking_record(r, o.status)
    ),
    (
      SELECT coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'filename', a.filename, 'content_type', a.content_type,
        'content_disposition', a.content_disposition, 'content_id', a.content_id, 'path', a.path, 'size', b.size,
        'blob_id', a.blob_id) ORDER BY a.position), '[]')
      FROM attachments a
      LEFT JOIN LATERAL (SELECT * FROM blobs x WHERE x.account_id = a.account_id AND x.id = a.blob_id OFFSET 0) b ON true
      WHERE a.account_id = e.account_id AND a.email_id = e.id
    ),
    coalesce(e.scheduled_at, e.created_at), coalesce(o.sending AND o.status = ANY(sendable_statuses), false),
    coalesce(o.tls, 'opportunistic'), o.transport,
    CASE WHEN o.return_path_verified THEN o.custom_return_path || '.' || o.name END
  FROM (SELECT DISTINCT * FROM unnest(accounts, ids)) AS w(account_id, id)
  CROSS JOIN LATERAL email_of(w.account_id, w.id) AS e
  CROSS JOIN LATERAL (SELECT * FROM email_contents x WHERE x.account_id = e.account_id AND x.email_id = e.id OFFSET 0) c
  -- Postgres knows the length of a long text without reading it.
  CROSS JOIN LATERAL (
    SELECT greatest(c.rendered_size, coalesce(octet_length(c.text), 0) + coalesce(octet_length(c.html), 0)
      -- A text part that is derived is hardly ever longer than its html.
      * CASE WHEN c.renderer IS NOT NULL AND c.text IS NULL THEN 2 ELSE 1 END) AS content_size
  ) l
  LEFT JOIN LATERAL (SELECT * FROM domains x WHERE x.account_id = e.account_id AND x.id = e.domain_id OFFSET 0) o ON true;
END
$$;
