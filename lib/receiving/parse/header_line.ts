import type { Line } from './mailparser_types.ts'

/** Longest header line that is parsed, since parsing takes a second per megabyte. A thousand recipients are much shorter. */
const MAX_LINE = 256 * 1024

/** Quoted strings, comments, addresses in brackets, domain literals, the marks between entries, and other text. */
const TOKENS =
  /"[^"\\]*(?:\\.[^"\\]*)*"?|\((?:[^()@<>]|\([^()@<>]*\))*\)|\([^)]*\)?|<[^>]*>?|\[[^\],;]*\]?|[:;,]|[^"(<[:;,]+/gs

/**
 * A comment with comments in it (RFC 5322 3.2.2), which mailparser would end at the first parenthesis. It has no address: DMARC is
 * checked by mailauth, which ends it there as well, so the rest must not be an address for mailauth alone.
 */
const NESTED = /^\((?:[^()@<>]*\([^()@<>]*\))+[^()@<>]*\)$/

/** Returns a header field as mailparser reads it best. */
export function prepareLine({ key, line }: Line): Line {
  const part = line.slice(0, MAX_LINE)
  return { key, line: key === 'subject' || key === 'content-id' ? part : flattenGroups(part) }
}

/**
 * Rewrites the groups of an address field, such as `Team: a@x.com, b@x.com;` (RFC 5322 3.4), as a plain list of their members:
 * mailparser would end a group at any semicolon, even at one in a quoted name or in a comment.
 */
function flattenGroups(line: string): string {
  const start = line.indexOf(':') + 1
  let list = line.slice(0, start)
  let entry = ''
  for (const [token] of line.slice(start).matchAll(TOKENS)) {
    // What precedes a colon is the name of a group.
    if (token === ':') entry = ''
    else if (token === ',' || token === ';') {
      list += `${entry},`
      entry = ''
    } else entry += NESTED.test(token) ? flattenComment(token) : token
  }
  return list + entry
}

function flattenComment(comment: string): string {
  return `(${comment.slice(1, -1).replaceAll('(', '[').replaceAll(')', ']')})`
}
