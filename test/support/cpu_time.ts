/** Milliseconds of CPU time that this process spends during `work`. Unlike elapsed time, other processes do not lengthen it. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
