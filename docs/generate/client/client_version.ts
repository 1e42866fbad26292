import manifest from '#client/package.json' with { type: 'json' }
import { GENERATED_CODE } from './generated_code.ts'

/** Generates the file with the version of the client. */
export function clientVersion(): string {
  return `${GENERATED_CODE}\n\nexport const VERSION = '${manifest.version}'\n`
}
