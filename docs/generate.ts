import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateFiles } from './generate/files.ts'

// Writes the documentation that follows from the code: `npm run docs`.

for (const [path, text] of Object.entries(generateFiles())) writeFileSync(join(import.meta.dirname, '..', path), text)
