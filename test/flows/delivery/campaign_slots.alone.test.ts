import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CampaignSlots } from '#flows/delivery/campaign_pace.ts'
import { waitUntil } from '#test/support/wait_until.ts'

t.test('CampaignSlots measures how busy the event loop is', async t => {
  await sleep(1) // nothing is measured before the event loop has started
  let now = 0
  const slots = new CampaignSlots(80, () => now)
  slots.noteOtherMail()
  const until = performance.now() + 50
  while (performance.now() < until);
  now = 250
  t.equal(slots.count(), 40)
  await waitUntil(() => {
    now += 250
    slots.noteOtherMail()
    return slots.count() > 40
  }, 'an idle event loop has more slots again')
})
