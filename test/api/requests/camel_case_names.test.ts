import t from 'tap'
import type { z } from 'zod'
import { operations } from '#api/routes/index.ts'
import { twinOf } from '#lib/json/camel_case_twins.ts'

type Def = {
  type: string
  shape?: Record<string, z.ZodType>
  in?: z.ZodType
  out?: z.ZodType
  innerType?: z.ZodType
  element?: z.ZodType
  valueType?: z.ZodType
  options?: z.ZodType[]
}

for (const { id, body } of operations.filter(({ body }) => body)) {
  t.test(`the body of ${id} accepts camelCase names at every depth`, async t => {
    t.strictSame([...withoutTwins(body?.schema as z.ZodType, 'body')], [])
    if (body?.form) t.strictSame([...withoutTwins(body.form, 'form')], [])
  })
}

/**
 * Yields the path of each member of an object whose camelCase name is not accepted.
 *
 * @param before transforms that a value goes through before it comes to the schema
 */
function* withoutTwins(schema: z.ZodType, path: string, before: z.ZodType[] = []): Generator<string> {
  const def = schema._zod.def as unknown as Def
  for (const [name, member] of Object.entries(def.shape ?? {})) {
    if (twinOf(name) !== name && !isRenamed(name, before)) yield `${path}.${name}`
    yield* withoutTwins(member, `${path}.${name}`)
  }
  if (def.type === 'pipe' && isTransform(def.in)) yield* withoutTwins(def.out as z.ZodType, path, [...before, def.in])
  else if (def.in) yield* withoutTwins(def.in, path, before)
  for (const inner of [def.innerType, ...(def.options ?? [])]) if (inner) yield* withoutTwins(inner, path, before)
  for (const item of [def.element, def.valueType]) if (item) yield* withoutTwins(item, `${path}[]`)
}

function isTransform(schema: z.ZodType | undefined): schema is z.ZodType {
  return schema?._zod.def.type === 'transform'
}

function isRenamed(name: string, before: z.ZodType[]): boolean {
  return before.some(transform => {
    const { success, data } = transform.safeParse({ [twinOf(name)]: 5 })
    return success && (data as Record<string, unknown>)[name] === 5
  })
}
