import { z } from 'zod'
import { absent, timestamp } from '#lib/json/json_form.ts'
import { StoredParts } from '#sql/contents/contents.ts'
import { ListedAttachment } from './attachments.ts'

const STATUS =
  '`scheduled`, `queued`, `sent`, `delivered`, `delivery_delayed`, `bounced`, `complained`, `failed`, `canceled` or `suppressed`.'

const listed = {
  object: z.literal('email'),
  id: z.string(),
  domain_id: z.string().nullable().describe('Id of the domain of `from`.'),
  message_id: z.string().describe('Message-ID header, with its angle brackets.'),
  from: z.string().describe('Sender.'),
  to: z.array(z.string()).describe('Recipients.'),
  cc: z.array(z.string()).describe('Recipients of copies.'),
  bcc: z.array(z.string()).describe('Recipients of copies that the others do not see.'),
  reply_to: z.array(z.string()).describe('Addresses that replies go to.'),
  subject: z.string().describe('Subject, with its placeholders replaced.'),
  status: z.string().describe(STATUS),
  last_event: z.string().describe('The newest of its events, or its status.'),
  tags: z
    .array(z.object({ name: z.string().describe('As given.'), value: z.string().describe('As given.') }))
    .describe('Tags, by which it can be found.'),
  topic_id: z.string().nullable().describe('Id of its topic, which may be deleted by now.'),
  template_id: z.string().nullable().describe('Id of its template, which may be deleted by now.'),
  campaign_id: z.string().nullable().describe('Id of its campaign, which may be deleted by now.'),
  automation_id: z.string().nullable().describe('Id of its automation, which may be deleted by now.'),
  contact_id: z
    .string()
    .nullable()
    .describe('Id of the contact that its campaign or automation sent it to, which may be deleted by now.'),
  scheduled_at: z.date().nullable().describe('When it is or was to be sent; null: immediately.'),
  sent_at: z.date().nullable().describe('When a server accepted it for the first recipient.'),
  created_at: z.date(),
  updated_at: z.date(),
}

/** An email as GET /emails shows it. */
export const ListedEmail = z.object(listed).meta({ id: 'ListedEmail' })
export type ListedEmail = z.infer<typeof ListedEmail>

/** A recipient who has not got the email yet, with the reason. */
const QueueEntry = z
  .object({
    recipient: z.string().describe('The address.'),
    state: z
      .enum(['queued', 'sending', 'in_doubt', 'held'])
      .describe(
        '`in_doubt`: it may have arrived, and is sent once more. `held`: it may have arrived, and a person decides.',
      ),
    reason: z.string().describe('Why it is not delivered yet.'),
    attempts: z.int().describe('Number of attempts so far.'),
    next_attempt_at: timestamp.nullable().describe('When it is sent again.'),
    last_reply: z.string().nullable().describe('Last reply of the server.'),
  })
  .meta({ id: 'QueueEntry' })

/** The members depend on the type. */
const Event = z
  .looseObject({
    type: z.string().describe('A status, `in_doubt` or `replied`.'),
    created_at: timestamp,
    via: z.string().optional().describe('How it was sent: `relay`, `direct`, `capture` and so on.'),
    class: z
      .string()
      .optional()
      .describe(
        'Cause of a refusal: `recipient`, `policy`, `content`, `size`, `sender`, `infrastructure` or `transient`.',
      ),
    reply: z.string().optional().describe('Reply of the server.'),
    reason: z.string().optional().describe('Explanation, for people.'),
    recipient: z.string().optional().describe('Address of the recipient, if it is about one.'),
  })
  .meta({ id: 'EmailEvent' })

/**
 * An email as GET /emails/:id shows it once its parts are rendered (flows/contents/render_email.ts). `queue`
 * is absent once every recipient is settled.
 */
export const Email = z.object({
  ...listed,
  ...StoredParts.shape,
  html: StoredParts.shape.html.describe('HTML part.'),
  text: StoredParts.shape.text.describe('Plain-text part.'),
  headers: z.record(z.string(), z.string()).describe('Additional headers.'),
  events: z.array(Event).describe('Its events, oldest first.'),
  attachments: z.array(ListedAttachment).describe('Files.'),
  queue: absent(z.array(QueueEntry)).describe('Recipients without a final result; absent if all have one.'),
})
export type Email = z.infer<typeof Email>
