-- Emails are not updated in their page: each update changes a column of an index. Most updates of deliveries do so too.
ALTER TABLE emails RESET (fillfactor);
ALTER TABLE deliveries SET (fillfactor = 85);
