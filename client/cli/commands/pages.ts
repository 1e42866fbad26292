import { once } from 'node:events'
import { reasonOf } from '../../source/calls/read_response.ts'
import { serverAddress } from '../../source/calls/url.ts'
import { MailbrookError } from '../../source/error.ts'
import type { Call, Command } from '../command.ts'
import { cliError } from '../errors.ts'

export const pageCommands: Command[] = [
  {
    words: ['open'],
    summary: 'Open a page of the server in the browser',
    description: 'Without a terminal, prints the address of the page instead.',
    operands: [{ name: 'page', description: 'Page such as `emails`. Default: the first page.', isOptional: true }],
    options: [],
    examples: ['mailbrook open', 'mailbrook open emails'],
    run: async call => openPage(call, urlOf(call.address(), call.operands[0] ?? '')),
  },
  {
    words: ['docs'],
    summary: 'Open the docs in the browser, or print a page of them',
    description: 'Without a terminal, prints the page as Markdown instead, for programs and agents.',
    operands: [
      {
        name: 'page',
        description: 'Page such as `sending` or `api/emails`. Default: the list of pages.',
        isOptional: true,
      },
    ],
    options: [{ name: 'print', type: 'flag', description: 'Print the page as Markdown, even on a terminal.' }],
    examples: ['mailbrook docs', 'mailbrook docs api/emails --print'],
    run: readDocs,
  },
]

function urlOf(address: string, page: string): string {
  const url = new URL(`/${page.replace(/^\/+/, '')}`, serverAddress(address))
  if (url.origin !== new URL(address).origin) throw cliError('The page must be a path on the server.')
  return url.href
}

async function readDocs(call: Call): Promise<void> {
  const { operands, values, output, signal } = call
  const page = operands[0] ?? ''
  const url = urlOf(call.address(), `docs/${page}`)
  if (canOpen(call) && !values.print) return openPage(call, url)
  const address = page === '' ? urlOf(call.address(), 'llms.txt') : `${url}.md`
  const response = await fetch(address, { signal }).catch(error => {
    throw new MailbrookError(0, 'network_error', `The request failed: ${reasonOf(error)}`, { cause: error })
  })
  if (response.status >= 500)
    throw new MailbrookError(response.status, 'unexpected_response', `The server failed (status ${response.status}).`)
  if (!response.ok) throw cliError(`There is no page ${JSON.stringify(page)}: \`mailbrook docs\` lists them.`)
  output.text(await response.text())
}

/** True if a person is at the terminal, or BROWSER names the program that opens pages. */
function canOpen({ output, environment }: Call): boolean {
  return output.isTerminal || Boolean(environment.BROWSER)
}

async function openPage(call: Call, url: string): Promise<void> {
  if (!canOpen(call)) return call.output.text(`${url}\n`)
  const [program = '', ...args] = call.environment.BROWSER ? [call.environment.BROWSER] : opener()
  call.output.note(`Opening ${url}`)
  const { spawn } = await import('node:child_process')
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  const error: Error | null = await once(child, 'spawn').then(
    () => null,
    error => error,
  )
  if (error) throw cliError(`No browser could be started: ${error.message}`, error)
  child.unref()
}

/** Returns the command that opens an address in the user's default browser. */
function opener(): string[] {
  if (process.platform === 'darwin') return ['open']
  // `start` reads the first quoted argument as a title.
  return process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
}
