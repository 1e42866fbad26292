-- Results of a webhook's last attempts, oldest first: its breaker opens on their rate (functions/webhooks.sql).
ALTER TABLE webhooks ADD recent_results text NOT NULL DEFAULT '';
-- How often in a row it has rested.
ALTER TABLE webhooks ADD rests integer NOT NULL DEFAULT 0;
