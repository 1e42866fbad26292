import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'

/**
 * A separate process that follows the links in a file, a path per line, at a fixed rate, whether or not earlier requests have
 * responses. Prints how many there were by status, and response times in ms: percentiles after a warm-up, and how many took more
 * than 50 ms.
 */
const { LOAD_PORT = '', LOAD_FILE = '', LOAD_MS = '1000', LOAD_RATE = '1000', LOAD_WARM_MS = '0' } = process.env
const USER_AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

const agent = new Agent({ keepAlive: true })
const paths = (await readFile(LOAD_FILE, 'utf8')).split('\n')
const statuses: Record<string, number> = {}
const times: number[] = []

function click(path: string): Promise<void> {
  const asked_at = performance.now()
  const count = (status: number | string) => {
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  return new Promise(resolve => {
    request({ agent, port: Number(LOAD_PORT), path, headers: { 'user-agent': USER_AGENT } }, response => {
      if (asked_at - began > Number(LOAD_WARM_MS)) times.push(performance.now() - asked_at)
      count(response.statusCode as number)
      response.resume().once('close', resolve)
    })
      .once('error', (error: NodeJS.ErrnoException) => {
        count(error.code ?? error.message)
        resolve()
      })
      .end()
  })
}

const began = performance.now()
const clicks: Promise<void>[] = []
const total = (Number(LOAD_RATE) * Number(LOAD_MS)) / 1_000
await new Promise<void>(resolve => {
  const timer = setInterval(() => {
    const due = Math.min(total, ((performance.now() - began) * Number(LOAD_RATE)) / 1_000)
    while (clicks.length < due) clicks.push(click(paths[clicks.length % paths.length] as string))
    if (clicks.length < total) return
    clearInterval(timer)
    resolve()
  }, 5)
})
await Promise.all(clicks)
agent.destroy()
times.sort((a, b) => a - b)
const at = (part: number) => Math.round(10 * (times[Math.floor((times.length - 1) * part)] as number)) / 10
console.log(
  JSON.stringify({
    statuses,
    p50: at(0.5),
    p99: at(0.99),
    p999: at(0.999),
    max: at(1),
    over_50: times.filter(ms => ms > 50).length,
  }),
)
