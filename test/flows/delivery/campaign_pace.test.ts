import t from 'tap'
import { CampaignPace, CampaignSlots } from '#flows/delivery/campaign_pace.ts'

t.test('CampaignPace holds two seconds of campaign mail, and at least its minimum', async t => {
  let now = 0
  const pace = new CampaignPace(125, () => now)
  t.equal(pace.room(), 125)
  for (let n = 0; n < 125; n++) pace.take()
  t.equal(pace.room(), 0)

  for (let n = 0; n < 100; n++) pace.leave()
  now = 500 // a rate of 101 in half a second must not count before the window ends
  pace.leave()
  t.equal(pace.room(), 125 - 24)
  now = 1_000
  for (let n = 0; n < 24; n++) pace.leave()
  t.equal(pace.room(), 204, 'twice the 102 of the first second')
})

t.test('CampaignSlots leaves campaign mail an eighth of the slots while a busy process has other mail', async t => {
  let [now, utilization] = [0, 1]
  const slots = new CampaignSlots(
    80,
    () => now,
    () => utilization,
  )
  const counts = (times: number) =>
    Array.from({ length: times }, () => {
      now += 250
      return slots.count()
    })
  t.strictSame(counts(2), [80, 80], 'without other mail')
  slots.noteOtherMail()
  t.equal(slots.count(), 80, 'it is decided four times a second')
  t.strictSame(counts(4), [40, 20, 10, 10])
  utilization = 0.6
  t.strictSame(counts(2), [20, 30], 'a process that is not busy')
  utilization = 1
  t.strictSame(counts(2), [15, 10])
  now += 5_000
  t.equal(slots.count(), 20, 'no other mail for five seconds')
})
