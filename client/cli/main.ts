#!/usr/bin/env node
import module from 'node:module'

// A program that reads only the first lines of the output, such as `head`, closes the pipe.
process.stdout.on('error', error => {
  if ((error as { code?: string }).code === 'EPIPE') process.exit(0)
  console.error(`The output could not be written: ${error.message}`)
  process.exit(1)
})
// Caches compiled code for the next start, in the directory of temporary files. Node 20 cannot do that.
module.enableCompileCache?.()
const { run } = await import('./run.ts')
// An empty variable counts as not set: CI systems set the variables of missing secrets to an empty text.
const environment = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''))
process.exitCode = await run(process.argv.slice(2), environment)
