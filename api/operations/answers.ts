import { z } from 'zod'

/** A response that is not JSON. */
export type Bytes = { content_type: string; description: string }

export function bytes(content_type: string, description: string): Bytes {
  return { content_type, description }
}

/** Returns the schema of a page of a list. It is named after its items: `ListOfEmails` contains `Email`s or `ListedEmail`s. */
export function listOf<Item extends z.ZodType>(item: Item) {
  const name = item.meta()?.id?.replace(/^Listed/, '')
  if (!name) throw new Error('the items of a list have no name')
  return z
    .object({
      object: z.literal('list'),
      has_more: z.boolean().describe('True if there are more items beyond this page.'),
      data: z.array(item).describe('The items of this page.'),
    })
    .meta({ id: `ListOf${plural(name)}` })
}

/** A record with nothing but its id. */
export function refTo<Name extends string>(object: Name) {
  return z.object({ object: z.literal(object), id: z.string() })
}

/** The response to a change. */
export function changed<Name extends string>(object: Name) {
  return refTo(object).meta({ id: `Changed${pascalCase(object)}` })
}

export function deleted<Name extends string>(object: Name) {
  return refTo(object)
    .extend({ deleted: z.literal(true) })
    .meta({ id: `Deleted${pascalCase(object)}` })
}

/** The response to a send. */
export const SentEmail = z.object({ id: z.string() }).meta({ id: 'SentEmail' })

function plural(name: string): string {
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`
}

function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
