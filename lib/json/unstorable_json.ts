/** Deepest nesting of a request's JSON: an object with plain values only has one level. */
export const MAX_DEPTH = 100

const MAX_PATH = 200

type Fault = { path: string; reason: string }

/**
 * Returns why parsed JSON cannot be stored, with its path (`tags[0].value contains a NUL character`), or null. Postgres rejects
 * NUL and lone surrogates in text, and one such row would fail the statement that it shares with other callers.
 */
export function findUnstorable(value: unknown, maxDepth: number = MAX_DEPTH): string | null {
  const fault = findFault(value, maxDepth, maxDepth)
  if (!fault) return null
  const path = fault.path.replace(/^\./, '')
  // Clipping may split a character, and half of one could not be stored either.
  return `${path.length > MAX_PATH ? `${path.slice(0, MAX_PATH).toWellFormed()}…` : path || 'body'} ${fault.reason}`
}

// Builds the path on the way out, so that valid values cost nothing.
function findFault(value: unknown, levels: number, maxDepth: number): Fault | null {
  if (typeof value === 'string') return faultOf(value, '')
  if (typeof value !== 'object' || value === null) return null
  if (levels === 0) return { path: '', reason: `is nested deeper than ${maxDepth} levels` }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const fault = findFault(value[i], levels - 1, maxDepth)
      if (fault) return { path: `[${i}]${fault.path}`, reason: fault.reason }
    }
    return null
  }
  for (const key of Object.keys(value)) {
    const unnamed = faultOf(key, 'has a key that ')
    if (unnamed) return unnamed
    const fault = findFault((value as Record<string, unknown>)[key], levels - 1, maxDepth)
    if (fault) return { path: `.${key}${fault.path}`, reason: fault.reason }
  }
  return null
}

function faultOf(text: string, prefix: string): Fault | null {
  if (text.includes('\u0000')) return { path: '', reason: `${prefix}contains a NUL character` }
  if (!text.isWellFormed()) return { path: '', reason: `${prefix}contains a lone surrogate` }
  return null
}

/** Replaces the characters that Postgres rejects, in text that did not come from us. */
export function makeStorable(text: string): string {
  return text.replaceAll('\u0000', '\ufffd').toWellFormed()
}
