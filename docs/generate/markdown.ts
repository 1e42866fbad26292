/** Returns a table in GitHub's Markdown. Cells are Markdown; `|` is escaped, and line breaks become spaces. */
export function table(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.map(cellOf).join(' | ')} |`)
  return lines.map(line => line.replaceAll('|  |', '| |')).join('\n')
}

function cellOf(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')
}

/** Comment in generated pages, for people who open one to edit it. */
export const GENERATED = '<!-- Written by `npm run docs`: edit the sources, not this file. -->'

/** Returns the anchor that GitHub makes for a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}
