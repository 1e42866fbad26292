import t from 'tap'
import type { Automation } from '#sql/automations/definitions/automation_records.ts'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import type { Wire } from '#web/request/wire.ts'
import { startWorker } from '#workers/worker.ts'

const dashboard = await openDashboard(t)
const { world, account, api } = dashboard
let worker: Awaited<ReturnType<typeof startWorker>> | undefined
t.teardown(() => worker?.stop())
const page = await dashboard.signIn('owner')

type Window = { getComputedStyle(element: unknown): { color: string } }
const colorOf = (element: unknown) => (globalThis as unknown as Window).getComputedStyle(element).color

t.test('a CSV file is imported, and failed records are listed', async t => {
  await page.goto('/imports')
  const csv = 'Address,Tariff\nanna@y.com,gold\nno address,x\nANNA@y.com,red\nbob@y.com,x\n'
  await page.setInputFiles('#file', { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
  await page.selectOption('#audience_id', account.domain_id)
  await page.click('button:text("Import")')
  t.match(await page.textContent('[role=alert] p'), /^The header must have a column `email`/)
  await page.setInputFiles('#file', { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
  await page.fill('#column_email', 'Address')
  await page.fill('#columns', 'plan = Tariff')
  t.ok(await page.isChecked('#create_properties'))
  await page.click('button:text("Import")')
  await page.waitForSelector('.heading .badge:text("queued")')
  const plain = await page.request.get(page.url(), { headers: { accept: 'text/html' } })
  t.match(await plain.text(), '<noscript><meta http-equiv="refresh"', 'the page reloads itself without scripts')
  worker = await startWorker(world)
  await page.waitForSelector('.heading .badge:text("completed")')
  t.strictSame(await page.locator('tbody tr').allInnerTexts(), [
    '3\tno address\t✕ failed\t`Address` must be an address such as ann@acme.com.',
    '4\tANNA@y.com\t! skipped\tThe address is on line 2 already.',
  ])
  const file = await page.request.get((await page.getAttribute('a:text("Download all as CSV")', 'href')) as string)
  t.match(file.headers()['content-disposition'], /^attachment/)
  t.equal((await file.text()).trim().split('\n').length, 3)
  t.strictSame(await findAccessibilityFaults(page), [])
  await page.goto('/contacts')
  await page.click('a:text("anna@y.com")')
  t.match(await page.textContent('.facts'), /plan\s*gold/)
})

t.test('a template is edited beside its preview, tested and published', async t => {
  const sent = {
    name: 'Welcome',
    from: `Acme <hello@${account.domain}>`,
    subject: 'Hello {{name}}',
    html: '<p>Old</p>',
  }
  const { body } = await api.request('POST', '/api/templates', { body: sent })
  await page.goto(`/templates/${body.id}`)
  const preview = page.frameLocator('iframe[name=preview]')
  await preview.locator('p:text("Old")').waitFor()
  await page.fill(
    '#html',
    '<h1 style="color: red">Hi {{name}}</h1><script>top.pwned = 1</script><img src="https://evil.com/x">',
  )
  await preview.locator('h1:text("Hi name")').waitFor()
  await page.fill('#value_name', 'Anna')
  await preview.locator('h1:text("Hi Anna")').waitFor()
  t.equal(await preview.locator('h1').evaluate(colorOf), 'rgb(255, 0, 0)')
  await page.fill('#to', 'me@y.com')
  await page.click('button:text("Save and send a test")')
  await page.waitForSelector('text=Test email to me@y.com queued.')
  await page.goto('/emails')
  await page.waitForSelector('td:text("Hello Anna")')
  await page.goto(`/templates/${body.id}`)
  await page.fill('#fallback_name', 'friend')
  await page.click('button:text("Save variables")')
  await page.waitForSelector('text=Variables saved.')
  await page.click('button:text("Publish")')
  await page.waitForSelector('text=Template published.')
  await page.waitForSelector('.heading .badge:text("published")')
  t.match(await page.textContent('.facts'), /Unpublished changes\s*no/)
  t.equal(await page.inputValue('#fallback_name'), 'friend')
  t.equal(await page.evaluate('globalThis.pwned'), undefined)
})

t.test('a segment is built from conditions, and shows how many contacts it has', async t => {
  await page.goto('/segments')
  await page.fill('#name', 'Gold')
  await page.selectOption('#domain', account.domain)
  await page.selectOption('#field', { label: 'Property plan' })
  await page.fill('#value', 'gold')
  await page.selectOption('#rules_1_field', { label: 'Created' })
  await page.selectOption('#rules_1_operator', 'within_days')
  await page.fill('#rules_1_value', 'ten')
  await page.click('button:text("Create")')
  t.match(await page.textContent('[role=alert] p'), /^`rules\.and\[1\]\.value` must be/)
  await page.click('[role=alert] a')
  await page.waitForSelector('#rules_1_value:focus')
  t.equal(await page.inputValue('#rules_1_value'), 'ten', 'the form keeps what was typed')
  t.strictSame(await findAccessibilityFaults(page), [])
  await page.fill('#rules_1_value', '10')
  await page.click('button:text("Create")')
  await page.waitForSelector('text=Segment created.')
  await page.waitForSelector('dd:text-is("1")')
  await page.waitForSelector('th a:text("anna@y.com")')
  await page.click('a:text("Edit")')
  await page.selectOption('#join', 'or')
  await page.click('button:text("Save")')
  await page.waitForSelector('text=Segment saved.')
  await page.waitForSelector('dd:text-is("2")')
  await page.click('summary:text("Delete")')
  await page.click('details[open] button:text("Delete")')
  await page.waitForSelector('text=Segment deleted.')
})

t.test('a topic is created, changed and deleted', async t => {
  await page.goto('/topics')
  await page.fill('#name', 'News')
  await page.selectOption('#default_subscription', 'opt_out')
  await page.selectOption('#domain', account.domain)
  await page.click('button:text("Create")')
  await page.waitForSelector('text=Topic created.')
  const created = { default_subscription: 'opt_out', domain_id: account.domain_id }
  const list = await api.request('GET', '/api/topics')
  shows(t, list.body.data, [{ ...created, name: 'News', description: null, visibility: 'public' }])
  await page.click('th a:text("News")')
  await page.waitForSelector('h1:text-is("News")')
  await page.fill('#name', 'Offers')
  await page.fill('#description', 'Once a month')
  await page.selectOption('#visibility', 'private')
  await page.click('button:text("Save")')
  await page.waitForSelector('text=Topic saved.')
  t.strictSame(await findAccessibilityFaults(page), [])
  const changed = await api.request('GET', '/api/topics')
  const values = { name: 'Offers', description: 'Once a month', visibility: 'private' }
  shows(t, changed.body.data, [{ ...created, ...values }])
  await page.click('summary:text("Delete")')
  await page.click('details[open] button:text("Delete")')
  await page.waitForSelector('text=Topic deleted.')
  shows(t, (await api.request('GET', '/api/topics')).body.data, [])
})

t.test('a draft is edited beside its preview', async t => {
  const from = `Acme <news@${account.domain}>`
  const { body: contact } = await api.request('POST', '/api/contacts', {
    body: { email: 'dora@y.com', domain: account.domain, first_name: 'Dora' },
  })
  await page.goto('/campaigns')
  await page.fill('#name', 'April')
  await page.fill('#from', from)
  await page.click('button:text("Create draft")')
  t.match(await page.textContent('[role=alert] p'), 'Missing `subject`')
  await page.fill('#subject', 'Hello {{first_name|friend}}')
  await page.selectOption('#audience_id', account.domain_id)
  await page.click('button:text("Create draft")')
  await page.waitForSelector('text=Draft created.')
  const preview = page.frameLocator('iframe[name=preview]')
  await preview.locator('text=The campaign has no content').waitFor()
  await page.fill('#html', '<h1>April for {{first_name|friend}}</h1>')
  await preview.locator('h1:text("April for friend")').waitFor()
  await page.fill('#preview_for', 'dora@y.com')
  await preview.locator('h1:text("April for Dora")').waitFor()
  t.match(await preview.locator('body').innerText(), /^Subject: Hello Dora/)
  t.match(await preview.locator('body').innerText(), /Unsubscribe/, 'the footer is shown')
  await page.click('button:text("Preview plain text")')
  await preview.locator('pre:text("April for Dora")').waitFor()
  t.strictSame(await findAccessibilityFaults(page), [])
  await page.fill('#from', 'news@not-ours.com')
  await page.click('button:text-is("Save")')
  t.match(await page.textContent('[role=alert] p'), 'not-ours.com')
  t.equal(await page.inputValue('#html'), '<h1>April for {{first_name|friend}}</h1>', 'typed text is kept')
  await page.fill('#from', from)
  await page.fill('#reply_to', 'Help <help@y.com>, info@y.com')
  await page.check('#no_text')
  await page.click('button:text-is("Save")')
  await page.waitForSelector('text=Draft saved.')
  const path = `/api/campaigns/${page.url().split('/').at(-1)}`
  const saved = {
    ...{ name: 'April', from, subject: 'Hello {{first_name|friend}}', preview_text: null, text: '' },
    ...{ reply_to: ['Help <help@y.com>', 'info@y.com'], html: '<h1>April for {{first_name|friend}}</h1>' },
    ...{ audience_id: account.domain_id, segment_id: null, topic_id: null, template_id: null },
  }
  shows(t, (await api.request('GET', path)).body, saved)
  await page.goto(page.url())
  await page.click('button:text-is("Save")')
  await page.waitForSelector('text=Draft saved.')
  shows(t, (await api.request('GET', path)).body, saved, 'saving an unchanged form changes nothing')
  const plain = { ab_test: null, recurrence: null, recurrence_every: null, timezone: 'UTC', poll: null }
  shows(t, (await api.request('GET', path)).body, plain)
  await api.request('DELETE', path)
  await api.request('DELETE', `/api/contacts/${contact.id}`)
})

t.test('a draft gets an A/B test, a recurrence and a poll', async t => {
  const body = { from: `Acme <news@${account.domain}>`, subject: 'May', html: '<p>Hello</p>' }
  const { body: draft } = await api.request('POST', '/api/campaigns', { body })
  await page.goto(`/campaigns/${draft.id}`)
  const isShown = (n: number) => page.isVisible(`#variants_${n}_subject`)
  t.strictSame([await isShown(0), await isShown(1)], [false, false])
  await page.selectOption('#variants', '3')
  t.strictSame([await isShown(0), await isShown(2), await isShown(3)], [true, true, false])
  const preview = page.frameLocator('iframe[name=preview]')
  await page.fill('#variants_1_subject', 'June')
  await preview.locator('text=Subject: June').waitFor()
  await page.fill('#variants_2_html', '<h1>Hi</h1>')
  await preview.locator('h1:text("Hi")').waitFor()
  await page.fill('#variants_2_from', 'Acme <news@other.com>')
  await page.fill('#test_percentage', '30')
  await page.selectOption('#winner_metric', 'click_rate')
  await page.click('summary:text("Time, tracking and poll")')
  await page.selectOption('#recurrence', 'weekly')
  await page.fill('#recurrence_every', '2')
  await page.selectOption('#timezone', 'Europe/Berlin')
  await page.check('#send_in_local_time')
  await page.selectOption('#track_opens', 'false')
  await page.fill('#poll_question', 'Did you like it?')
  await page.fill('#poll_options', 'Yes\nNo')
  t.strictSame(await findAccessibilityFaults(page), [])
  await page.click('button:text-is("Save")')
  const link = page.locator('[role=alert] a')
  t.equal(await link.innerText(), '`ab_test.variants[2].from` must be at the domain of `from`.')
  t.equal(await link.getAttribute('href'), '#variants_2_from')
  await page.fill('#variants_2_from', `Other <other@${account.domain}>`)
  await page.click('button:text-is("Save")')
  await page.waitForSelector('text=Draft saved.')
  const inherited = { subject: null, preview_text: null, from: null, html: null, text: null }
  const saved = {
    ab_test: {
      ...{ enabled: true, test_percentage: 30, winner_metric: 'click_rate', wait_hours: 4 },
      variants: [
        { ...inherited, key: 'A' },
        { ...inherited, key: 'B', subject: 'June' },
        { ...inherited, key: 'C', from: `Other <other@${account.domain}>`, html: '<h1>Hi</h1>' },
      ],
    },
    ...{ recurrence: 'weekly', recurrence_every: 2, timezone: 'Europe/Berlin', send_in_local_time: true },
    ...{ skip_if_mailed_within_hours: null, exclude_unengaged_days: null, track_opens: false, track_clicks: null },
    poll: {
      question: 'Did you like it?',
      options: [
        { key: 'yes', label: 'Yes' },
        { key: 'no', label: 'No' },
      ],
    },
  }
  const path = `/api/campaigns/${draft.id}`
  shows(t, (await api.request('GET', path)).body, saved)
  await page.goto(`/campaigns/${draft.id}`)
  await page.click('button:text-is("Save")')
  await page.waitForSelector('text=Draft saved.')
  shows(t, (await api.request('GET', path)).body, saved, 'saving an unchanged form changes nothing')

  await page.fill('#subject', 'Not saved')
  const questions: string[] = []
  page.once('dialog', async dialog => {
    questions.push(dialog.message())
    await dialog.dismiss()
  })
  await page.fill('#expected_recipients', '0')
  await page.click('button:text("Send campaign")')
  await waitUntil(() => questions.length > 0, 'the browser asks')
  t.strictSame(questions, ['Your changes on this page are not saved. Go on without them?'])
  t.equal(await page.inputValue('#subject'), 'Not saved')
  await page.selectOption('#variants', '')
  await page.click('button:text-is("Save")')
  await page.waitForSelector('h1:text("Not saved")')
  shows(t, (await api.request('GET', path)).body, { ab_test: null, subject: 'Not saved', recurrence: 'weekly' })
  await api.request('DELETE', path)
})

t.test('a campaign is checked, tested and sent, and has a report', async t => {
  await api.request('POST', '/api/contacts', { body: { email: 'cleo@y.com', domain: account.domain } })
  await api.request('POST', '/api/suppressions', { body: { email: 'cleo@y.com' } })
  const variants = [{ subject: 'Red' }, { subject: 'Blue' }]
  const { body } = await api.request('POST', '/api/campaigns', {
    body: {
      ...{ from: `Acme <news@${account.domain}>`, subject: 'March', html: '<a href="https://acme.com/">Shop</a>' },
      ...{ audience_id: account.domain_id, track_clicks: true, ab_test: { test_percentage: 100, variants } },
    },
  })
  await page.goto(`/campaigns/${body.id}`)
  const checks = page.locator('.checks li')
  t.strictSame(await checks.allInnerTexts(), [
    '✓ pass Recipients: 2 of 3 contacts would receive it now.',
    '✓ pass Unsubscribe link: Not in the content: a footer with the link will be added.',
    `✓ pass Domain: ${account.domain} ✓ verified`,
    '✕ missing Test: No test email sent yet.',
  ])
  t.strictSame(await findAccessibilityFaults(page), [])
  await page.fill('#to', 'me@y.com')
  await page.click('button:text("Save and send a test")')
  await page.waitForSelector('text=Test email queued.')
  t.match(await checks.last().innerText(), /^✓ pass Test: Sent to me@y.com/)
  await page.fill('#expected_recipients', '2')
  await page.click('button:text("Send campaign")')
  await page.waitForSelector('h2:text("Delivery")')
  const isDelivered = async () => {
    await page.reload()
    return (await page.locator('.bars li').first().innerText()).trim() === 'delivered: 2'
  }
  await waitUntil(isDelivered, 'both recipients have it')
  t.strictSame(await page.locator('main h2').allInnerTexts(), [
    'Delivery',
    'Engagement',
    'A/B test',
    'Links',
    'Activity',
    'Content',
  ])
  await page.locator('details:has(caption:text("Delivery to 3 recipients")) summary').click()
  t.match(await page.textContent('table:has(caption:text("Delivery to 3 recipients"))'), /delivered266.7%/)
  t.strictSame(await findAccessibilityFaults(page), [])
  await page.click('a:text("excluded recipients")')
  await page.waitForSelector('h1:text("Recipients of March")')
  const rows = page.locator('tbody tr')
  t.strictSame(await rows.allInnerTexts(), ['cleo@y.com\t! excluded\tsuppressed\t\tnot yet'])
  t.strictSame(await findAccessibilityFaults(page), [])
  await page.selectOption('#filter-type', '')
  await page.selectOption('#filter-state', 'mailed')
  await page.click('button:text("Filter")')
  await page.waitForSelector('th a:text("anna@y.com")')
  t.strictSame((await page.locator('tbody th').allInnerTexts()).sort(), ['anna@y.com', 'bob@y.com'])
})

t.test('an automation is built, changed and connected by forms, without scripts', async t => {
  const storageState = await page.context().storageState()
  const plain = await dashboard.open({ javaScriptEnabled: false, storageState })
  const follow = (name: string) => plain.getByRole('link', { name, exact: true }).click()
  const add = async (link: string, type: string, fields: Record<string, string>) => {
    await follow(`Add a step after ${link}`)
    await plain.selectOption('#new-type', type)
    await plain.click('button:text("Continue")')
    for (const [name, value] of Object.entries(fields)) await plain.fill(`#${name}`, value)
    await plain.click('button:text("Add step")')
  }
  await plain.goto('/automations')
  await plain.fill('#name', 'Welcome')
  await plain.fill('#trigger', 'signed.up')
  await plain.click('button:text("Create")')
  await add('trigger', 'condition', { key: 'gold', field: 'plan', value: '5' })
  t.match(await plain.textContent('[role=alert] a[href="#field"]'), /^Step `gold`: `config.field` must be /)
  t.strictSame([await plain.inputValue('#key'), await plain.inputValue('#value')], ['gold', '5'])
  await plain.fill('#field', 'event.plan')
  await plain.click('button:text("Add step")')
  await add('gold, condition met', 'delay', { key: 'wait', duration: '1 day' })
  await add('gold, condition not met', 'contact_update', { key: 'name', first_name: 'Ann' })

  await follow('Edit gold')
  await plain.fill('#rules_1_field', 'contact.first_name')
  await plain.fill('#rules_1_value', '"5"')
  await plain.click('button:text("Save")')
  await plain.selectOption('#source', 'wait default')
  await plain.selectOption('#to', 'gold')
  await plain.click('button:text("Connect")')
  t.match(await plain.textContent('[role=alert]'), 'leads back to `gold`: steps cannot form a loop.')
  t.equal(await plain.inputValue('#source'), 'wait default')
  await plain.selectOption('#to', 'name')
  await plain.click('button:text("Connect")')
  await plain.click('tr:has-text("condition not met") button:text("Remove")')
  await plain.waitForSelector('text=Connection removed.')
  const read = async () => {
    const { text } = await api.request('GET', `/api${new URL(plain.url()).pathname}`)
    return JSON.parse(text) as Wire<Automation>
  }
  const { steps, connections } = await read()
  t.strictSame(steps[1]?.config, {
    type: 'and',
    rules: [
      { type: 'rule', field: 'event.plan', operator: 'eq', value: 5 },
      { type: 'rule', field: 'contact.first_name', operator: 'eq', value: '5' },
    ],
  })
  t.strictSame(connections, [
    { from: 'trigger', to: 'gold', type: 'default' },
    { from: 'gold', to: 'wait', type: 'condition_met' },
    { from: 'wait', to: 'name', type: 'default' },
  ])
  await follow('Edit wait')
  await plain.click('summary:text("Delete")')
  await plain.click('button:text("Delete")')
  t.match(await plain.textContent('.notice'), 'Step deleted.')
  t.strictSame(
    (await read()).steps.map(({ key }) => key),
    ['trigger', 'gold', 'name'],
  )
})

t.test('an operator pauses and resumes sending of an account', async t => {
  t.equal((await page.goto('/operator'))?.status(), 404, 'nobody else sees the page')
  await world.pool.pg.query('UPDATE members SET is_operator = true')
  await page.goto('/operator')
  await page.fill('#account', account.id)
  await page.fill('#reason', 'Too many complaints')
  await page.click('button:text("Pause sending")')
  await page.waitForSelector('td:text("Too many complaints")')
  await page.goto('/')
  t.match(
    await page.textContent('section:has(h2:text("Needs attention")) li'),
    /paused for this account by operator: Too many/,
  )
  await page.goto('/operator')
  await page.click('button:text("Resume")')
  await page.waitForSelector('text=No accounts or domains are paused.')
})

t.test('an operator makes and changes a plan, and puts an account on it', async t => {
  await page.goto('/operator')
  await page.click('a:text("New plan")')
  await page.fill('#name', 'gold')
  await page.fill('#emails_per_day', 'many')
  await page.click('button:text("Save plan")')
  t.match(await page.textContent('[role=alert] a'), /^`emails_per_day` must be a whole number/)
  t.strictSame([await page.inputValue('#name'), await page.inputValue('#emails_per_day')], ['gold', 'many'])
  await page.fill('#emails_per_day', '500')
  await page.click('button:text("Save plan")')
  await page.click('a:text-is("gold")')
  t.equal(await page.inputValue('#emails_per_day'), '500')
  await page.fill('#domains', '7')
  await page.click('button:text("Save plan")')
  await page.click(`tr:has(code:text("${account.id}")) a`)
  await page.selectOption('#plan', 'gold')
  await page.click('button:text("Change plan")')
  await page.waitForSelector('text=Plan changed to gold.')
  const { rows } = await world.pool.pg.query(
    'SELECT p.emails_per_day, p.emails_per_month, p.domains FROM accounts a JOIN plans p ON p.name = a.plan WHERE a.id = $1',
    [account.id],
  )
  t.strictSame(rows, [{ emails_per_day: 500, emails_per_month: null, domains: 7 }])
  await page.goto('/audit-log')
  const entries = (await page.locator('tbody tr').allInnerTexts()).slice(0, 3).join('\n')
  t.match(entries, /account update.*plan set.*plan set/s)
  await world.pool.pg.query('UPDATE members SET is_operator = false')
  for (const path of ['/operator/plan', `/operator/accounts/${account.id}`]) {
    t.equal((await page.goto(path))?.status(), 404, path)
  }
})

t.test('pages blocked nothing but the script and image of the email', async t => {
  const blocked = /^Blocked script|^Loading the image 'https:\/\/evil|^a request to https:\/\/evil/
  t.strictSame(
    dashboard.faults.filter(fault => !blocked.test(fault)),
    [],
  )
})
