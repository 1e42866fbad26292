import { apiExamples } from './api_examples.ts'
import { apiPage } from './api_page.ts'
import { clientCommands } from './client/client_commands.ts'
import { clientResources } from './client/client_resources.ts'
import { clientTypes } from './client/client_types.ts'
import { clientVersion } from './client/client_version.ts'
import { configurationPage } from './configuration.ts'
import { envExample } from './env_example.ts'
import { errorsPage } from './errors/errors_page.ts'
import { apiCalls } from './samples/api_calls.ts'

/** Generates the files that `npm run docs` writes, by path relative to package.json. */
export function generateFiles(): Record<string, string> {
  return {
    'docs/configuration.md': configurationPage(),
    'docs/api.md': apiPage(),
    'docs/generated/api_calls.json': apiCalls(),
    'docs/errors.md': errorsPage(),
    '.env.example': envExample(),
    'api/openapi/examples.json': apiExamples(),
    'client/cli/generated/operations.ts': clientCommands(),
    'client/source/generated/resources.ts': clientResources(),
    'client/source/generated/types.ts': clientTypes(),
    'client/source/generated/version.ts': clientVersion(),
  }
}
