-- Contacts that were deleted before the trigger of 0072 was there.
INSERT INTO former_contacts (account_id, domain_id, email_hash, contact_id)
SELECT r.account_id, g.domain_id, sha256(convert_to(r.email, 'UTF8')), r.contact_id
FROM campaign_recipients r
JOIN campaigns g ON g.account_id = r.account_id AND g.id = r.campaign_id
JOIN domains d ON d.account_id = g.account_id AND d.id = g.domain_id
WHERE r.email IS NOT NULL AND NOT EXISTS (SELECT FROM contacts c WHERE c.account_id = r.account_id AND c.id = r.contact_id)
ON CONFLICT DO NOTHING;

INSERT INTO former_contacts (account_id, domain_id, email_hash, contact_id)
SELECT r.account_id, r.domain_id, sha256(convert_to(r.contact_email, 'UTF8')), r.contact_id
FROM automation_runs r
JOIN domains d ON d.account_id = r.account_id AND d.id = r.domain_id
WHERE NOT EXISTS (SELECT FROM contacts c WHERE c.account_id = r.account_id AND c.id = r.contact_id)
ON CONFLICT DO NOTHING;
