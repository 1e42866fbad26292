import manifest from '#client/package.json' with { type: 'json' }
import { GENERATED_CODE } from './generated_code.ts'

/** Makes the version that the client tells of itself. */
export function clientVersion(): string {
  return `${GENERATED_CODE}\n\nexport const VERSION = '${manifest.version}'\n`
}
