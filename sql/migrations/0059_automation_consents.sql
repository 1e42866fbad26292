-- Steps of automations opt contacts in and out. Not valid: rows that are there had to be among fewer values.
ALTER TABLE contact_consents
  DROP CONSTRAINT contact_consents_how_check,
  ADD CONSTRAINT contact_consents_how_check CHECK (how IN ('api', 'import', 'page', 'one_click', 'email', 'complaint',
    'soft_bounces', 'automation')) NOT VALID;
