import './exit_at_once.ts'
import { registerHooks } from 'node:module'

/**
 * Imported before the tests (package.json): replaces async-hook-domain by `domain.ts` for two modules of tap, since it makes each
 * promise of a process several times as slow.
 */
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'async-hook-domain') return next(specifier, context)
    return { url: new URL('./domain.ts', import.meta.url).href, format: 'module-typescript', shortCircuit: true }
  },
})
