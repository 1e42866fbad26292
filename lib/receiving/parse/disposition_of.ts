import type { Split } from './mailparser_types.ts'

/** A part without a disposition is an attachment, except for a picture to which the text refers. */
export function dispositionOf({ disposition, parentNode, headers }: Split): 'attachment' | 'inline' {
  if (disposition) return disposition === 'inline' ? 'inline' : 'attachment' // RFC 2183 2.8
  return isRelated(parentNode) && headers.hasHeader('Content-ID') ? 'inline' : 'attachment'
}

function isRelated(multipart: Split | false): boolean {
  if (!multipart) return false
  return multipart.contentType === 'multipart/related' || isRelated(multipart.parentNode)
}
