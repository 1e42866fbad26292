-- Adds the rows `@domain` that insert_received_recipients (0023) writes since then for mail that was read earlier. This
-- takes as long as it takes to read all received mail, so it is a migration of its own, which locks nothing but its rows:
-- 0023 keeps everybody from writing `emails` until it has ended.
INSERT INTO received_recipients (account_id, received_email_id, address)
SELECT DISTINCT r.account_id, r.id, '@' || lower(substring(g.address FROM '[^@]*$'))
FROM received_emails r
LEFT JOIN domains d ON d.account_id = r.account_id AND d.id = r.domain_id
CROSS JOIN unnest(r.received_for) AS g(address)
WHERE cardinality(r.received_for) > 1 AND r.state <> 'stored'
  AND lower(substring(g.address FROM '[^@]*$')) IS DISTINCT FROM d.name
ON CONFLICT DO NOTHING;
