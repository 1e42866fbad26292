import { Resource } from '#client/source/calls/resource.ts'
import type { Mailbrook } from '#client/source/mailbrook.ts'

type Anything = (...args: unknown[]) => unknown
/** The source of a bound method does not contain its parameters. */
type Method = { method: Anything; unbound: Anything }

/** Methods that do not correspond to a single operation. */
const WRITTEN_BY_HAND = ['emails.waitFor', 'webhooks.verify']

/** All methods of a client that correspond to an operation, by name: `contacts.imports.create`. */
export function listMethods(client: Mailbrook): Map<string, Method> {
  const methods = new Map<string, Method>()
  visit(client, '', methods)
  for (const name of WRITTEN_BY_HAND) methods.delete(name)
  return methods
}

function visit(resource: Resource, path: string, methods: Map<string, Method>): void {
  for (const [name, value] of Object.entries(resource)) {
    if (value instanceof Resource) visit(value, `${path}${name}.`, methods)
  }
  for (const name of namesOf(resource)) {
    const method = Reflect.get(resource, name)
    if (path) methods.set(path + name, { method: method.bind(resource), unbound: method })
  }
}

/** The names of public methods, including those of classes up to Resource. */
function namesOf(resource: Resource): string[] {
  const names: string[] = []
  for (let kind = Object.getPrototypeOf(resource); kind !== Resource.prototype; kind = Object.getPrototypeOf(kind))
    names.push(...Object.getOwnPropertyNames(kind).filter(name => name !== 'constructor'))
  return names
}

/** Arguments for a method, by the names of its parameters: `ID` for ids, and empty objects. */
export function argumentsFor(method: Anything): unknown[] {
  const [, names = ''] = /^[\w]+\(([^)]*)\)/.exec(method.toString()) ?? []
  return names
    .split(',')
    .map(name => name.trim().split(/\W/)[0] ?? '')
    .filter(name => name !== 'options' && name !== '')
    .map(name => (['body', 'query'].includes(name) ? {} : 'ID'))
}
