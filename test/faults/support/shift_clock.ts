// Preloaded (node --import), it shifts the time of day of a process CLOCK_SHIFT_MS ahead of this machine's. Timers and
// performance.now() are not affected, since they do not depend on the time of day.
const shift = Number(process.env.CLOCK_SHIFT_MS)
const { now } = Date
const shifted = () => now() + shift

globalThis.Date = new Proxy(Date, {
  construct: (target, given, asked) => Reflect.construct(target, given.length > 0 ? given : [shifted()], asked),
  apply: () => new Date().toString(),
  get: (target, name, receiver) => (name === 'now' ? shifted : Reflect.get(target, name, receiver)),
})
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shift })
