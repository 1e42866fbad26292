import { z } from 'zod'
import { hasPlaceholder } from '#lib/templates/placeholders.ts'
import { counted, TEXT_LINE } from '#lib/zod_fields.ts'

const MIN_OPTIONS = 2
export const MAX_OPTIONS = 10
const MAX_QUESTION = 300
const MAX_LABEL = 80
/** Maximum characters of a key that is made from a label. */
const MAX_MADE_KEY = 40

const PollOption = z
  .object({
    key: z.string().describe('Name of the option in `{{poll_url:…}}` and in answers.'),
    label: z.string().describe('Text that recipients see.'),
  })
  .meta({ id: 'PollOption' })
type PollOption = z.infer<typeof PollOption>

/** A question with its options, as recipients see it. */
export const PollForm = z
  .object({
    question: z.string().describe('The question.'),
    options: z.array(PollOption).describe('The options, in order.'),
  })
  .meta({ id: 'PollForm' })
export type PollForm = z.infer<typeof PollForm>

const line = (max: number) =>
  z
    .string()
    .max(max)
    .regex(TEXT_LINE, 'must be one line with at least one character that is not a space')
    .refine(text => !hasPlaceholder(text), 'must not have placeholders: all recipients see the same')

const NewOption = z.union(
  [
    line(MAX_LABEL).describe('Its label; its key is made from it: `Very good` has `very_good`.'),
    z.object({
      key: z
        .string()
        .regex(/^[\w-]{1,80}$/, 'must be 1 to 80 letters, digits, `_` or `-`')
        .describe('Its name: 1 to 80 letters, digits, `_` or `-`.'),
      label: line(MAX_LABEL).describe(`Text that recipients see, of up to ${MAX_LABEL} characters.`),
    }),
  ],
  { error: 'must be a string, or an object with `key` and `label`' },
)

/** A poll in a request. */
export const NewPoll = z
  .object({
    question: line(MAX_QUESTION).describe(`The question, one line of up to ${MAX_QUESTION} characters.`),
    options: counted(MIN_OPTIONS, MAX_OPTIONS, 'options', z.array(NewOption)).describe(
      `2 to 10 options: labels of up to ${MAX_LABEL} characters, or objects with \`key\` and \`label\`.`,
    ),
  })
  .transform(({ question, options }, context): PollForm => {
    const form = { question: question.trim(), options: nameOptions(options) }
    for (const name of ['key', 'label'] as const) {
      if (new Set(form.options.map(option => option[name])).size === options.length) continue
      context.addIssue({ code: 'custom', path: ['options'], message: `must have different ${name}s` })
    }
    return form
  })

/** Gives a key to each option that has none: made from its label, and unique. */
function nameOptions(options: z.output<typeof NewOption>[]): PollOption[] {
  const keys = new Set(options.flatMap(option => (typeof option === 'string' ? [] : [option.key])))
  return options.map((option, n) => {
    if (typeof option !== 'string') return { key: option.key, label: option.label.trim() }
    const name = keyFrom(option) || `option_${n + 1}`
    let key = name
    for (let count = 2; keys.has(key); count++) key = `${name}_${count}`
    keys.add(key)
    return { key, label: option.trim() }
  })
}

function keyFrom(label: string): string {
  const plain = label.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return plain
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, MAX_MADE_KEY)
    .replace(/^_|_$/g, '')
}
