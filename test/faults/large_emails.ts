import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Child } from '#test/faults/support/child.ts'
import { waitForNone } from '#test/faults/support/deliveries.ts'
import { email } from '#test/faults/support/load.ts'
import { recipient, type SinkProcess, type Stage } from '#test/faults/support/stage.ts'
import type { Report } from './campaign.ts'

export const MEGABYTE = 1024 * 1024

/** A multiple of 3, so that the base64 of the pieces is that of the whole. */
const PIECE = 3 * 64 * 1024
const PATTERN = randomBytes(PIECE)
const SETTLE_MS = 300_000

/** The memory of a process before and at its peak, in bytes. */
export type Memory = { before: number; peak: number }

export type LargeFigures = {
  answers: Record<string, number>
  post_s: number
  send_s: number
  web: Memory
  worker: Memory
}

type Processes = { url: string; web: Child; worker: Child; sink: SinkProcess }

/**
 * Posts emails with files of these sizes at the same moment and waits until all are sent. Differences between the files posted
 * and received are reported.
 */
export async function sendLargeEmails(
  stage: Stage,
  { url, web, worker, sink }: Processes,
  report: Report,
  numbers: number[],
  sizes: number[],
): Promise<LargeFigures> {
  const measures = [web, worker].map(measure)
  const answers: Record<string, number> = {}
  const start = performance.now()
  const posted = numbers.map(n => postUntilAccepted(stage, url, n, sizes, answers))
  const sent = new Map((await Promise.all(posted)).map((files, i) => [recipient('ok', numbers[i] as number), files]))
  const posted_at = performance.now()
  await waitForNone(stage, ['queued', 'sending'], SETTLE_MS)
  const ended_at = performance.now()
  const arrived = new Map(sink.ledger.read().map(({ rcpt, files_sha256 }) => [rcpt, files_sha256]))
  for (const [rcpt, files] of sent) {
    report.expect(
      `${arrived.get(rcpt)}` === `${files}`,
      `to ${rcpt} ${files} were posted, ${arrived.get(rcpt)} arrived`,
    )
  }
  const [of_web, of_worker] = measures.map(end => end()) as [Memory, Memory]
  const seconds = { post_s: round((posted_at - start) / 1_000), send_s: round((ended_at - posted_at) / 1_000) }
  return { answers, ...seconds, web: of_web, worker: of_worker }
}

function measure(child: Child): () => Memory {
  child.forgetPeak()
  const before = child.memory('VmRSS')
  return () => ({ before, peak: child.memory('VmHWM') })
}

/** Returns the hashes of the files. */
async function postUntilAccepted(
  stage: Stage,
  url: string,
  n: number,
  sizes: number[],
  answers: Record<string, number>,
): Promise<string[]> {
  for (;;) {
    const { status, hashes } = await post(stage, url, n, sizes)
    answers[status] = (answers[status] ?? 0) + 1
    if (status === 200) return hashes
    await sleep(500)
  }
}

/** Generates the body piece by piece, so that many of them at once do not fill the memory of this process. */
async function post(stage: Stage, url: string, n: number, sizes: number[]) {
  const hashes: string[] = []
  const [before, after] = JSON.stringify({ ...email(stage, n), attachments: ['?'] }).split('"?"') as [string, string]
  const heads = sizes.map((_, file) => `${file ? ',' : ''}{"filename":"${file}.bin","content":"`)
  async function* body() {
    yield before
    for (const [file, size] of sizes.entries()) {
      yield heads[file] as string
      const hash = createHash('sha256')
      for (const piece of piecesOf(n * sizes.length + file, size)) {
        hash.update(piece)
        yield piece.toString('base64')
      }
      hashes.push(hash.digest('hex'))
      yield '"}'
    }
    yield after
  }
  const length = sizes.reduce((sum, size, file) => sum + (heads[file]?.length ?? 0) + 4 * Math.ceil(size / 3) + 2, 0)
  const headers = {
    authorization: `Bearer ${stage.account.key}`,
    'user-agent': 'load',
    'idempotency-key': `large ${n}`,
    'content-length': String(before.length + length + after.length),
  }
  const answer = await request(`${url}/api/emails`, {
    method: 'POST',
    headers,
    body: Readable.from(body()),
    headersTimeout: 300_000,
  }).catch(error => error as NodeJS.ErrnoException)
  if (answer instanceof Error) return { status: answer.code ?? answer.name, hashes }
  await answer.body.dump()
  return { status: answer.statusCode, hashes }
}

/** Pseudorandom bytes that depend only on the serial number. */
function* piecesOf(serial: number, size: number): Iterable<Buffer> {
  for (let start = 0; start < size; start += PIECE) {
    const piece = Buffer.from(PATTERN.subarray(0, Math.min(PIECE, size - start)))
    piece.writeUInt32LE(serial)
    yield piece
  }
}

const round = (seconds: number): number => Number(seconds.toFixed(1))
