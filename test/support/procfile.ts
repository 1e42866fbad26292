import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './root.ts'

/** The environment of a process of the Procfile, with its V8 options as NODE_OPTIONS. */
export function environmentOfProcess(name: 'web' | 'worker' | 'smtp'): Record<string, string> {
  const lines = readFileSync(join(ROOT, 'Procfile'), 'utf8').split('\n')
  const words = lines.find(line => line.startsWith(`${name}: `))?.split(' ') ?? []
  const variables = words.flatMap(word => [...word.matchAll(/^([A-Z_]+)=(.+)$/g)].map(([, key, value]) => [key, value]))
  const options = words.filter(word => /^--max-/.test(word))
  return { ...Object.fromEntries(variables), ...(options.length > 0 ? { NODE_OPTIONS: options.join(' ') } : {}) }
}
