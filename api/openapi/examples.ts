import examples from './examples.json' with { type: 'json' }

/** Examples of one body in the form of OpenAPI, by names that are made from their summaries. */
export type Examples = Record<string, { summary: string; value: unknown }>

/** Examples of an operation: of its request, and of its responses by status. */
export type OperationExamples = { request?: Examples; answers?: Record<string, Examples> }

const byId: Record<string, OperationExamples | undefined> = examples

/** Returns the examples of an operation. They come from docs/examples.md: `npm run docs` writes examples.json. */
export function examplesOf(operation_id: string): OperationExamples {
  return byId[operation_id] ?? {}
}
