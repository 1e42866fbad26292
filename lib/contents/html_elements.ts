/** Elements whose content is not shown as text. */
export const HIDDEN = new Set(
  'title style script noscript template iframe object svg math audio video canvas select textarea'.split(' '),
)
/** Elements with a blank line before and after them. */
export const PARAGRAPHS = new Set('p h1 h2 h3 h4 h5 h6 ul ol dl blockquote table pre hr figure'.split(' '))
/** Elements that begin and end on lines of their own. */
export const LINES = new Set(
  `address article aside body caption center dd details dialog div dt fieldset figcaption footer form header html legend
  li main menu nav section summary tbody tfoot thead tr`.split(/\s+/),
)
/** Elements whose end tags most authors leave out. The next element of the same name, or a block, ends them. */
export const CLOSED_BY_NEXT = new Set('p li dt dd tr td th'.split(' '))
export const VOID = new Set('area base br col embed hr img input link meta source track wbr'.split(' '))
const DISPLAY_NONE = /(?:^|;)\s*display\s*:\s*none/i

export function isBlock(name: string): boolean {
  return PARAGRAPHS.has(name) || LINES.has(name)
}

export function isHidden({ hidden, style }: Record<string, string>): boolean {
  return hidden !== undefined || (style !== undefined && DISPLAY_NONE.test(style))
}
