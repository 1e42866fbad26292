-- Soft bounces of contacts: mail of campaigns that their servers refused, for a reason that may pass.

-- soft_bounces            in a row; soft_bounces_since: when the first of them came
-- bounced_after_accepted  soft bounces of emails that a server had accepted; they are in sent_count too
-- delivered_before        sent_count without those, at the last soft bounce
ALTER TABLE contact_engagement
  ADD COLUMN soft_bounces integer NOT NULL DEFAULT 0,
  ADD COLUMN soft_bounces_since timestamptz,
  ADD COLUMN bounced_after_accepted integer NOT NULL DEFAULT 0,
  ADD COLUMN delivered_before integer;

-- Not valid: rows that are there had to be among fewer values.
ALTER TABLE contact_consents
  DROP CONSTRAINT contact_consents_how_check,
  ADD CONSTRAINT contact_consents_how_check
    CHECK (how IN ('api', 'import', 'page', 'one_click', 'email', 'complaint', 'soft_bounces')) NOT VALID;
