import type { ErrorName } from '#lib/errors.ts'

/** Why a step cannot be taken, now or later: it fails its run. */
export class StepError extends Error {
  constructor(name: ErrorName, message: string) {
    super(`${name}: ${message}`)
  }
}
