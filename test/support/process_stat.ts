/** Kernel clock ticks per second (USER_HZ), the same on every Linux. */
const TICKS = 100

/** `seconds`: CPU time. */
export type ProcessStat = { name: string; parent: number; seconds: number }

/** Reads the text of `/proc/PID/stat`, or of a thread (proc_pid_stat(5)). */
export function parseProcessStat(text: string): ProcessStat {
  const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ') // from the third field on
  return { name, parent: Number(fields[1]), seconds: (Number(fields[11]) + Number(fields[12])) / TICKS }
}
