/** Blank html is no part of a message: mail clients would show it in place of the text. */
export function isBlankHtml(html: string): boolean {
  return !/\S/.test(html)
}
