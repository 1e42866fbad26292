import type { Test } from 'tap'
import type { Foundation } from '#flows/process/run_process.ts'
import { createPool, type Pool } from '#sql/pool.ts'

/**
 * A statement, also one inside a function. `discarded`: the most rows that a step of its plan compared or read in vain;
 * `scanned`: the most rows that it read of a table without an index; `passed`: the most rows that a step passed on.
 */
type PlannedStatement = { text: string; discarded: number; scanned: number; passed: number }

type Step = {
  'Node Type': string
  'Actual Loops': number
  'Actual Rows': number
  'Rows Removed by Join Filter'?: number
  'Rows Removed by Filter'?: number
  Plans?: Step[]
}

const SETTINGS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
}

/** Opens a pool of at most `max` connections that records how many rows the plan of each statement discards (auto_explain). */
export async function openPlannedPool(
  t: Test,
  { pool, config }: Foundation,
  max?: number,
): Promise<{ pool: Pool; statements: PlannedStatement[] }> {
  const { rows } = await pool.pg.query('SELECT current_database() AS name')
  for (const [name, value] of Object.entries(SETTINGS)) {
    await pool.pg.query(`ALTER DATABASE ${rows[0].name} SET ${name} = '${value}'`)
  }
  const statements: PlannedStatement[] = []
  const planned = createPool(config.DATABASE_URL as string, max === undefined ? {} : { max })
  t.teardown(() => planned.end())
  planned.pg.on('connect', client =>
    client.on('notice', ({ message = '' }) => {
      if (!message.startsWith('duration: ')) return
      const { Plan, 'Query Text': text } = JSON.parse(message.slice(message.indexOf('{')))
      statements.push({
        text,
        discarded: mostOf(Plan, discardedBy),
        scanned: mostOf(Plan, scannedBy),
        passed: mostOf(Plan, step => step['Actual Rows']),
      })
    }),
  )
  return { pool: planned, statements }
}

function mostOf(step: Step, rowsOf: (step: Step) => number): number {
  // Postgres tells of the rows per loop.
  return Math.max(rowsOf(step) * step['Actual Loops'], ...(step.Plans ?? []).map(plan => mostOf(plan, rowsOf)))
}

function discardedBy(step: Step): number {
  return (step['Rows Removed by Join Filter'] ?? 0) + (step['Rows Removed by Filter'] ?? 0)
}

function scannedBy(step: Step): number {
  return step['Node Type'] === 'Seq Scan' ? step['Actual Rows'] + discardedBy(step) : 0
}
