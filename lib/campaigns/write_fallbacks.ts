import { placeholders } from '#lib/templates/placeholders.ts'

/** Maximum characters of a fallback in a placeholder, without its quotes. */
const MAX_FALLBACK = 1_998

/**
 * Writes fallback values of variables into their placeholders: `{{plan}}` becomes `{{plan|"free"}}`. A fallback that a placeholder
 * has is replaced. A placeholder without one is left as it is if its key is a property with a fallback. Values
 * with braces cannot be written this way and are left out.
 *
 * @param properties keys of properties with a fallback value
 */
export function writeFallbacks(
  source: string,
  fallbacks: ReadonlyMap<string, string>,
  properties: ReadonlySet<string>,
): string {
  const pieces: string[] = []
  let end = 0
  for (const found of placeholders(source)) {
    if (!found || (found.fallback === undefined && properties.has(found.key))) continue
    const value = fallbacks.get(found.key)
    if (value === undefined || value.length > MAX_FALLBACK || /[{}]/.test(value)) continue
    const braces = found.is_raw ? 3 : 2
    pieces.push(source.slice(end, found.start), '{'.repeat(braces), found.key, `|"${value}"`, '}'.repeat(braces))
    end = found.next
  }
  return pieces.join('') + source.slice(end)
}
