import { registerHooks } from 'node:module'

/**
 * To be imported before the tests (package.json): tap gets `domain.ts` in place of async-hook-domain, with which each
 * promise of a process takes several times as long. Two modules of tap ask for it.
 */
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'async-hook-domain') return next(specifier, context)
    return { url: new URL('./domain.ts', import.meta.url).href, format: 'module-typescript', shortCircuit: true }
  },
})
