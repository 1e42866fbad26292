import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** Asks for text on the terminal without showing it. */
export async function askSecret(question: string, signal: AbortSignal): Promise<string> {
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: unseen, terminal: true })
  process.stderr.write(question)
  try {
    return await lines.question('', { signal })
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
