import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { Child } from '#test/faults/support/child.ts'
import type { Cost, Upload } from './upload_server.ts'

export const FILE_BYTES: number = 25 * 1024 * 1024

/** The cost of several concurrent bodies, each with one file, for a process that reads them. */
export type UploadFigures = Cost & { seconds: number; megabytes: number }

/** Starts a process that reads bodies in one of two ways, and sends it such bodies. Throws when a file arrives changed. */
export async function measureUploads(how: 'stream' | 'whole', count: number): Promise<UploadFigures> {
  const server = new Child('test/bench/support/upload_server.ts', { PATH: process.env.PATH ?? '' }, [how])
  try {
    const port = Number((await server.says(/^port \d+$/)).slice('port '.length))
    // Warms up the process: the memory for its first bodies, such as compiled code, is not a cost of a large one.
    for (let i = 0; i < 20; i++) await upload(port, randomBytes(50_000))
    await post<object>(port, '/begin', [])
    const file = randomBytes(FILE_BYTES)
    const start = performance.now()
    await Promise.all(Array.from({ length: count }, () => upload(port, file)))
    const seconds = (performance.now() - start) / 1_000
    const cost = await post<Cost>(port, '/cost', [])
    return { ...cost, seconds, megabytes: (count * FILE_BYTES * 4) / 3 / 1e6 }
  } finally {
    await server.stop()
  }
}

async function upload(port: number, file: Buffer): Promise<void> {
  const before = '{"from":"a@b.com","to":"c@d.com","subject":"Hi","attachments":[{"filename":"x","content":"'
  const { sha256 } = await post<Upload>(port, '/', [before, file.toString('base64'), '"}]}'])
  if (sha256 !== hash('sha256', file)) throw new Error(`the file arrived as ${sha256}`)
}

async function post<Answer>(port: number, path: string, body: string[]): Promise<Answer> {
  const outgoing = request({ port, path, host: '127.0.0.1', method: 'POST' })
  for (const text of body) outgoing.write(text, 'latin1')
  outgoing.end()
  const [response] = await once(outgoing, 'response')
  return JSON.parse(Buffer.concat(await response.toArray()).toString())
}
