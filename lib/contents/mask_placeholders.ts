import type { Placeholder } from '#lib/templates/placeholders.ts'

const MASK = '\uE000'

/**
 * Replaces placeholders with as many characters without a meaning in HTML, so that a quote in a fallback does not end an
 * attribute.
 */
export function maskPlaceholders(html: string, slots: Placeholder[]): string {
  const pieces: string[] = []
  let end = 0
  for (const { start, next } of slots) {
    pieces.push(html.slice(end, start), MASK.repeat(next - start))
    end = next
  }
  return pieces.join('') + html.slice(end)
}
