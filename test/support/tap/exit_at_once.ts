/**
 * Ends a test process as soon as all its exit handlers have run. Node 24 may otherwise wait for ever, with a core in full use,
 * for a request that never ends: node::Environment::CleanupHandles, of which process.exit() has no need.
 */
function exitAtOnce(): void {
  process.exit() // with the process.exitCode that the other handlers have set
}

// The last of the handlers, after those of tap.
process.on('beforeExit', () => {
  process.off('exit', exitAtOnce)
  process.on('exit', exitAtOnce)
})
