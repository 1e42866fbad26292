import t from 'tap'
import { CampaignSlots } from '#flows/delivery/campaign_pace.ts'

t.test('CampaignSlots measures how busy the event loop is', async t => {
  const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
  await sleep(1) // nothing is measured before the event loop has started
  let now = 0
  const slots = new CampaignSlots(80, () => now)
  slots.noteOtherMail()
  const until = performance.now() + 50
  while (performance.now() < until);
  now = 250
  t.equal(slots.count(), 40)
  await sleep(200)
  now = 500
  t.equal(slots.count(), 50)
})
