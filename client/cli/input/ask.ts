import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

type Options = {
  signal: AbortSignal
  input?: NodeJS.ReadableStream
  output?: NodeJS.WritableStream
  /** True if the input is a terminal, although the output is none. */
  terminal?: boolean
}

/** Asks for a line on the terminal. Returns an empty one if the input ends. Ctrl-C ends the command. */
export async function ask(question: string, { signal, ...streams }: Options): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, ...streams })
  // The terminal does not turn Ctrl-C into the signal while a question is open.
  lines.once('SIGINT', () => process.emit('SIGINT'))
  // Without this, the answer would never come, and Node would exit with 13.
  const end = new Promise<string>(resolve => lines.once('close', () => resolve('')))
  try {
    return await Promise.race([lines.question(question, { signal }), end])
  } finally {
    lines.close()
  }
}

/** Asks for text on the terminal without showing it. */
export async function askSecret(question: string, signal: AbortSignal): Promise<string> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  process.stderr.write(question)
  try {
    return await ask('', { signal, output, terminal: true })
  } finally {
    process.stderr.write('\n')
  }
}
