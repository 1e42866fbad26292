import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { formatAddress } from '#lib/mail/address.ts'
import { From } from '#lib/mail/mail_fields.ts'
import { counted, refuseMissing } from '#lib/zod_fields.ts'
import { contentFields } from './content_fields.ts'

export const MIN_VARIANTS = 2
const MAX_VARIANTS = 5
const MAX_HOURS = 168
/** Keys for variants that are given without one. */
export const VARIANT_KEYS = 'ABCDE'

export const WinnerMetric = z.enum(['open_rate', 'click_rate'])
export type WinnerMetric = z.infer<typeof WinnerMetric>

const Variant = withTwins(
  z.object({
    key: z
      .string()
      .regex(/^[\w-]{1,20}$/, 'must have 1 to 20 letters, digits, `_` or `-`')
      .nullish()
      .describe('Name of the variant. Default: A, B, C and so on.'),
    ...contentFields,
    from: From.nullish().describe('Sender, at the domain of the campaign.'),
  }),
)

export const AB_DEFAULTS = { test_percentage: 20, winner_metric: 'open_rate', wait_hours: 4 } as const

/** The A/B test that a request asks for; null: none. A variant uses the campaign's value for each field that it does not set. */
export const NewAbTest = withTwins(
  z
    .object({
      enabled: z.boolean().nullish().describe('`false`: no test. Default: `true`.'),
      test_percentage: z
        .int()
        .min(1)
        .max(100)
        .nullish()
        .describe('Percentage of the recipients that get the test. Default: 20. With 100 there is no winner.'),
      winner_metric: WinnerMetric.nullish().describe('The rate by which the winner is chosen. Default: `open_rate`.'),
      wait_hours: z
        .int()
        .min(1)
        .max(MAX_HOURS)
        .nullish()
        .describe('Hours from the last email of the test until the winner is chosen. Default: 4.'),
      variants: counted(MIN_VARIANTS, MAX_VARIANTS, 'variants', z.array(Variant))
        .nullish()
        .describe('2 to 5 variants, each with the fields in which it differs.'),
    })
    .superRefine(({ enabled, variants }, context) => {
      if (enabled === false) return
      if (!variants) refuseMissing(context, ['variants'])
      const keys = new Set(variants?.map(keyOf))
      if (variants && keys.size < variants.length) {
        context.addIssue({ code: 'custom', path: ['variants'], message: 'must have different keys' })
      }
    }),
).transform(({ enabled, variants, test_percentage, winner_metric, wait_hours }): AbTest | null => {
  if (enabled === false || !variants) return null
  return {
    enabled: true,
    test_percentage: test_percentage ?? AB_DEFAULTS.test_percentage,
    winner_metric: winner_metric ?? AB_DEFAULTS.winner_metric,
    wait_hours: wait_hours ?? AB_DEFAULTS.wait_hours,
    variants: variants.map((variant, n) => {
      const { subject = null, preview_text = null, from, html = null, text = null } = variant
      return { key: keyOf(variant, n), subject, preview_text, from: from ? formatAddress(from) : null, html, text }
    }),
  }
})

function keyOf({ key }: { key?: string | null | undefined }, n: number): string {
  return key ?? (VARIANT_KEYS[n] as string)
}

const AbVariant = z
  .object({
    key: z.string().describe('Name of the variant.'),
    subject: z.string().nullable().describe('Subject; null: that of the campaign.'),
    preview_text: z.string().nullable().describe('Text beside the subject; null: that of the campaign.'),
    from: z.string().nullable().describe('Sender; null: that of the campaign.'),
    html: z.string().nullable().describe('HTML part; null: that of the campaign.'),
    text: z.string().nullable().describe('Plain-text part; null: that of the campaign.'),
  })
  .meta({ id: 'AbVariant' })

/** The A/B test in the record of a campaign. */
export const AbTest = z
  .object({
    enabled: z.literal(true).describe('A campaign without a test has null.'),
    test_percentage: z.int().describe('Percentage of the recipients that get the test.'),
    winner_metric: WinnerMetric.describe('The rate by which the winner is chosen.'),
    wait_hours: z.int().describe('Hours from the last email of the test until the winner is chosen.'),
    variants: z.array(AbVariant).describe('The variants, each with the fields in which it differs.'),
  })
  .meta({ id: 'AbTest' })
export type AbTest = z.infer<typeof AbTest>
