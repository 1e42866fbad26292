import { readdirSync, readFileSync } from 'node:fs'
import { type ProcessStat, parseProcessStat } from '#test/support/process_stat.ts'

/** CPU time of a process in seconds by kind of thread: the `main` thread, the `pool` of libuv, and `other` ones such as V8's. */
export function threadTimes(pid: number): Record<'main' | 'pool' | 'other', number> {
  const times = { main: 0, pool: 0, other: 0 }
  for (const thread of listDirectory(`/proc/${pid}/task`)) {
    const stat = readStat(`/proc/${pid}/task/${thread}/stat`)
    if (!stat) continue
    const name = Number(thread) === pid ? 'main' : stat.name.startsWith('libuv-worker') ? 'pool' : 'other'
    times[name] += stat.seconds
  }
  return times
}

/** CPU time in seconds of a process and its child processes. */
export function familyTime(pid: number): number {
  let seconds = 0
  for (const id of listDirectory('/proc').filter(name => /^\d+$/.test(name))) {
    const stat = readStat(`/proc/${id}/stat`)
    if (stat && (Number(id) === pid || stat.parent === pid)) seconds += stat.seconds
  }
  return seconds
}

export function parentOf(pid: number): number {
  const stat = readStat(`/proc/${pid}/stat`)
  if (!stat) throw new Error(`The process ${pid} has ended.`)
  return stat.parent
}

/** Null if it has ended. */
function readStat(path: string): ProcessStat | null {
  try {
    return parseProcessStat(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}

function listDirectory(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
