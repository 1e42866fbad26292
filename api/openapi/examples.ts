import examples from './examples.json' with { type: 'json' }

/** Examples of one body by names that are made of their summaries, as OpenAPI has them. */
export type Examples = Record<string, { summary: string; value: unknown }>

/** Examples of an operation: of its request, and of its answers by their status. */
export type OperationExamples = { request?: Examples; answers?: Record<string, Examples> }

const byId: Record<string, OperationExamples | undefined> = examples

/** Returns the examples of an operation: those of docs/examples.md, from which `npm run docs` writes examples.json. */
export function examplesOf(operation_id: string): OperationExamples {
  return byId[operation_id] ?? {}
}
