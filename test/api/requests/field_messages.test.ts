import t from 'tap'
import type { z } from 'zod'
import { type JsonSchema, requestSchema } from '#api/openapi/json_schema.ts'
import type { Operation } from '#api/operations/operation.ts'
import { readQuery } from '#api/operations/queries.ts'
import { operations } from '#api/routes/index.ts'
import { ApiError } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'

type Members = Record<string, unknown>

/** Values that most fields refuse. */
const WRONG: unknown[] = [
  ...[null, true, 5, -1, 1.5, 1e300],
  ...['', ' ', 'no', 'two\nlines', '{{{NAME}}}', 'a'.repeat(5_000_001)],
  ...[
    [],
    {},
    [5],
    [{}],
    Array(2_000).fill('a@b.co'),
    { a: 5 },
    { 'a b': 'x' },
    { FIRST_NAME: 'x' },
    JSON.parse('{"__proto__":"x"}'),
  ],
]

/** Bodies that are right, of the operations that require some field. */
const email = { from: 'a@b.co', to: 'c@d.co', subject: 'Hi', text: 'Hi' }
const RIGHT: Record<string, unknown> = {
  sendEmail: {
    ...email,
    attachments: [{ path: 'https://a.co/a.pdf' }],
    tags: [{ name: 'a', value: 'b' }],
    template: null,
  },
  sendBatch: [email],
  replyToEmail: { from: 'a@b.co', text: 'Hi' },
}

/** All of them; a field's path and what a message quotes are `…`. */
const MESSAGES = [
  'Missing `…` field.',
  'Missing `…` or `text` field.',
  'The body must be a list.',
  'The body must be an object.',
  'The body must have at most 100 items.',
  'The body must have either `emails` or `ids`.',
  'The body must not be empty.',
  '`…` cannot be `true` yet: tracking is not available.',
  '`…` cannot be changed.',
  '`…` cannot be combined with `template_id`.',
  '`…` cannot be combined with `template`.',
  '`…` has "…", which is not a header name of 1 to 64 letters, digits and hyphens.',
  '`…` has the key "…", which is reserved.',
  '`…` has the key "…", which must be 1 to 50 letters, digits or `_`.',
  '`…` has the name "…", which is reserved.',
  '`…` is "…", which is not an event.',
  '`…` is not supported yet.',
  '`…` must be 1 to 256 letters, digits, `_` or `-`.',
  '`…` must be 1 to 50 letters, digits or `_`.',
  '`…` must be 1 to 64 lower-case letters, digits, `_` or `-`, and begin with a letter or digit.',
  '`…` must be `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE` or `OPTIONS`.',
  '`…` must be `all`, `transactional`, `sent`, `scheduled`, `outbox`, `failed`, `canceled`, `campaigns` or `automations`.',
  '`…` must be `attachment` or `inline`.',
  '`…` must be `bounce`, `complaint` or `manual`.',
  '`…` must be `bounce`, `complaint`, `manual` or `import`.',
  '`…` must be `draft` or `published`.',
  '`…` must be `email.scheduled`, `email.sent`, `email.delivered`, `email.delivery_delayed`, `email.bounced`, `email.complained`, `email.opened`, `email.clicked`, `email.failed`, `email.suppressed`, `email.canceled`, `email.received`, `email.replied`, `email.unsubscribed`, `contact.created`, `contact.updated`, `contact.deleted`, `contact.topics.updated`, `domain.created`, `domain.updated`, `domain.deleted`, `topic.created`, `topic.updated`, `topic.deleted`, `suppression.added`, `suppression.removed`, `campaign.sent`, `campaign.canceled`, `poll.answered` or `test`.',
  '`…` must be `email@domain` or `Name <email@domain>`, not "…".',
  '`…` must be `enabled` or `disabled`.',
  '`…` must be `interested`, `neutral`, `not_interested` or `none`.',
  '`…` must be `opportunistic` or `enforced`.',
  '`…` must be `success`, `pending`, `failed` or `attempting`.',
  '`…` must be `true` or `false`.',
  '`…` must be `true`.',
  '`…` must be `zone`, `csv` or `json`.',
  '`…` must be a Cloudflare API token.',
  '`…` must be a content type such as application/pdf.',
  '`…` must be a host name label such as `send`, or several joined by dots.',
  '`…` must be a host name such as acme.com.',
  '`…` must be a list.',
  '`…` must be a status such as 422, or a class such as 4xx.',
  '`…` must be a string.',
  '`…` must be an ISO 8601 date or a timestamp with an offset.',
  '`…` must be an ISO 8601 timestamp or a phrase such as "…" or "…".',
  '`…` must be an address such as ann@acme.com.',
  '`…` must be an email address.',
  '`…` must be an id: a UUID.',
  '`…` must be an integer from 1 to 100.',
  '`…` must be an object.',
  '`…` must be base64: a string.',
  '`…` must be given only once.',
  '`…` must be one line of at most 200 characters.',
  '`…` must be one line of at most 320 characters.',
  '`…` must be one line of at most 998 characters.',
  '`…` must be one line.',
  '`…` must be one or several of scheduled, queued, sent, delivered, delivery_delayed, bounced, complained, failed, canceled, suppressed, opened, clicked, separated by commas.',
  '`…` must be the id of an item of the list.',
  '`…` must be the id or the alias of a template.',
  '`…` must be the name of a tag, or `name:value`.',
  '`…` must be the name or the id of a domain.',
  '`…` must begin with `/`.',
  '`…` must have 1 to 1,000 items.',
  '`…` must have 1 to 100 events.',
  '`…` must have 1 to 50 addresses.',
  '`…` must have at most 100 attachments.',
  '`…` must have at most 100 characters.',
  '`…` must have at most 100 headers.',
  '`…` must have at most 128 characters.',
  '`…` must have at most 2,048 characters.',
  '`…` must have at most 255 characters.',
  '`…` must have at most 5,000,000 characters.',
  '`…` must have at most 50 addresses.',
  '`…` must have at most 50 tags.',
  '`…` must have at most 50 variables.',
  '`…` must have at most 500 characters.',
  '`…` must have at most 998 characters.',
  '`…` must have either `content` or `path`.',
  '`…` must have either `id` or `alias`.',
  '`…` must have only letters, digits and punctuation without brackets, quotes, commas, colons or spaces.',
  '`…` must not be empty.',
  '`…` must not have a line break or control character.',
  '`…` must not have placeholders: they are replaced only in `subject`, `html` and `text`.',
]

