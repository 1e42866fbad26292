import { COMMON, type Command } from '../command.ts'
import { flagOf } from '../input/arguments.ts'
import type { Option } from '../operation.ts'

/** Returns the help of one command. */
export function commandHelp({ words, summary, description, operands, options, examples }: Command): string {
  const names = operands.map(({ name, isOptional }) => (isOptional ? `[${name.toUpperCase()}]` : name.toUpperCase()))
  const usage = ['mailbrook', ...words, ...names, '[options]'].join(' ')
  const sections = [
    [`${summary}.`, description].filter(Boolean).join(' '),
    `Usage:\n  ${usage}`,
    section('Examples', examples),
    section('Values', columns(operands.map(({ name, description }) => [name.toUpperCase(), description]))),
    section('Options', columns(options.map(optionRow))),
    section('Common options', columns(COMMON.map(optionRow))),
    'A value such as @FILE is read from that file, and @- from the standard input.',
  ]
  return `${sections.filter(Boolean).join('\n\n')}\n`
}

/** Returns a list of commands: all, or those that begin with these words. */
export function listHelp(commands: Command[], words: string[]): string {
  const usage = ['mailbrook', ...words, 'COMMAND [options]'].join(' ')
  const begun = commands.filter(({ words: own }) => words.every((word, n) => own[n] === word))
  const rows = words.length > 0 ? begun.map(({ words, summary }) => [words.join(' '), summary]) : groupsOf(begun)
  return `Usage:\n  ${usage}\n\n${section('Commands', columns(rows))}\n\n\`mailbrook COMMAND --help\` explains a command.\n`
}

/** Returns a row for each command of one word, and then one for each group of commands. */
function groupsOf(commands: Command[]): string[][] {
  const rows = [...new Set(commands.map(({ words }) => words[0] as string))].map(word => {
    const own = commands.filter(({ words }) => words[0] === word)
    const alone = own.find(({ words }) => words.length === 1)
    const verbs = own.filter(({ words }) => words.length > 1).map(({ words }) => words.slice(1).join(' '))
    return [word, [alone?.summary, verbs.join(', ')].filter(Boolean).join('; ')]
  })
  return rows.toSorted(([, one], [, other]) => Number(one?.includes(', ')) - Number(other?.includes(', ')))
}

function optionRow({ name, type, description, values, short }: Option): string[] {
  const value = {
    string: ' TEXT',
    number: ' NUMBER',
    list: ' TEXT ...',
    json: ' JSON',
    file: ' FILE',
    boolean: '',
    flag: '',
  }[type]
  const flag = type === 'boolean' ? `--[no-]${flagOf(name)}` : `--${flagOf(name)}`
  const known = values ? ` One of ${values.join(', ')}.` : ''
  return [`${short ? `-${short}, ` : ''}${flag}${value}`, `${description.replaceAll('`', '')}${known}`]
}

function section(title: string, lines: string[]): string {
  return lines.length > 0 ? `${title}:\n${lines.map(line => `  ${line}`).join('\n')}` : ''
}

const WIDTH = 100
const WIDEST_NAME = 34

/** Formats rows in two columns. The second column is wrapped. */
function columns(rows: string[][]): string[] {
  const width = Math.min(WIDEST_NAME, Math.max(0, ...rows.map(([name = '']) => name.length)))
  return rows.flatMap(([name = '', text = '']) => {
    const [first = '', ...rest] = wrap(text, WIDTH - width - 4)
    const indent = ' '.repeat(width + 2)
    const head = name.length > width ? [name, indent + first] : [`${name.padEnd(width)}  ${first}`]
    return [...head, ...rest.map(line => indent + line)]
  })
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
