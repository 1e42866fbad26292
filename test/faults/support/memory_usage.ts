import type { Child } from './child.ts'

/** In bytes. `rss` is the resident memory of the process; Node keeps account of the others. */
export type MemoryUsage = NodeJS.MemoryUsage

/** The environment of a process that reports its memory. */
export const TELLS_MEMORY = { NODE_OPTIONS: `--import=${import.meta.url}?told` }

export async function askMemory(child: Child): Promise<MemoryUsage> {
  const known = child.lines.findLastIndex(line => PATTERN.test(line))
  child.lines.splice(known, known < 0 ? 0 : 1)
  child.kill('SIGUSR2')
  return JSON.parse((await child.says(PATTERN)).replace(PATTERN, ''))
}

const PATTERN = /^memory: /

if (import.meta.url.endsWith('?told')) {
  process.on('SIGUSR2', () => console.log(`memory: ${JSON.stringify(process.memoryUsage())}`))
}
