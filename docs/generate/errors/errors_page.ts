import { type ErrorName, statusOf } from '#lib/errors.ts'
import { MEANINGS } from '../error_meanings.ts'
import { GENERATED } from '../markdown.ts'
import { CLIENT_ERRORS, REMEDIES } from './remedies.ts'

const INTRODUCTION = `
All errors by name, and what to do about each. Errors of the API are \`{ statusCode, name, message }\`: branch on \`name\`, since \`message\`
is for people and may change. [API](api.md#errors) says which routes respond with which errors.
`.trim()

const OWN = `
## Errors of the client

The [client library and the command line](../client/README.md) also have these errors.
`.trim()

/** Generates docs/errors.md. */
export function errorsPage(): string {
  const names = (Object.keys(statusOf) as ErrorName[]).toSorted()
  const all = names.map(name => entry('##', name, String(statusOf[name]), MEANINGS[name], REMEDIES[name]))
  const own = Object.entries(CLIENT_ERRORS).map(([name, [status, meaning, remedy]]) =>
    entry('###', name, status, meaning, remedy),
  )
  return `${['# Errors', GENERATED, INTRODUCTION, ...all, OWN, ...own].join('\n\n')}\n`
}

function entry(level: string, name: string, status: string, meaning: string, remedy: string): string {
  return `${level} ${name}\n\nStatus \`${status}\`. ${meaning}\n\n**What to do.** ${remedy}`
}
