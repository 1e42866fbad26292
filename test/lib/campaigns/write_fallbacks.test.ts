import t from 'tap'
import { writeFallbacks } from '#lib/campaigns/write_fallbacks.ts'
import { render } from '#lib/templates/render.ts'

const fallbacks = new Map([
  ['plan', 'free'],
  ['said', 'a "b" \'c\' & <d>'],
  ['odd', '}}'],
])

function rendered(source: string): string {
  const steps = render(source, 'html', key => (key === 'known' ? 'yes' : undefined))
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

t.test('a placeholder without a fallback gets that of its variable', async t => {
  t.equal(writeFallbacks('a {{plan}} {{{ plan }}} z', fallbacks), 'a {{plan|"free"}} {{{plan|"free"}}} z')
  t.equal(rendered(writeFallbacks('{{{said}}} {{plan}}', fallbacks)), 'a "b" \'c\' & <d> free')
})

t.test('other placeholders stay as they are', async t => {
  for (const source of ['{{plan|mine}}', '{{known}}', '{{odd}}', '{ {plan} }', '']) {
    t.equal(writeFallbacks(source, fallbacks), source)
  }
})
