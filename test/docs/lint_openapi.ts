import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDocument } from '#api/openapi/document.ts'
import { resources } from '#api/routes/index.ts'
import { ROOT } from '#test/support/root.ts'

// Lints the description of the API (redocly.yaml); part of `npm run check`.

const directory = mkdtempSync(join(tmpdir(), 'mailbrook-openapi-'))
const path = join(directory, 'openapi.json')
writeFileSync(path, JSON.stringify(createDocument(resources, 'http://localhost:3000'), null, 2))
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
const command = [
  join(ROOT, 'node_modules/@redocly/cli/bin/cli.js'),
  'lint',
  path,
  '--config',
  join(ROOT, 'redocly.yaml'),
]
const { status, stderr, stdout } = spawnSync(process.execPath, command, { env, encoding: 'utf8' })
rmSync(directory, { recursive: true })
if (status !== 0) {
  console.error(stdout + stderr)
  process.exitCode = 1
}
