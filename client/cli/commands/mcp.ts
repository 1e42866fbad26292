import { VERSION } from '../../source/generated/version.ts'
import type { Call, Command } from '../command.ts'
import { linesOf } from '../input/lines.ts'

/** JSON-RPC 2.0 reserves the codes from -32000 to -32099 for servers. */
const NO_RESPONSE = -32000
const TIMEOUT_MS = 60_000

export const mcpCommands: Command[] = [
  {
    words: ['mcp'],
    summary: 'Let a program on this machine use the tools of the server with the Model Context Protocol',
    description:
      'Passes messages between the standard input and output and `/mcp` of the server. Programs that speak HTTP can use that address themselves.',
    operands: [],
    options: [],
    examples: ['claude mcp add mailbrook -- mailbrook mcp'],
    run: bridge,
  },
]

/** Messages are lines of JSON, and responses may overtake each other (Model Context Protocol, stdio transport). */
async function bridge({ client, connection, output, signal }: Call): Promise<void> {
  const { apiKey } = connection()
  const { baseUrl } = client()
  const open = new Set<Promise<void>>()
  for await (const line of linesOf(process.stdin, signal)) {
    if (line.trim() === '') continue
    const passed = pass(`${baseUrl}/mcp`, apiKey, line, signal).then(answer => {
      if (answer !== '') output.text(`${answer}\n`)
      open.delete(passed)
    })
    open.add(passed)
  }
  await Promise.all(open)
}

/** Returns the response as one line, or an empty string if there is none. */
async function pass(url: string, apiKey: string, line: string, signal: AbortSignal): Promise<string> {
  const headers = {
    ...{ authorization: `Bearer ${apiKey}`, 'user-agent': `mailbrook/${VERSION}` },
    ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  }
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    const response = await fetch(url, { method: 'POST', headers, body: line, redirect: 'manual', signal: limit })
    const text = await response.text()
    if (response.ok) return text.trim()
    return failure(line, `The server refused the request (status ${response.status}): ${text}`)
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } }
    return failure(line, `The server cannot be reached: ${cause?.code ?? message}`)
  }
}

/** Returns an error response; an empty string for notifications, which get no response. */
function failure(line: string, message: string): string {
  const id = idOf(line)
  return id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, error: { code: NO_RESPONSE, message } })
}

function idOf(line: string): unknown {
  try {
    return JSON.parse(line).id
  } catch {
    return null
  }
}
