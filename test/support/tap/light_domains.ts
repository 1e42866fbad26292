import { registerHooks } from 'node:module'

/**
 * To be imported before the tests (package.json): tap gets `domain.ts` in place of async-hook-domain, with which each
 * promise of a process takes several times as long.
 */
const hooks = registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'async-hook-domain') return next(specifier, context)
    hooks.deregister() // for the rest of what is imported there is nothing to do
    return { url: new URL('./domain.ts', import.meta.url).href, format: 'module-typescript', shortCircuit: true }
  },
})