t.test('field messages say in plain words what a field must be', async t => {
  const messages = new Set<string>()
  for (const operation of operations) {
    for (const message of messagesOf(operation)) messages.add(message)
  }
  t.strictSame([...messages].sort(), MESSAGES)
})

function* messagesOf({ id, body, query }: Operation): Generator<string> {
  for (const name of Object.keys(query ? (requestSchema(query).properties as Members) : {})) {
    for (const value of WRONG.filter(isText)) {
      yield* refusal(() => readQuery(query as z.ZodType, { [name]: value }))
    }
  }
  if (!body) return
  for (const put of places(requestSchema(body.schema), RIGHT[id] ?? {})) {
    for (const value of WRONG) yield* refusal(() => parse(body.schema, put(value)))
  }
}

/** A parameter of a query string is text, or a list of texts when it is given several times. */
function isText(value: unknown): value is string | string[] {
  return [value].flat().every(item => typeof item === 'string')
}

/** Yields a function for the body as a whole and for each of its fields: it returns the body with a value put there. */
function* places(schema: JsonSchema, right: unknown): Generator<(value: unknown) => unknown> {
  yield value => value
  for (const [name, field] of Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)) {
    const members = (typeof right === 'object' ? right : {}) as Members
    for (const put of places(field, members?.[name])) yield value => ({ ...members, [name]: put(value) })
  }
  for (const branch of (schema.anyOf ?? []) as JsonSchema[]) yield* places(branch, right)
  if (schema.items) {
    const [first] = Array.isArray(right) ? right : [undefined]
    for (const put of places(schema.items as JsonSchema, first)) yield value => [put(value)]
  }
}

/** Yields the message of an error, without the field's path and the value that it quotes. */
function* refusal(check: () => unknown): Generator<string> {
  try {
    check()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    yield error.message.replace(/^`[^`]+`|(?<=^Missing )`[^`]+`/, '`…`').replaceAll(/"(?:[^"\\]|\\.)*"/g, '"…"')
  }
}
