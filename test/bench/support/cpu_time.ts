import { readdirSync, readFileSync } from 'node:fs'

/** Kernel clock ticks per second (USER_HZ), the same on every Linux. */
const TICKS = 100

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

type Stat = { name: string; parent: number; seconds: number }

/** Reads proc_pid_stat(5). Null if the process has ended. */
function readStat(path: string): Stat | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return null
  }
  const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ') // from the third field on
  return { name, parent: Number(fields[1]), seconds: (Number(fields[11]) + Number(fields[12])) / TICKS }
}

function listDirectory(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
