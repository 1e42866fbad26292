import t from 'tap'
import { CampaignPace } from '#flows/delivery/campaign_pace.ts'

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
