import { z } from 'zod'
import { sql } from '#sql/pool.ts'
import { drain, EHLO } from '#test/bench/deliver.ts'
import { familyTime, parentOf, threadTimes } from '#test/bench/support/cpu_time.ts'
import { openStage, type Stage } from '#test/bench/support/stage.ts'
import { startSink } from '#test/faults/support/sink.ts'

const COUNT = 12_000
const STATEMENTS = 25

/** Lists statements inside functions too, since most of the work is done in functions. */
const SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'all',
  'pg_stat_statements.max': '2000',
}

/**
 * CPU time per message while a queue is drained, by process and thread, and the time of each SQL statement. Its figures are
 * larger than those of `deliver`, since the statements are timed. Needs Linux (/proc).
 */
export async function benchCost(): Promise<void> {
  const stage = await openStage(SETTINGS)
  const sink = await startSink({ discard: true, ehlo: EHLO })
  try {
    await stage.pool.pg.query('CREATE EXTENSION pg_stat_statements')
    const web = await stage.spawn('workers/web.ts', { PORT: '4601' })
    const worker = await stage.spawn('test/bench/support/worker.ts', { MAIL_TRANSPORT: sink.url })
    await drain(stage, sink, worker) // a warm-up, not counted
    const { rows } = await stage.pool.pg.query('SELECT pid FROM pg_stat_activity WHERE backend_type = $1', [
      'checkpointer',
    ])
    const postmaster = parentOf(rows[0].pid)
    const look = () => ({
      worker: threadTimes(worker.process.pid as number),
      web: familyTime(web.process.pid as number),
      postgres: familyTime(postmaster),
      sink: process.cpuUsage(),
    })
    let before = look()
    const onFull = async () => {
      await stage.pool.pg.query('SELECT pg_stat_statements_reset()')
      before = look()
    }
    const rate = await drain(stage, sink, worker, { count: COUNT, onFull })
    const after = look()
    const sink_us = after.sink.user + after.sink.system - before.sink.user - before.sink.system
    console.log(`  drained ${rate.toFixed(0)} messages/s; CPU time per message:`)
    for (const thread of ['main', 'pool', 'other'] as const) {
      print(`worker, ${thread} thread${thread === 'main' ? '' : 's'}`, after.worker[thread] - before.worker[thread])
    }
    print('Postgres, all processes', after.postgres - before.postgres)
    print('sink and this bench', sink_us / 1e6)
    print('web', after.web - before.web)
    await printStatements(stage)
  } finally {
    await stage.close()
    await sink.close()
  }
}

function print(name: string, seconds: number): void {
  console.log(`  ${name.padEnd(30)} ${((seconds * 1e6) / COUNT).toFixed(0).padStart(6)} us`)
}

const Statement = z.object({
  query: z.string(),
  toplevel: z.boolean(),
  calls: z.number(),
  ms: z.number(),
  rows: z.number(),
})

/** Prints wall-clock times, which include waits for locks and the disk. */
async function printStatements({ pool }: Stage): Promise<void> {
  const statements = await pool.any(sql.type(Statement)`
    SELECT query, toplevel, calls::float, total_exec_time AS ms, rows::float FROM pg_stat_statements
    ORDER BY total_exec_time DESC LIMIT ${STATEMENTS}
  `)
  console.log('  time in Postgres per message, calls, rows per call (`-`: within a function):')
  for (const { query, toplevel, calls, ms, rows } of statements) {
    const text = query.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim().slice(0, 110)
    const us = ((ms * 1_000) / COUNT).toFixed(1).padStart(7)
    console.log(
      `  ${us} us ${String(calls).padStart(6)} ${(rows / calls).toFixed(1).padStart(6)} ${toplevel ? ' ' : '-'} ${text}`,
    )
  }
}
