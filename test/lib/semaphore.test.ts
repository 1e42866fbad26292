import t from 'tap'
import { Semaphore } from '../../lib/semaphore.ts'

t.test('so many hold it, and others wait in line', async t => {
  const semaphore = new Semaphore(2)
  const order: number[] = []
  const hold = async (number: number) => {
    await semaphore.acquire()
    order.push(number)
  }
  const all = Promise.all([hold(1), hold(2), hold(3), hold(4)])
  await new Promise(setImmediate)
  t.strictSame(order, [1, 2])
  semaphore.release()
  semaphore.release()
  await all
  t.strictSame(order, [1, 2, 3, 4])
  semaphore.release()
  await hold(5)
  t.strictSame(order, [1, 2, 3, 4, 5])
})
