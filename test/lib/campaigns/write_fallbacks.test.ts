import t from 'tap'
import { writeFallbacks } from '#lib/campaigns/write_fallbacks.ts'
import { render } from '#lib/templates/render.ts'

const fallbacks = new Map([
  ['plan', 'free'],
  ['said', 'a "b" \'c\' & <d>'],
  ['odd', '}}'],
  ['seats', '5'],
])

const write = (source: string) => writeFallbacks(source, fallbacks, new Set(['seats']))

function rendered(source: string): string {
  const steps = render(source, 'html', key => (key === 'known' ? 'yes' : undefined))
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

t.test('a placeholder without a fallback gets that of its variable', async t => {
  t.equal(write('a {{plan}} {{{ plan }}} z'), 'a {{plan|"free"}} {{{plan|"free"}}} z')
  t.equal(rendered(write('{{{said}}} {{plan}}')), 'a "b" \'c\' & <d> free')
})

t.test('a fallback of a variable comes before that of a placeholder, and after that of a property', async t => {
  t.equal(write('{{plan|mine}} {{seats|1}} {{seats}}'), '{{plan|"free"}} {{seats|"5"}} {{seats}}')
})

t.test('other placeholders stay as they are', async t => {
  for (const source of ['{{seats}}', '{{known}}', '{{odd}}', '{ {plan} }', '']) {
    t.equal(write(source), source)
  }
})
