import t from 'tap'
import { atOnce } from '#lib/async/time_slice.ts'
import { writeFallbacks } from '#lib/campaigns/write_fallbacks.ts'
import { render } from '#lib/templates/render.ts'

const fallbacks = new Map([
  ['plan', 'free'],
  ['said', 'a "b" \'c\' & <d>'],
  ['odd', '}}'],
  ['seats', '5'],
])

const write = (source: string) => writeFallbacks(source, fallbacks, new Set(['seats']))

const rendered = (source: string) => atOnce(render(source, 'html', key => (key === 'known' ? 'yes' : undefined)))

t.test('a placeholder without a fallback gets the fallback of its variable', async t => {
  t.equal(write('a {{plan}} {{{ plan }}} z'), 'a {{plan|"free"}} {{{plan|"free"}}} z')
  t.equal(rendered(write('{{{said}}} {{plan}}')), 'a "b" \'c\' & <d> free')
})

t.test('the fallback of a variable beats that of a placeholder, and yields to that of a property', async t => {
  t.equal(write('{{plan|mine}} {{seats|1}} {{seats}}'), '{{plan|"free"}} {{seats|"5"}} {{seats}}')
})

t.test('other placeholders stay as they are', async t => {
  for (const source of ['{{seats}}', '{{known}}', '{{odd}}', '{ {plan} }', '']) {
    t.equal(write(source), source)
  }
})
