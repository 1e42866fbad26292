import type { ErrorName } from '#lib/errors.ts'
import { type Parameter, type Route, readDocument } from './api_document.ts'
import { Records } from './api_records.ts'
import { typeOf } from './api_schemas.ts'
import { errorTable, sendErrors, usualErrors } from './error_meanings.ts'
import { anchorOf, GENERATED, table } from './markdown.ts'

const INTRODUCTION = `
Every route of the API. The base URL is the URL of your server followed by \`/api\`. \`GET /api/openapi.json\` returns the same as an
OpenAPI 3.1 document. [Examples](examples.md) has requests to paste; the pages on [sending](sending.md), [receiving](receiving.md),
[domains](domains.md) and [webhooks](webhooks.md) explain how the routes work together.

* **Access.** Requests need an API key as a bearer token (\`Authorization: Bearer mb_...\`) and a \`User-Agent\` header. Routes need
  a key with full access unless they say otherwise.
* **Requests.** Bodies are JSON. camelCase names are accepted as well, and unknown fields are ignored.
* **Responses** are JSON, except downloads. Records have an \`object\`, which is their type, and an \`id\`; most have \`created_at\` and
  \`updated_at\`. Times are ISO 8601 in UTC, such as \`2026-11-21T09:19:04.123Z\`. Ids are UUIDs; those of webhooks and of
  entries of the request log are digits. Later versions may add fields.
`.trim()

const LISTS = `
## Lists

Lists are \`{ object: "list", has_more, data }\`, newest first. They take \`limit\`, an integer from 1 to 100, and \`after\` or \`before\`: the id of
the item after which the page begins or before which it ends. \`has_more\` is true if there are more items beyond the page.
`.trim()

const ACCESS = { full: '', sending: ' (a sending key is enough)', dashboard: ' (no API key may call it)' }

/** Generates docs/api.md. */
export function apiPage(): string {
  const { routes, tags, schemas } = readDocument()
  const records = { bodies: new Records(schemas, true), answers: new Records(schemas, false) }
  const shown = routes.filter(({ 'x-alias-of': alias }) => !alias)
  const contents = tags.map(({ name, description }) => `* [${name}](#${anchorOf(name)}). ${description}`)
  const sections = tags.map(({ name, description }) => {
    const operations = shown.filter(({ tags }) => tags.includes(name)).flatMap(one => describe(one, routes, records))
    return [`## ${name}`, description, ...operations, ...records.bodies.rest(), ...records.answers.rest()].join('\n\n')
  })
  const page = ['# API', GENERATED, INTRODUCTION, contents.join('\n'), LISTS, errorsOf(routes), ...sections]
  return `${page.join('\n\n')}\n`
}

function errorsOf(routes: Route[]): string {
  const used = new Set(routes.flatMap(({ errors }) => errors))
  return `
## Errors

Errors are \`{ statusCode, name, message }\`. Branch on \`name\`; \`message\` is for people and may change. [Errors](errors.md) says what
to do about each. Any route can respond with:

${errorTable(used, 'usual')}

### Errors of sends

Routes that send email can also respond with:

${errorTable(used, 'send')}

### Other errors

${errorTable(used, 'other')}
`.trim()
}

type Kinds = { bodies: Records; answers: Records }

function describe(one: Route, routes: Route[], { bodies, answers }: Kinds): string[] {
  const { summary, description, body, operationId } = one
  const same = [one, ...routes.filter(({ 'x-alias-of': alias }) => alias === operationId)]
  const paths = same.map(({ route }) => `\`${route}\``).join(' or ')
  const shown = body && [
    `Body${body.required ? '' : ' (optional)'}, ${body.limit.replace(/^A/, 'a').replace(/\.$/, '')}:`,
    bodies.show(body.schema, summary),
  ]
  return [
    `### ${summary}`,
    `${paths}${ACCESS[one['x-access']]}`,
    description ?? '',
    parametersOf(one, bodies),
    ...(shown ?? []),
    outcomeOf(one, answers),
  ].filter(Boolean)
}

function parametersOf({ parameters }: Route, records: Records): string {
  const limit = parameters.find(({ name }) => name === 'limit')
  const isSaid = ({ name, in: place, description }: Parameter) =>
    (limit && ['limit', 'after', 'before'].includes(name)) ||
    (place === 'path' && /^Id of the [\w ]+(?:: digits)?\.$/.test(description))
  const rows = parameters
    .filter(one => !isSaid(one))
    .map(({ name, in: place, required, description, schema }) => {
      const { default: value } = schema
      const note =
        required && place !== 'path' ? ' **Required.**' : value === undefined ? '' : ` Default: \`${value}\`.`
      return [`\`${name}\``, place, typeOf(schema, records.refer), description + note]
    })
  const pages =
    limit && `Takes \`limit\` (1 to 100; ${defaultOf(limit)}), \`after\` and \`before\`: see [lists](#lists).`
  return [rows.length > 0 && table(['Parameter', 'In', 'Type', 'Meaning'], rows), pages].filter(Boolean).join('\n\n')
}

function defaultOf({ description }: Parameter): string {
  return /Default: .*(?=\.$)/.exec(description)?.[0].toLowerCase() ?? description
}

function outcomeOf({ answers, errors }: Route, records: Records): string {
  const named = ({ schema, description }: Route['answers'][number]) => (schema ? records.refer(schema) : description)
  const responses = Array.from(Map.groupBy(answers, named), ([answer, all]) => {
    return `${all.map(({ status }) => `\`${status}\``).join(' or ')} ${answer}`
  })
  const isSend = errors.includes('rate_limit_exceeded')
  const others = errors.filter(name => !usualErrors.has(name) && !(isSend && sendErrors.has(name)))
  const listed = [
    ...(isSend ? ['[those of sends](#errors-of-sends)'] : []),
    ...others.map((name: ErrorName) => `[\`${name}\`](errors.md#${name})`),
  ]
  return [
    ...(responses.length > 0 ? [`Response: ${responses.join(', ')}`] : []),
    ...(listed.length > 0 ? [`Errors: ${listed.join(', ')}`] : []),
  ].join('  \n')
}
