DROP FUNCTION IF EXISTS shown_properties(uuid, jsonb);

-- The properties of a contact by their keys, with the fallback values where it has none of its own. Values of deleted
-- properties are left out.
CREATE FUNCTION shown_properties(account uuid, own jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT coalesce(jsonb_object_agg(p.key, coalesce(own -> p.stored_as, p.fallback_value)), '{}')
  FROM contact_properties p
  WHERE p.account_id = account AND p.deleted_at IS NULL AND coalesce(own -> p.stored_as, p.fallback_value) IS NOT NULL
$$;
