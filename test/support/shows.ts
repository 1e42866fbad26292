import type { Test } from 'tap'

/**
 * Asserts that a value shows what is expected: the members that an object names, exactly the items of a list (or its
 * `length`), exact strings, text that fits a regular expression, and anything of a class such as `Date` or `String`.
 * `t.match` takes a list for the beginning of another, and a string for a part of another.
 */
export function shows(t: Pick<Test, 'strictSame'>, found: unknown, expected: unknown, message = 'shows it'): boolean {
  return t.strictSame(pick(found, expected), expected, message)
}

/** Returns of `found` what `expected` asks about. */
function pick(found: unknown, expected: unknown): unknown {
  if (expected instanceof RegExp) return typeof found === 'string' && expected.test(found) ? expected : found
  if (typeof expected === 'function') return isOf(found, expected) ? expected : found
  if (Array.isArray(expected)) return Array.isArray(found) ? found.map((item, n) => pick(item, expected[n])) : found
  if (!isPlain(expected) || typeof found !== 'object' || found === null) return found
  if (Array.isArray(found) && !('length' in expected)) return found
  const members = Object.keys(expected).map(name => [name, pick((found as Members)[name], expected[name])])
  return Object.fromEntries(members)
}

function isOf(found: unknown, kind: { name: string }): boolean {
  return typeof found === kind.name.toLowerCase() || Object(found).constructor === kind
}

type Members = Record<string, unknown>

function isPlain(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
