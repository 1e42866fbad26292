import { randomUUID } from 'node:crypto'
import { report } from '#test/bench/support/stage.ts'
import { askLoopDelay, type LoopDelay, TELLS_LOOP_DELAY } from '#test/faults/event_loop.ts'
import { type HeavyBody, heavyBodies } from '#test/faults/heavy_bodies.ts'
import { Postgres } from '#test/faults/support/postgres.ts'
import { openStage, type Stage } from '#test/faults/support/stage.ts'

const GOAL_MS = 50
/** Runs of each kind; another run before them compiles the code. */
const TIMES = 3

/** How long one body of each kind blocks the event loop of a web process, by the CPU time of its longest turn. */
export async function benchBodies(): Promise<void> {
  const postgres = await Postgres.create()
  const stage = await openStage(postgres.url)
  const web = await stage.startWeb({ LOG_LEVEL: 'info', ...TELLS_LOOP_DELAY })
  try {
    const bodies = heavyBodies(stage.account.domain)
    for (const body of bodies.slice(0, 2)) await post(stage, web.url, body)
    const most = { max_cpu: 0, kind: '' }
    for (const body of bodies) {
      const { delay, answers } = await measure(stage, web, body)
      report(
        body.kind,
        `${delay.max_cpu} ms CPU, ${delay.max} ms late (${answers})`,
        `< ${GOAL_MS} ms`,
        delay.max_cpu < GOAL_MS,
      )
      if (delay.max_cpu > most.max_cpu) Object.assign(most, { max_cpu: delay.max_cpu, kind: body.kind })
    }
    report('worst body', `${most.max_cpu} ms of ${most.kind}`, `< ${GOAL_MS} ms`, most.max_cpu < GOAL_MS)
  } finally {
    await stage.close()
    await postgres.close()
  }
}

type Web = Awaited<ReturnType<Stage['startWeb']>>

/** The minimum of several times: work of the process that happens now and then, such as garbage collection, is excluded. */
async function measure(stage: Stage, web: Web, body: HeavyBody): Promise<{ delay: LoopDelay; answers: string }> {
  const answers = new Set<string>()
  let least: LoopDelay | undefined
  for (let time = 0; time < TIMES; time++) {
    await askLoopDelay(web.child)
    answers.add(await post(stage, web.url, body))
    const delay = await askLoopDelay(web.child)
    if (!least || delay.max_cpu < least.max_cpu) least = delay
  }
  return { delay: least as LoopDelay, answers: [...answers].join() }
}

async function post(stage: Stage, url: string, { path, method = 'POST', text, key }: HeavyBody): Promise<string> {
  const response = await fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${stage.account.key}`,
      'content-type': 'application/json',
      ...(key ? { 'idempotency-key': randomUUID() } : {}),
    },
    body: text(),
  })
  const { name = '' } = (await response.json()) as { name?: string }
  return `${response.status} ${name}`.trim()
}
