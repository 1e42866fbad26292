-- The topic of an email: only those get it who are subscribed to the topic. No reference to topics: emails outlive them.
ALTER TABLE emails ADD COLUMN topic_id uuid;

-- The same, for the worker that claims the delivery: it looks again whether the recipient is subscribed.
ALTER TABLE deliveries ADD COLUMN topic_id uuid;
