DROP FUNCTION IF EXISTS answer_poll(uuid, uuid, text);
DROP FUNCTION IF EXISTS count_answers(uuid, uuid, text, integer);
DROP FUNCTION IF EXISTS answering_contact(uuid, uuid, uuid, text);

-- Stores the answer of a recipient, updates the figures and announces it to webhooks. Changes nothing if the same
-- answer is stored already. Returns false if there is no such delivery, poll or option (any more). The poll of a test
-- never gets here (flows/polls/answer_poll.ts).
CREATE FUNCTION answer_poll(account uuid, delivery uuid, chosen text) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  asked record;
  previous text;
BEGIN
  -- The email is locked first, as when it is erased; this makes answers of its recipients take turns.
  PERFORM FROM deliveries d JOIN emails e ON e.account_id = d.account_id AND e.id = d.email_id
  WHERE d.account_id = account AND d.id = delivery FOR NO KEY UPDATE OF e;

  SELECT p.id, e.id AS email_id, e.campaign_id, e.automation_id, d.recipient,
    answering_contact(e.account_id, e.contact_id, e.domain_id, d.recipient) AS contact_id INTO asked
  FROM deliveries d
  JOIN emails e ON e.account_id = d.account_id AND e.id = d.email_id
  JOIN email_contents m ON m.account_id = e.account_id AND m.email_id = e.id
  JOIN polls p ON p.account_id = m.account_id AND p.id = m.poll_id
  WHERE d.account_id = account AND d.id = delivery
    AND p.options @> jsonb_build_array(jsonb_build_object('key', chosen))
  FOR KEY SHARE OF p;
  IF NOT FOUND THEN
    RETURN false;
  END IF;

  previous := (SELECT a.option FROM poll_answers a WHERE a.account_id = account AND a.delivery_id = delivery);
  IF previous = chosen THEN
    RETURN true;
  END IF;
  INSERT INTO poll_answers (account_id, delivery_id, poll_id, option) VALUES (account, delivery, asked.id, chosen)
  ON CONFLICT (account_id, delivery_id) DO UPDATE SET option = excluded.option, answered_at = excluded.answered_at;
  PERFORM count_answers(account, asked.id, m.option, m.by)
  FROM (VALUES (previous, -1), (chosen, 1)) AS m(option, by) WHERE m.option IS NOT NULL ORDER BY m.option;

  IF is_heard(account, 'poll.answered') THEN
    PERFORM announce(ARRAY[ROW(account, 'poll.answered', jsonb_build_object(
      'poll_id', asked.id, 'email_id', asked.email_id, 'campaign_id', asked.campaign_id, 'automation_id', asked.automation_id,
      'contact_id', asked.contact_id, 'email', asked.recipient, 'answer', chosen, 'previous_answer', previous
    ))::announcement]);
  END IF;
  RETURN true;
END
$$;

-- Returns the contact that an email is to: the one that it was made for, or else the contact of its domain with that
-- address. (SELECT account): contact_by_address.sql says why.
CREATE FUNCTION answering_contact(account uuid, contact uuid, domain uuid, address text) RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN contact IS NULL
    THEN (SELECT c.id FROM contact_by_address(account, domain, lower(address)) c)
    ELSE (SELECT c.id FROM contacts c WHERE c.account_id = (SELECT account) AND c.id = contact)
  END
$$;

-- Changes the figure of an option. Callers must use the order of the options, so that no two deadlock; each backend
-- mostly has a shard of its own.
CREATE FUNCTION count_answers(account uuid, poll uuid, chosen text, by integer) RETURNS void LANGUAGE sql AS $$
  INSERT INTO poll_counts AS n (account_id, poll_id, option, shard, count, last_response_at)
  VALUES (account, poll, chosen, pg_backend_pid() % 16, by, CASE WHEN by > 0 THEN now() END)
  ON CONFLICT (account_id, poll_id, option, shard) DO UPDATE
    SET count = n.count + excluded.count, last_response_at = greatest(n.last_response_at, excluded.last_response_at)
$$;

DROP FUNCTION IF EXISTS withdraw_answers(uuid, uuid[], text);

-- Removes the answers that an address gave through these emails, and their counts. Used for emails that others got as
-- well and that are kept.
CREATE FUNCTION withdraw_answers(account uuid, given uuid[], address text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  polls_of uuid[];
  options_of text[];
BEGIN
  PERFORM FROM emails e WHERE e.account_id = account AND e.id = ANY (given) ORDER BY e.id FOR NO KEY UPDATE;
  WITH removed AS (
    DELETE FROM poll_answers a USING deliveries d
    WHERE d.account_id = account AND d.email_id = ANY (given) AND lower(d.recipient) = address
      AND a.account_id = d.account_id AND a.delivery_id = d.id
    RETURNING a.poll_id, a.option
  )
  SELECT array_agg(r.poll_id ORDER BY r.poll_id, r.option), array_agg(r.option ORDER BY r.poll_id, r.option)
  INTO polls_of, options_of FROM removed r;
  PERFORM count_answers(account, r.poll_id, r.option, -1) FROM unnest(polls_of, options_of) AS r(poll_id, option);
END
$$;
