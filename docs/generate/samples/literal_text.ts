export type Style = 'json' | 'code'

const WIDTH = 80

/** Formats a value as JSON or as code. Each part that is short enough is on one line. */
export function literalText(value: unknown, style: Style, indent = ''): string {
  const line = lineOf(value, style)
  if (line.length + indent.length <= WIDTH || typeof value !== 'object' || value === null) return line
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map(one => literalText(one, style, inner))
    : Object.entries(value).map(([name, one]) => `${nameText(name, style)}: ${literalText(one, style, inner)}`)
  const end = style === 'code' ? ',' : ''
  const body = `${inner}${parts.join(`,\n${inner}`)}${end}\n${indent}`
  return Array.isArray(value) ? `[\n${body}]` : `{\n${body}}`
}

function lineOf(value: unknown, style: Style): string {
  if (typeof value === 'string' && style === 'code') return `'${value.replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(one => lineOf(one, style)).join(', ')}]`
  const members = Object.entries(value).map(([name, one]) => `${nameText(name, style)}: ${lineOf(one, style)}`)
  return style === 'code' ? `{ ${members.join(', ')} }` : `{${members.join(', ')}}`
}

function nameText(name: string, style: Style): string {
  return style === 'json' ? JSON.stringify(name) : name
}
