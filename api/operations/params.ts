import { numericId, uuid } from './ids.ts'

/** A parameter of a path. If `read` returns null, the response is a 404 that names `resource`. */
export type Param<Value = unknown> = {
  resource: string
  read: (text: string) => Value | null
  description: string
}

export function param<Value>(resource: string, read: Param<Value>['read'], description: string): Param<Value> {
  return { resource, read, description }
}

export function uuidParam(resource: string): Param<string> {
  return param(resource, uuid, `Id of the ${resource.toLowerCase()}.`)
}

export function numericParam(resource: string): Param<string> {
  return param(resource, numericId, `Id of the ${resource.toLowerCase()}: digits.`)
}
