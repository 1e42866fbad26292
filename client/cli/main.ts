#!/usr/bin/env node
import { run } from './run.ts'

// A program that reads only the first lines of what is printed closes the pipe.
process.stdout.on('error', error => {
  if ((error as { code?: string }).code === 'EPIPE') process.exit(0)
  throw error
})
process.exitCode = await run(process.argv.slice(2), process.env)
