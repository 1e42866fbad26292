import { sections } from './variables.ts'

const WIDTH = 110

/** Generates .env.example: every variable with its description, and its default if it has one. */
export function envExample(): string {
  const entries = sections.flatMap(({ title, variables }) => [
    `# --- ${title} ---`,
    ...variables.map(({ name, description, value, unset }) => {
      const words = unset === null ? description : `${description} Default: ${unset}.`
      return `${commentOf(words.replaceAll('`', ''))}\n#${name}=${value}`
    }),
  ])
  const head =
    '# Written by `npm run docs`. Copy to .env and load it with your process manager; npm start reads the environment only.'
  return `${[head, ...entries].join('\n\n')}\n`
}

function commentOf(text: string): string {
  const lines = ['#']
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`
    if (line.length <= WIDTH) lines[lines.length - 1] = line
    else lines.push(`# ${word}`)
  }
  return lines.join('\n')
}
