import { z } from 'zod'
import type { Bytes } from '#api/operations/answers.ts'
import type { Operation, PossibleError } from '#api/operations/operation.ts'
import type { Components } from './components.ts'
import { errorsOf } from './errors.ts'
import { type Examples, examplesOf } from './examples.ts'
import { answerSchema, type JsonSchema } from './json_schema.ts'

/** Describes the responses of an operation, by status. */
export function responsesOf(components: Components, one: Operation): JsonSchema {
  const { answers: examples = {} } = examplesOf(one.id)
  const answers = Object.entries(one.answers).map(([status, answer]) => [
    status,
    describeAnswer(components, answer, examples[status], one.file),
  ])
  const errors = Array.from(
    Map.groupBy(errorsOf(one), error => String(error.status)),
    ([status, errors]) => [status, describeErrors(components, status, errors, examples[status])],
  )
  return Object.fromEntries([...answers, ...errors].filter(([, response]) => response !== null))
}

/** Returns the schema of a response without its strictness, so that clients accept fields that later versions add. */
export function publishedAnswer(components: Components, schema: z.ZodType): JsonSchema {
  const text = JSON.stringify(answerSchema(schema), (key, value) =>
    key === 'additionalProperties' && !value ? undefined : value,
  )
  return components.add(JSON.parse(text))
}

/** Describes a body of JSON with its examples. */
export function jsonOf(schema: JsonSchema, examples: Examples | undefined): JsonSchema {
  return { 'application/json': { schema, ...(examples ? { examples } : {}) } }
}

function describeAnswer(
  components: Components,
  answer: z.ZodType | Bytes,
  examples: Examples | undefined,
  file: Bytes | undefined,
): JsonSchema | null {
  if (answer instanceof z.ZodNever) return null
  if (answer instanceof z.ZodType) {
    const content = { ...jsonOf(publishedAnswer(components, answer), examples), ...(file ? bytesOf(file) : {}) }
    return { description: 'Success', content }
  }
  return { description: answer.description, content: bytesOf(answer) }
}

function bytesOf({ content_type }: Bytes): JsonSchema {
  return { [content_type]: { schema: { type: 'string', format: 'binary' } } }
}

/** Describes the errors of one status. Operations with the same errors share a response, unless it has examples. */
function describeErrors(
  components: Components,
  status: string,
  errors: PossibleError[],
  examples: Examples | undefined,
): JsonSchema {
  const names = [...new Set(errors.map(({ name }) => name))]
  const content = jsonOf({ $ref: '#/components/schemas/Error' }, examples)
  const response = { description: names.join(', '), 'x-error-names': names, content }
  return examples ? response : components.addResponse([status, ...names].join('-'), response)
}
