/** A table of GitHub's Markdown. Cells are Markdown; their `|` are escaped, and line ends become spaces. */
export function table(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.map(cellOf).join(' | ')} |`)
  return lines.map(line => line.replaceAll('|  |', '| |')).join('\n')
}

function cellOf(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')
}

/** Names the script, for those who open a file to edit it. */
export const GENERATED = '<!-- Written by `npm run docs`: edit the sources, not this file. -->'

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}
