import { Resend } from 'resend'

/** Members of its prototypes that its types declare private. */
const PRIVATE =
  /\.(buildCreateFormData|buildColumnMap|appendField|performCreate|forwardPassthrough|forwardWrapped|downloadRaw)$/

/** `works`, or the error, of each call of a method: `404 not_found`. */
export type Outcomes = Map<string, Set<string>>

// biome-ignore lint/suspicious/noExplicitAny: any part of the package
type Anything = any

/** Lists the methods of the package's resources: `contacts.imports.create`. */
export function listMethods(resend: Resend): string[] {
  const visit = (part: Anything, path: string): string[] => {
    const within = Object.entries(part).filter(([, value]) => isResource(value))
    const own = Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter(name => name !== 'constructor')
    return [
      ...(path ? own.map(name => path + name).filter(name => !PRIVATE.test(name)) : []),
      ...within.flatMap(([name, value]) => visit(value, `${path}${name}.`)),
    ]
  }
  return visit(resend, '').sort()
}

/** A resource has the client within it. */
function isResource(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as Anything).resend instanceof Resend
}

/** The same package, with the outcome of each call recorded. */
export function recordCalls(resend: Resend): { resend: Resend; outcomes: Outcomes } {
  const outcomes: Outcomes = new Map()
  const note = (path: string, result: Anything) => {
    const { error = null } = result ?? {}
    const outcome = error === null ? 'works' : `${error.statusCode} ${error.name}`
    outcomes.set(path, (outcomes.get(path) ?? new Set()).add(outcome))
    return result
  }
  const wrap = (part: Anything, path: string): Anything =>
    new Proxy(part, {
      get(_, name: string) {
        const value = part[name]
        if (isResource(value)) return wrap(value, `${path}${name}.`)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          const result = value.apply(part, args)
          if (typeof result?.then !== 'function') return note(path + name, { data: result })
          return result.then((answer: unknown) => note(path + name, answer))
        }
      },
    })
  return { resend: wrap(resend, ''), outcomes }
}
