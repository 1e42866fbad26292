import { AB_DEFAULTS, type AbTest, MIN_VARIANTS, VARIANT_KEYS } from '#lib/campaigns/ab_test.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, fieldHtml } from '#web/layout/field.ts'
import { hidden } from '#web/layout/form.ts'
import { variantField } from '#web/layout/named_field.ts'
import { contentFields, readHtml, readText } from '#web/pages/mail/content_fields.ts'
import { previewButton } from '#web/pages/mail/content_preview.ts'
import type { Form } from '#web/request/form.ts'
import type { Problem } from '#web/request/visit.ts'

type Variant = AbTest['variants'][number]

const COUNTS = Array.from({ length: VARIANT_KEYS.length - MIN_VARIANTS + 1 }, (_, n) => String(MIN_VARIANTS + n))

/** The fields of an A/B test. `path`: of the campaign. The style sheet hides the fields of more variants than are chosen. */
export function abFields(test: AbTest | null, path: string, problem: Problem | null): Html {
  const { test_percentage, winner_metric, wait_hours } = test ?? AB_DEFAULTS
  const number: Field = {
    ...{ name: 'variants', label: 'A/B test', type: 'select', value: test && String(test.variants.length) },
    options: [['', 'None'], ...COUNTS.map(count => [count, `${count} variants`] as const)],
  }
  const winner: Field[] = [
    {
      ...{ name: 'test_percentage', label: 'Percentage of the recipients in the test', type: 'number' },
      value: String(test_percentage),
      hint: 'The others get the variant that wins. With 100 there is no winner.',
    },
    {
      ...{ name: 'winner_metric', label: 'Winner', type: 'select', value: winner_metric },
      options: [
        ['open_rate', 'highest open rate'],
        ['click_rate', 'highest click rate'],
      ],
    },
    { name: 'wait_hours', label: 'Hours until the winner is chosen', type: 'number', value: String(wait_hours) },
  ]
  const stored = test?.variants ?? []
  const unused = [...VARIANT_KEYS].filter(key => !stored.some(one => one.key === key)).map(key => ({ key }))
  const variants = [...stored, ...unused].slice(0, VARIANT_KEYS.length)
  return html`<div class="variants">${fieldHtml(number, '', problem)}
${variants.map((one, n) => variantFields(n, one, path, problem))}
<fieldset class="winner"><legend>Test</legend>${winner.map(one => fieldHtml(one, '', problem))}</fieldset></div>`
}

type Found = Partial<Variant> & { key: string }

function variantFields(n: number, found: Found, path: string, problem: Problem | null): Html {
  const { key, subject, preview_text, from } = found
  const prefix = variantField(n, '')
  const fields: Field[] = [
    { name: `${prefix}subject`, label: 'Subject', value: subject },
    { name: `${prefix}preview_text`, label: 'Preview text', value: preview_text },
    { name: `${prefix}from`, label: 'From', value: from },
    ...contentFields(found, { html: { rows: 8 }, text: { hint: '' }, prefix }),
  ]
  return html`<fieldset><legend>Variant ${key}</legend>${hidden(`${prefix}key`, key)}
<p>Empty fields have the value of the campaign.</p>
${fields.map(one => fieldHtml(one, '', problem))}
${previewButton(path, `Preview variant ${key}`, 'variant', key, true)}</fieldset>`
}

/** Reads an A/B test; null for none. */
export function readAbTest(form: Form) {
  const count = Number(form.text('variants'))
  if (!count) return null
  const variants = Array.from({ length: Math.min(count, VARIANT_KEYS.length) }, (_, n) =>
    readVariant(form, variantField(n, '')),
  )
  return {
    ...{ variants, winner_metric: form.text('winner_metric') },
    test_percentage: form.propertyValue('test_percentage', 'number'),
    wait_hours: form.propertyValue('wait_hours', 'number'),
  }
}

function readVariant(form: Form, prefix: string): Variant {
  return {
    ...{ key: form.text(`${prefix}key`), from: form.textOrNull(`${prefix}from`) },
    ...{ subject: form.textOrNull(`${prefix}subject`), preview_text: form.textOrNull(`${prefix}preview_text`) },
    ...{ html: readHtml(form, prefix), text: readText(form, prefix) },
  }
}
