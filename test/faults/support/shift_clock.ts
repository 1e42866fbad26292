// Loaded before anything else (node --import), it makes a process believe in another time of day, CLOCK_SHIFT_MS ahead of
// this machine's. Timers and performance.now() go on as they are: they do not know the time of day.
const shift = Number(process.env.CLOCK_SHIFT_MS)
const { now } = Date
const shifted = () => now() + shift

globalThis.Date = new Proxy(Date, {
  construct: (target, given, asked) => Reflect.construct(target, given.length > 0 ? given : [shifted()], asked),
  apply: () => new Date().toString(),
  get: (target, name, receiver) => (name === 'now' ? shifted : Reflect.get(target, name, receiver)),
})
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shift })
