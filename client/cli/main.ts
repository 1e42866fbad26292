#!/usr/bin/env node
import module from 'node:module'

// A program that reads only the first lines of what is printed closes the pipe.
process.stdout.on('error', error => {
  if ((error as { code?: string }).code === 'EPIPE') process.exit(0)
  throw error
})
// The next start reads what this one compiled, from the directory of temporary files. Node 20 does not have it.
module.enableCompileCache?.()
const { run } = await import('./run.ts')
process.exitCode = await run(process.argv.slice(2), process.env)
