-- Why a delivery that its receiver had taken was refused later, by a report: a class of refusal (lib/smtp_reply.ts). Null:
-- no report said that it failed, or the recipient was the cause, and then the delivery is `bounced`.
ALTER TABLE deliveries ADD COLUMN reported_class text;
