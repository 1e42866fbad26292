DROP FUNCTION IF EXISTS shown_properties(uuid, jsonb);

-- Returns the properties of a contact by key, with fallback values for those that it does not have. Values of deleted
-- properties are left out.
CREATE FUNCTION shown_properties(account uuid, own jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT coalesce(jsonb_object_agg(p.key, coalesce(own -> p.stored_as, p.fallback_value)), '{}')
  FROM contact_properties p
  WHERE p.account_id = account AND p.deleted_at IS NULL AND coalesce(own -> p.stored_as, p.fallback_value) IS NOT NULL
$$;
