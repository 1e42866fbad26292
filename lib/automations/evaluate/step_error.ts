import type { ErrorName } from '#lib/errors.ts'

/** The reason why a step cannot be taken. Thrown, it fails the run; in a `refused` answer the step is retried first. */
export class StepError extends Error {
  constructor(name: ErrorName, message: string) {
    super(`${name}: ${message}`)
  }
}
