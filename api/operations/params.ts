import { type IdShape, numericId, uuid } from './ids.ts'

/** A parameter of a path. `resource` is what was not found if `read` returns null. */
export type Param<Value = unknown> = {
  resource: string
  read: (text: string) => Value | null
  description: string
}

export function uuidParam(resource: string): Param<string> {
  return { resource, read: uuid, description: `Id of the ${resource.toLowerCase()}.` }
}

export function numericParam(resource: string): Param<string> {
  return { resource, read: numericId, description: `Id of the ${resource.toLowerCase()}: digits.` }
}

export function shapedParam(resource: string, read: IdShape, description: string): Param<string> {
  return { resource, read, description }
}
