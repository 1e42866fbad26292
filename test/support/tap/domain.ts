import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

type OnError = (error: unknown, event: string) => void

const storage = new AsyncLocalStorage<Domain>()
let root: Domain | undefined

/**
 * The interface of async-hook-domain that tap uses: an uncaught error is passed to the test that caused it. A test is an
 * AsyncResource and creates its domain inside of itself.
 */
export class Domain {
  readonly onerror: OnError
  readonly outer: Domain | undefined = storage.getStore() ?? root
  isDestroyed = false

  constructor(onerror: OnError) {
    this.onerror = onerror
    const test = executionAsyncResource()
    if (test instanceof AsyncResource) this.#follow(test)
    else root ??= this
  }

  destroy(): void {
    this.isDestroyed = true
  }

  /** The innermost domain that still exists: a test may have ended before its error occurs. */
  static find(): Domain | undefined {
    let found = storage.getStore()
    while (found?.isDestroyed) found = found.outer
    return found ?? (root?.isDestroyed ? undefined : root)
  }

  #follow(test: AsyncResource): void {
    const run = test.runInAsyncScope.bind(test)
    test.runInAsyncScope = (act, self, ...args) =>
      run(() => storage.run(this, () => act.apply(self as ThisParameterType<typeof act>, args)))
  }
}

function tell(error: unknown, event: 'uncaughtException' | 'unhandledRejection'): void {
  if (process.listenerCount(event) > 1) return // the test has its own listener
  const domain = Domain.find()
  if (domain) {
    domain.onerror(error, event)
  } else if (root) {
    // After the end of all tests, whose results would be lost if the process ended at once.
    console.error(error)
    process.exitCode = 1
  } else {
    throw error
  }
}

for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, error => tell(error, event))
