import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { TEXT_LINE } from '#lib/zod_fields.ts'

/** In characters. */
const MAX_NAME = 100
const MAX_URL = 500

/** WCAG 2.2, 1.4.3: contrast of text with its background. */
const MIN_CONTRAST = 4.5

const Name = z.string().max(MAX_NAME).regex(TEXT_LINE, 'must be one line of text')

const Color = z
  .string()
  .toLowerCase()
  .regex(/^#[0-9a-f]{6}$/, 'must be a color such as `#1a5fb4`')

const LogoUrl = z
  .url({ protocol: /^https$/, error: 'must be an https URL' })
  .max(MAX_URL)
  .refine(isPlainUrl, 'must be an https URL')

/** Rejects characters that would end the URL as a source in a Content-Security-Policy. */
function isPlainUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && url.username === '' && url.password === '' && !/[;,\s'"]/.test(url.host)
}

/** Changes to the look of a sender; null: the default. */
export const BrandChange = withTwins(
  z.object({
    name: Name.nullish().describe('Name of the sender. Default, and with null: the name of the domain.'),
    color: Color.nullish().describe(
      'Color of the buttons, such as `#1a5fb4`. A color on which white text would not be readable is darkened. Null: the default color.',
    ),
    logo_url: LogoUrl.nullish().describe('Image above the name, at an https URL. Null: none.'),
  }),
)

export type BrandChange = z.infer<typeof BrandChange>

/** The look of a sender in the record of its domain. */
export const Brand = z
  .object({
    name: z.string().nullable().describe('Name of the sender; null: the name of the domain.'),
    color: z.string().nullable().describe('Color of the buttons; null: the default color.'),
    logo_url: z.string().nullable().describe('URL of the image above the name; null: none.'),
  })
  .meta({ id: 'Brand' })
export type Brand = z.infer<typeof Brand>

/** Returns a color, `#rrggbb`, on which white text is readable: the given one, or a darker one of the same hue. */
export function readableColor(color: string): string {
  let channels = [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16))
  while (1.05 / (luminance(channels) + 0.05) < MIN_CONTRAST) channels = channels.map(value => Math.floor(value * 0.95))
  return `#${channels.map(value => value.toString(16).padStart(2, '0')).join('')}`
}

/** Returns the relative luminance, 0 to 1 (WCAG 2.2). */
function luminance(channels: number[]): number {
  const [red = 0, green = 0, blue = 0] = channels.map(value => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
