import { registerHooks } from 'node:module'

/** The worker process without signatures. No setting disables them: here domains have no keys to sign with. */
const WITHOUT_KEYS = 'export const createDkimKeys = () => async () => []\nexport const dkimContext = () => ""\n'

registerHooks({
  load: (url, context, next) =>
    url.endsWith('/flows/domains/signing_keys.ts')
      ? { format: 'module', source: WITHOUT_KEYS, shortCircuit: true }
      : next(url, context),
})

await import('./worker.ts')
